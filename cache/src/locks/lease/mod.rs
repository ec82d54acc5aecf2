//! Locks that work across machines. Each holder of a lock has a file, and regularly writes to it to show that it is alive.
//!
//! On some file systems, locks of the operating system apply to one machine only (FUSE, Lustre without `flock`). Other
//! file systems do not support locks. On both kinds, a lock has an additional directory with a file for each holder. A
//! process that requests the lock, in shared or exclusive mode ([`Mode`]), takes three steps:
//!
//! 1. It *announces* itself: it creates a file with a unique name in the directory.
//! 2. It *checks* for conflicts: it lists the directory. The file of another process is a conflict if at least one of
//!    the two processes requests the lock exclusively.
//! 3. If there is no conflict, it has the lock, and writes this into its file. Otherwise it *withdraws*: it removes its
//!    file.
//!
//! If two processes are in conflict, the process that announces itself later finds the file of the other. Therefore at most
//! one of them gets the lock. If both announce themselves before they check, both find each other's file. Then the process
//! whose file has the smaller name waits until the other has removed its file. Therefore one of them gets the lock. The
//! waiting process does not wait for processes that announce themselves after its first check, because they find its file
//! and withdraw. File names are unique and never reused. Therefore a process that writes to, renames or removes a file late
//! cannot affect the file of a different process.
//!
//! # Dead holders
//!
//! A holder that dies leaves its file in the directory. Other processes treat the holder as dead in two cases:
//!
//! - Its process has ended. A process on the same machine can check this by the process id and start time of the holder. A
//!   later process with the same id, for example in a restarted container, has a different start time.
//! - It is silent. A holder writes a new number into its file every few seconds (a *heartbeat*). If a process that
//!   requests the lock sees the same content for longer than [`LeaseTiming::silence`], measured by its own clock, it
//!   treats the holder as dead. Clocks of two machines are never compared.
//!
//! If the holder is dead, the requesting process *breaks* the lock: it renames the holder's file to a unique name, reads it
//! again, and removes it if the content is still the same. If the content has changed, the holder is alive, and the
//! requesting process gives the file its old name back. A file is valid under any name, so the lock is not free in between.
//!
//! # Lost leases
//!
//! While a holder was suspended, another process may have treated it as dead and taken over the lock. The holder notices
//! this at its next heartbeat, because its file no longer exists. [`Lease::is_lost`] writes a heartbeat if one is overdue.
//! Therefore, if a holder calls it before each change, the holder makes at most one change after it lost the lock. If a
//! virtual machine was paused, its clock does not show the pause, so the holder notices the loss only at the next
//! regular heartbeat.
//!
//! `tests/model` checks these steps in all interleavings.

mod holder;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::locks::process::ProcessId;
use crate::system::machine;
use holder::{Conflict, ConflictCheck};
use holder::{HolderFile, announce};

/// The mode of a lock. Several processes can hold a lock in shared mode at the same time. An exclusive holder is the only
/// holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Shared,
    Exclusive,
}

/// The heartbeat interval of a holder, and the silence after which it is treated as dead.
///
/// `silence` must be longer than `heartbeat` plus the delay until other machines see a write. On NFS, a process that opens
/// a file sees all writes of processes that have already closed the file. Leases rely on this (*close-to-open
/// consistency*). The mount option `nocto` disables it: the delay is then up to `acregmax` (60 s by default), so live
/// holders would be treated as dead. Do not use `nocto` for a store or a data directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeaseTiming {
    pub heartbeat: Duration,
    pub silence: Duration,
}

/// A holder can write four heartbeats before its silence is long enough to treat it as dead. The lock of a machine that
/// died is free after half a minute.
const TIMING: LeaseTiming = LeaseTiming {
    heartbeat: Duration::from_secs(6),
    silence: Duration::from_secs(25),
};

/// Maximum time for which a process waits for another process to withdraw its request, and the pause between two checks. If
/// two processes request the lock at the same time, one of them has to withdraw.
const WITHDRAWAL_LIMIT: Duration = Duration::from_millis(500);
const WITHDRAWAL_PAUSE: Duration = Duration::from_millis(2);

/// The process that requests a lease, and the timing that it uses.
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

/// A lock that this process holds. Dropping the lease releases the lock.
#[derive(Debug)]
pub(crate) struct Lease(Arc<HolderFile>);

impl Lease {
    /// Takes the lock of the directory `holders` if it is free. The lock is not free if one of its holders may be alive.
    pub(crate) fn try_take(holders: &Path, mode: Mode) -> io::Result<Option<Lease>> {
        Ok(take(holders, mode, &Candidate::current())?.ok())
    }

    /// Same as [`try_take`](Self::try_take), but waits until it is certain whether the holders are alive.
    pub(crate) fn take_unless_alive(holders: &Path, mode: Mode) -> io::Result<Option<Lease>> {
        take_unless_alive(holders, mode, &Candidate::current())
    }

    /// Returns whether another process may have taken over the lock because it saw no heartbeat for too long.
    pub(crate) fn is_lost(&self) -> bool {
        let holder_file = &self.0;
        if holder_file.is_lost.load(Ordering::Relaxed) {
            return true;
        }
        let silence = holder_file.candidate.timing.silence;
        if holder_file.since_heartbeat() < silence / 2 {
            return false;
        }
        // If this process cannot access its file, other processes may still be able to read it. Then the lease is lost only
        // when the silence is over.
        matches!(holder_file.beat(), Ok(false)) || holder_file.since_heartbeat() >= silence
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
        let holder_file = &self.0;
        holder_file.state.lock().is_released = true;
        holder_file.released.notify_all();
        // If the file cannot be removed, other processes will treat this holder as dead when the silence is over.
        let _ = fs::remove_file(&holder_file.path);
        if let Some(holders) = holder_file.path.parent() {
            // Fails while the directory contains files of other processes.
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
    // If this function returns early, dropping the lease removes the file.
    let lease = Lease(Arc::new(announce(holders, mode, candidate)?));
    let holder_file = &lease.0;
    let requested_at = Instant::now();
    let mut check = ConflictCheck {
        holders,
        own_file: &holder_file.path,
        mode,
        candidate,
        rivals: None,
    };
    while let Some(conflict) = check.conflict()? {
        if conflict != Conflict::Requested || requested_at.elapsed() > WITHDRAWAL_LIMIT {
            return Ok(Err(conflict));
        }
        std::thread::sleep(WITHDRAWAL_PAUSE);
    }
    holder_file.state.lock().has_lock = true;
    // If this process was suspended before this point, other processes may have treated it as dead.
    if !holder_file.beat()? || holder_file.since_heartbeat() >= candidate.timing.silence {
        return Ok(Err(Conflict::Uncertain));
    }
    let thread = std::thread::Builder::new().name("lease".to_owned());
    let holder = Arc::clone(holder_file);
    // If the thread cannot be started, `is_lost` writes the heartbeats.
    let _ = thread.spawn(move || holder.keep_alive());
    Ok(Ok(lease))
}

/// Returns the first part of the name of a holder's file. It contains the mode, so that a process does not have to read
/// files that cannot be in conflict.
fn prefix(mode: Mode) -> &'static str {
    match mode {
        Mode::Shared => "shared-",
        Mode::Exclusive => "exclusive-",
    }
}

/// Returns a string that no other call, on any machine, returns.
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
