//! The lease file of one process that requests or holds a lock, and its heartbeats.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};

use super::conflict::is_gone;
use super::{Candidate, Mode, prefix, token};
use crate::locks::process::ProcessId;
use crate::system::machine;

/// Maximum number of attempts to create the directory, because other processes remove it when it is empty.
const MAX_ANNOUNCEMENTS: usize = 100;

/// Content of a lease file. All contents of one file have the same length, so it can be overwritten in place.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Holder {
    /// For people who read the file.
    host: String,
    pub(super) process: ProcessId,
    pub(super) token: String,
    /// 0 while the process only requests the lock, then 1.
    pub(super) has_lock: u8,
    heartbeat: String,
}

#[derive(Debug)]
pub(super) struct HolderFile {
    pub(super) path: PathBuf,
    token: String,
    pub(super) candidate: Candidate,
    pub(super) state: Mutex<HolderState>,
    pub(super) released: Condvar,
    pub(super) is_lost: AtomicBool,
    /// Value of [`since_boot`] at the last heartbeat, in milliseconds.
    last_heartbeat: AtomicU64,
}

#[derive(Debug, Default)]
pub(super) struct HolderState {
    pub(super) has_lock: bool,
    heartbeats: u64,
    pub(super) is_released: bool,
}

/// Creates a lease file in `holders`. Creates the directory if it does not exist.
pub(super) fn announce(
    holders: &Path,
    mode: Mode,
    candidate: &Candidate,
) -> io::Result<HolderFile> {
    let token = token();
    let holder_file = HolderFile {
        path: holders.join(format!("{}{token}", prefix(mode))),
        token,
        candidate: candidate.clone(),
        state: Mutex::default(),
        released: Condvar::new(),
        is_lost: AtomicBool::new(false),
        last_heartbeat: AtomicU64::new(millis(since_boot())),
    };
    let content = holder_file.content(&HolderState::default());
    let mut failed = ErrorKind::NotFound.into();
    for _ in 0..MAX_ANNOUNCEMENTS {
        // Another process may remove the empty directory at any time, so both calls may fail.
        let created = fs::create_dir_all(holders).and_then(|()| {
            OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&holder_file.path)
        });
        match created {
            Ok(mut file) => {
                let written = file.write_all(&content);
                if written.is_err() {
                    let _ = fs::remove_file(&holder_file.path);
                }
                return written.map(|()| holder_file);
            }
            Err(error) => match error.kind() {
                ErrorKind::NotFound | ErrorKind::AlreadyExists => failed = error,
                _ => return Err(error),
            },
        }
    }
    Err(failed)
}

impl HolderFile {
    fn content(&self, state: &HolderState) -> Vec<u8> {
        let holder = Holder {
            host: machine::host().unwrap_or_default(),
            process: self.candidate.process.clone(),
            token: self.token.clone(),
            has_lock: state.has_lock.into(),
            heartbeat: format!("{:020}", state.heartbeats),
        };
        let mut content = serde_json::to_vec(&holder).unwrap_or_default();
        content.push(b'\n');
        content
    }

    pub(super) fn since_heartbeat(&self) -> Duration {
        let last = Duration::from_millis(self.last_heartbeat.load(Ordering::Relaxed));
        since_boot().saturating_sub(last)
    }

    /// Writes a heartbeat. Returns `false` if the lock is lost or released.
    pub(super) fn beat(&self) -> io::Result<bool> {
        let mut state = self.state.lock();
        if state.is_released || self.is_lost.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let began = since_boot();
        state.heartbeats += 1;
        let is_held = self.write(&self.content(&state))?;
        match is_held {
            true => self.last_heartbeat.store(millis(began), Ordering::Relaxed),
            false => self.is_lost.store(true, Ordering::Relaxed),
        }
        Ok(is_held)
    }

    /// Overwrites the file. Returns `false` if the file no longer exists. Its name is unique, so no other process can
    /// have created a new file with this name.
    fn write(&self, content: &[u8]) -> io::Result<bool> {
        // The file is opened for each write, because other machines see the write after the file is closed.
        let written = OpenOptions::new()
            .write(true)
            .open(&self.path)
            .and_then(|file| {
                file.write_all_at(content, 0)?;
                file.sync_data()
            });
        // The file may have been removed between opening and writing.
        let reopened = written.and_then(|()| File::open(&self.path));
        match reopened {
            Ok(_) => Ok(true),
            Err(error) if is_gone(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes heartbeats until the lease is dropped or lost.
    pub(super) fn keep_alive(&self) {
        loop {
            let mut state = self.state.lock();
            let heartbeat = self.candidate.timing.heartbeat;
            let is_held = |state: &mut HolderState| !state.is_released;
            self.released.wait_while_for(&mut state, is_held, heartbeat);
            drop(state);
            // After an error, a later heartbeat may still succeed.
            if matches!(self.beat(), Ok(false)) {
                return;
            }
        }
    }
}

pub(super) fn parse(content: &[u8]) -> Option<Holder> {
    serde_json::from_slice(content).ok()
}

/// Returns the time since the machine was started, including time during which it was suspended.
fn since_boot() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let time = rustix::time::clock_gettime(clock);
    let seconds = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
    seconds + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
