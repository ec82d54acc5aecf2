//! Locks that work across machines: files that their holders keep alive with heartbeats.
//!
//! On some file systems, locks of the operating system hold for one machine only (FUSE, Lustre without `flock`), and
//! others have none. There, a lock is a directory as well. A process that requests the lock, shared or exclusive
//! ([`Mode`]), takes three steps:
//!
//! 1. It *announces* itself: it creates a file with a unique name in the directory.
//! 2. It *checks* for conflicts: it lists the directory. Another file is in conflict if one of the two processes
//!    requests the lock exclusively.
//! 3. Without a conflict, it has the lock, and notes that in its file. Otherwise it removes its file.
//!
//! Of two processes in conflict, the one that announces itself later finds the other's file, so at most one gets the
//! lock. If both announce themselves before they check, the one with the smaller name waits until the other has removed
//! its file, so one of them gets the lock. It does not wait for processes that announce themselves later, because they
//! find its file and step back. No process writes to, renames or removes a name that another process may reuse, so
//! acting late on an old observation does no harm.
//!
//! # Dead holders
//!
//! A holder that dies leaves its file. The holder is treated as dead in two cases:
//!
//! - Its process has ended. On the same machine, this can be seen from the number and start time of the process, so
//!   that a later process with the same number (in a container that was restarted) is not mistaken for it.
//! - It is silent. A holder writes a new number into its file every few seconds (a *heartbeat*). If a process that
//!   requests the lock sees the same content for longer than [`LeaseTiming::silence`], by its own clock, it stops waiting.
//!   Clocks of two machines are never compared.
//!
//! Then the lock is *broken*: the file is renamed to a unique name, read again, and removed if the content is the same.
//! Otherwise the holder woke up, and the file gets its name back. A file is valid under any name, so the lock is not
//! free in between.
//!
//! # Lost leases
//!
//! A holder that was suspended may have been treated as dead. It notices that at its next heartbeat, because its file
//! is gone. [`Lease::is_lost`] writes a heartbeat that is overdue, so a holder that calls it before each change makes
//! at most one change after it woke up. A virtual machine that was paused does not notice the pause before the next
//! heartbeat.
//!
//! `tests/model` checks these steps in all interleavings.

#[cfg(test)]
mod attack;
mod conflict;
mod holder;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::machine;
use crate::process::ProcessId;
use conflict::{Conflict, ConflictCheck};
use holder::{HolderFile, announce};

/// Whether a lock can have several holders at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Shared,
    Exclusive,
}

/// The heartbeat interval of a holder, and the silence after which it is treated as dead.
///
/// `silence` must be longer than `heartbeat` plus the time after which other machines see a write. NFS shows a write to
/// a process that opens the file after its writer closed it, which is what happens here. With the mount option `nocto`
/// it takes up to `acregmax` (60 s by default), so live holders would be treated as dead: do not use it for a store or
/// a data directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeaseTiming {
    pub heartbeat: Duration,
    pub silence: Duration,
}

/// A holder writes four heartbeats before others stop waiting. The lock of a machine that died is free after half a
/// minute.
const TIMING: LeaseTiming = LeaseTiming {
    heartbeat: Duration::from_secs(6),
    silence: Duration::from_secs(25),
};

/// How long a process waits for another one that requested the lock at the same time and has to step back, and how
/// often it checks.
const STEP_BACK_LIMIT: Duration = Duration::from_millis(500);
const STEP_BACK_PAUSE: Duration = Duration::from_millis(2);

/// The process that takes a lease, and its timing.
#[derive(Clone, Debug)]
struct Candidate {
    process: ProcessId,
    timing: LeaseTiming,
}

impl Candidate {
    fn current() -> Candidate {
        Candidate {
            process: ProcessId::current(),
            timing: TIMING,
        }
    }
}

/// A lock. Dropping it releases the lock.
#[derive(Debug)]
pub(crate) struct Lease(Arc<HolderFile>);

impl Lease {
    /// Takes the lock of the directory `holders` if it is free. A holder that is not known to be dead keeps it.
    pub(crate) fn try_take(holders: &Path, mode: Mode) -> io::Result<Option<Lease>> {
        Ok(take(holders, mode, &Candidate::current())?.ok())
    }

