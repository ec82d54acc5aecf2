//! Locks that work across machines. Each holder of a lock regularly writes to a file, to show that it is alive.
//!
//! Leases are needed where locks of the operating system do not exist, or apply to one machine only. Examples are FUSE, and
//! Lustre without `flock`. A lock is a directory with a file for each holder. A process that requests the lock takes three
//! steps:
//!
//! 1. It *announces* itself: it creates a file with a unique name in the directory.
//! 2. It *checks* for conflicts: it lists the directory. The file of another process is a conflict if at least one of the
//!    two processes requests the lock exclusively.
//! 3. Without a conflict, it has the lock, and writes this into its file. Otherwise it *withdraws*: it removes its file.
//!
//! Of two processes in conflict, the later one finds the file of the earlier one, so at most one gets the lock. If both
//! announce themselves before they check, each finds the other's file. Only the process with the smaller file name then
//! waits for the other to withdraw, so one of them gets the lock.
//!
//! The waiting process ignores processes that announce themselves after its first check, because they find its file and
//! withdraw. File names are never reused. So if a process writes or removes its file late, it affects no other process.
//!
//! # Dead holders
//!
//! A holder that dies leaves its file. Other processes treat a holder as dead in two cases:
//!
//! - Its process has ended, which a process on the same machine sees by process id and start time.
//! - It is silent. A holder writes a new number into its file every few seconds (a *heartbeat*). A requesting process
//!   that sees the same content for [`LeaseTiming::silence`], by its own clock, treats the holder as dead.
//!
//! The requesting process *breaks* the lock of a dead holder: it renames the file to a unique name, reads it again, and
//! removes it. If the content has changed, the holder is alive, and the file gets its old name back. Other processes also
//! respect the renamed file, so the lock is not free between the two renames.
//!
//! # Lost leases
//!
//! A suspended holder may be treated as dead. It notices this at its next heartbeat, because its file no longer exists.
//! [`Lease::is_lost`] writes a heartbeat if one is overdue. A holder that calls `is_lost` before each change makes at most
//! one change after losing the lock. A paused virtual machine is an exception: its clock also pauses, so the holder finds
//! no heartbeat overdue.
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

/// The mode of a lock. An exclusive holder is the only holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Shared,
    Exclusive,
}

/// The heartbeat interval of a holder, and the silence after which it is treated as dead.
///
/// `silence` must be longer than `heartbeat` plus the delay until other machines see a write. NFS makes writes visible
/// when a file is closed and opened again (*close-to-open consistency*). The mount option `nocto` disables this: the
/// delay is up to `acregmax` (60 s by default), so live holders would be treated as dead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeaseTiming {
    pub heartbeat: Duration,
    pub silence: Duration,
}

/// A holder can miss three heartbeats in a row. The lock of a dead machine is free after half a minute.
const TIMING: LeaseTiming = LeaseTiming {
    heartbeat: Duration::from_secs(6),
    silence: Duration::from_secs(25),
};

/// If other processes request the lock too, and none of them has it, a process waits at most this long for them to
/// withdraw their requests. The second constant is the pause between two checks.
const WITHDRAWAL_LIMIT: Duration = Duration::from_millis(500);
const WITHDRAWAL_PAUSE: Duration = Duration::from_millis(2);

/// A process that requests a lock.
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

/// A lock that this process holds or requests. Dropping it removes the process's file.
#[derive(Debug)]
pub(crate) struct Lease(Arc<HolderFile>);

impl Lease {
    /// Takes the lock of the directory `holders`, unless one of its holders may be alive.
    pub(crate) fn try_take(holders: &Path, mode: Mode) -> io::Result<Option<Lease>> {
        Ok(take(holders, mode, &Candidate::current())?.ok())
    }

    /// Same as [`try_take`](Self::try_take), but waits until it is certain whether the holders are alive.
    pub(crate) fn take_unless_alive(holders: &Path, mode: Mode) -> io::Result<Option<Lease>> {
        take_unless_alive(holders, mode, &Candidate::current())
    }

    /// Returns whether another process may have taken over the lock because it saw no heartbeat.
    pub(crate) fn is_lost(&self) -> bool {
        let holder_file = &self.0;
        if holder_file.is_lost.load(Ordering::Relaxed) {
            return true;
        }
        let silence = holder_file.candidate.timing.silence;
        if holder_file.since_heartbeat() < silence / 2 {
            return false;
        }
        // If writing the heartbeat failed, other processes still respect the old heartbeat until its silence is over.
        matches!(holder_file.beat(), Ok(false)) || holder_file.since_heartbeat() >= silence
    }
}

#[cfg(test)]
impl Lease {
    pub(crate) fn beat(&self) {
        let _ = self.0.beat();
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let holder_file = &self.0;
        holder_file.state.lock().is_released = true;
        holder_file.released.notify_all();
        // If the removal fails, other processes eventually treat this holder as dead.
        let _ = fs::remove_file(&holder_file.path);
        if let Some(holders) = holder_file.path.parent() {
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

/// Requests the lock, and waits briefly for other processes that withdraw. Returns the conflict if the lock is not free.
fn take(holders: &Path, mode: Mode, candidate: &Candidate) -> io::Result<Result<Lease, Conflict>> {
    // Dropping the lease removes the file, also if this function returns early.
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
    // If the system cannot start the thread, only `is_lost` writes heartbeats.
    let _ = thread.spawn(move || holder.keep_alive());
    Ok(Ok(lease))
}

/// Returns the prefix of the names of lease files. The mode is in the name, so that a process need not read files that
/// cannot be in conflict with its request.
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