    /// Like [`try_take`](Self::try_take), but waits until it is certain whether each holder is alive.
    pub(crate) fn take_unless_alive(holders: &Path, mode: Mode) -> io::Result<Option<Lease>> {
        take_unless_alive(holders, mode, &Candidate::current())
    }

    /// Whether another process may have taken over the lock because it saw no heartbeat for too long.
    pub(crate) fn is_lost(&self) -> bool {
        let held = &self.0;
        if held.is_lost.load(Ordering::Relaxed) {
            return true;
        }
        let silence = held.candidate.timing.silence;
        if held.since_heartbeat() < silence / 2 {
            return false;
        }
        // If this process cannot reach the file, others may still reach it.
        matches!(held.beat(), Ok(false)) || held.since_heartbeat() >= silence
    }
}

#[cfg(test)]
impl Lease {
    /// Writes a heartbeat now.
    pub(crate) fn beat(&self) {
        let _ = self.0.beat();
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let held = &self.0;
        held.state.lock().is_released = true;
        held.released.notify_all();
        // If the file cannot be removed, others will treat its holder as dead later.
        let _ = fs::remove_file(&held.path);
        if let Some(holders) = held.path.parent() {
            // Fails while the directory contains files of others.
            let _ = fs::remove_dir(holders);
        }
    }
}

fn take_unless_alive(
    holders: &Path,
    mode: Mode,
    candidate: &Candidate,
) -> io::Result<Option<Lease>> {
    loop {
        match take(holders, mode, candidate)? {
            Ok(lease) => return Ok(Some(lease)),
            Err(Conflict::Held) => return Ok(None),
            Err(Conflict::Uncertain | Conflict::Requested) => {
                std::thread::sleep(candidate.timing.heartbeat / 10);
            }
        }
    }
}

fn take(holders: &Path, mode: Mode, candidate: &Candidate) -> io::Result<Result<Lease, Conflict>> {
    // From here on, dropping the lease removes the file.
    let lease = Lease(Arc::new(announce(holders, mode, candidate)?));
    let held = &lease.0;
    let asked = Instant::now();
    let mut look = ConflictCheck {
        holders,
        own: &held.path,
        mode,
        candidate,
        rivals: None,
    };
    while let Some(conflict) = look.conflict()? {
        if conflict != Conflict::Requested || asked.elapsed() > STEP_BACK_LIMIT {
            return Ok(Err(conflict));
        }
        std::thread::sleep(STEP_BACK_PAUSE);
    }
    held.state.lock().has_lock = true;
    // If this process was suspended before that, others may have treated it as dead.
    if !held.beat()? || held.since_heartbeat() >= candidate.timing.silence {
        return Ok(Err(Conflict::Uncertain));
    }
    let thread = std::thread::Builder::new().name("lease".to_owned());
    let holder = Arc::clone(held);
    // If the thread cannot be started, `is_lost` writes the heartbeats.
    let _ = thread.spawn(move || holder.keep_alive());
    Ok(Ok(lease))
}

/// The mode is part of the name, so that files that are not in conflict need not be read.
fn prefix(mode: Mode) -> &'static str {
    match mode {
        Mode::Shared => "shared-",
        Mode::Exclusive => "exclusive-",
    }
}

/// Returns a text that is unique on all machines.
fn token() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut hasher = blake3::Hasher::new();
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    hasher.update(&time.map_or(0, |time| time.as_nanos()).to_le_bytes());
    hasher.update(&std::process::id().to_le_bytes());
    hasher.update(&COUNT.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    hasher.update(machine::host().unwrap_or_default().as_bytes());
    hasher.update(machine::boot().unwrap_or_default().as_bytes());
    // The seed of this state is random in each process.
    let state = std::hash::RandomState::new();
    let random = std::hash::BuildHasher::hash_one(&state, 0);
    hasher.update(&random.to_le_bytes());
    hasher
        .finalize()
        .to_hex()
        .get(..32)
        .unwrap_or_default()
        .to_owned()
}
