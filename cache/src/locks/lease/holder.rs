//! The lease files of a lock: writing this process's file, and checking the files of other processes.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{fs, io};

use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};

use super::{Candidate, Mode, prefix, token};
use crate::locks::process::{ProcessId, ProcessState};
use crate::system::machine;

/// Creating the lease file fails if another process removes the empty directory before the file exists. Then the file
/// is created again, up to this number of attempts.
const MAX_ANNOUNCEMENTS: usize = 100;

/// Content of a lease file. Its length never changes, so the file can be overwritten in place.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Holder {
    /// Host name of the holder, for people who read the file.
    host: String,
    pub(super) process: ProcessId,
    pub(super) token: String,
    /// 0 while the process requests the lock, 1 when it has the lock.
    pub(super) has_lock: u8,
    heartbeat: String,
}

/// The lease file of this process.
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

/// Creates the lease file of this process in the directory `holders`: the first step of requesting the lock.
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

    /// Overwrites the holder's file. Returns `false` if another process removed or renamed the file.
    fn write(&self, content: &[u8]) -> io::Result<bool> {
        // The file is opened for each write, because other machines see a write only after the file is closed.
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

    /// Writes heartbeats until the lock is released or lost.
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

/// Returns the time since the machine was started, including time in which it was suspended.
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

/// If a file disappears before it is read, a check lists the directory again, up to this number of times.
const MAX_LISTINGS: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conflict {
    /// Other processes only request the lock, and will withdraw.
    Requested,
    /// The holder may be dead, because this process has not seen the holder's file change.
    Uncertain,
    /// A live process holds the lock.
    Held,
}

pub(super) struct ConflictCheck<'a> {
    pub(super) holders: &'a Path,
    pub(super) own_file: &'a Path,
    pub(super) mode: Mode,
    pub(super) candidate: &'a Candidate,
    /// Unique tokens of the processes that this process found requesting the lock at its previous check. `None` before the
    /// first check. This process waits only for these processes. Processes that announce themselves later find its file
    /// and withdraw.
    pub(super) rivals: Option<Vec<String>>,
}

impl ConflictCheck<'_> {
    /// Returns the conflict that prevents this process from taking the lock, if any. Breaks the locks of dead holders.
    pub(super) fn conflict(&mut self) -> io::Result<Option<Conflict>> {
        'again: for _ in 0..MAX_LISTINGS {
            let mut requesting = Vec::new();
            let paths = list(self.holders)?;
            forget_removed(self.holders, &paths);
            for path in paths {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let is_conflict =
                    self.mode == Mode::Exclusive || name.starts_with(prefix(Mode::Exclusive));
                if path == self.own_file || !is_conflict {
                    continue;
                }
                let Some(content) = read(&path)? else {
                    continue 'again;
                };
                let observed = observe(&path, &content);
                let holder = parse(&content);
                let state = holder.as_ref().map_or(ProcessState::Unknown, |holder| {
                    holder.process.state(&self.candidate.process)
                });
                let is_silent = observed.same_for >= self.candidate.timing.silence;
                if state == ProcessState::Gone || is_silent {
                    match break_lock(self.holders, &path, &content, mode_of(&name))? {
                        true => continue,
                        false => continue 'again,
                    }
                }
                match holder {
                    // The other process is still writing its file, and checks for conflicts afterwards. That check finds
                    // the file of this process, so this process need not wait.
                    None if content.is_empty() => {}
                    Some(holder) if holder.has_lock == 0 && self.is_later(&holder.token) => {}
                    // Of two processes that request the lock, the one with the larger file name withdraws.
                    Some(holder) if holder.has_lock == 0 && path.as_path() > self.own_file => {
                        requesting.push(holder.token);
                    }
                    _ if state == ProcessState::Runs || observed.has_changed => {
                        return Ok(Some(Conflict::Held));
                    }
                    _ => return Ok(Some(Conflict::Uncertain)),
                }
            }
            let conflict = (!requesting.is_empty()).then_some(Conflict::Requested);
            self.rivals = Some(requesting);
            return Ok(conflict);
        }
        Ok(Some(Conflict::Uncertain))
    }

    /// Returns whether a requesting process with this token will withdraw, because it was not requesting the lock at the
    /// previous check of this process.
    fn is_later(&self, token: &str) -> bool {
        let rivals = self.rivals.as_ref();
        rivals.is_some_and(|rivals| !rivals.iter().any(|rival| rival == token))
    }
}

fn mode_of(name: &str) -> Mode {
    match name.starts_with(prefix(Mode::Shared)) {
        true => Mode::Shared,
        false => Mode::Exclusive,
    }
}

/// Removes the file `path` of a holder that seems dead. `content` is the content that this process read before. Returns
/// `false` if the content has changed, which shows that the holder is alive. Also returns `false` if another process
/// removed the file first.
pub(super) fn break_lock(
    holders: &Path,
    path: &Path,
    content: &[u8],
    mode: Mode,
) -> io::Result<bool> {
    let unique = holders.join(format!("{}{}", prefix(mode), token()));
    match fs::rename(path, &unique) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    }
    let now = read(&unique)?;
    if now.as_deref() == Some(content) {
        return match fs::remove_file(&unique) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(true),
        };
    }
    match fs::rename(&unique, path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(false),
    }
}

pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::StaleNetworkFileHandle
    )
}

pub(super) fn list(holders: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(holders) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if is_gone(&error) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut content = Vec::new();
    match File::open(path).and_then(|mut file| file.read_to_end(&mut content)) {
        Ok(_) => Ok(Some(content)),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The content that this process last read in the lease file of another process, and when it first read this content.
#[derive(Clone, Debug)]
struct LastContent {
    content: Vec<u8>,
    since: Instant,
    has_changed: bool,
}

static OBSERVATIONS: Mutex<Option<HashMap<PathBuf, LastContent>>> = Mutex::new(None);

#[derive(Clone, Copy, Debug)]
struct Observation {
    /// The file has had its current content for at least this time.
    same_for: Duration,
    /// Whether this process saw a different content of the file before.
    has_changed: bool,
}

/// Compares the current content of a file with the content that this process saw before.
fn observe(path: &Path, content: &[u8]) -> Observation {
    let mut seen = OBSERVATIONS.lock();
    let seen = seen
        .get_or_insert_default()
        .entry(path.to_owned())
        .or_insert_with(|| LastContent {
            content: content.to_owned(),
            since: Instant::now(),
            has_changed: false,
        });
    if seen.content != content {
        *seen = LastContent {
            content: content.to_owned(),
            since: Instant::now(),
            has_changed: true,
        };
    }
    Observation {
        same_for: seen.since.elapsed(),
        has_changed: seen.has_changed,
    }
}

/// Removes the observations of files in `holders` that no longer exist. `paths` are the existing files.
fn forget_removed(holders: &Path, paths: &[PathBuf]) {
    if let Some(seen) = OBSERVATIONS.lock().as_mut() {
        seen.retain(|path, _| path.parent() != Some(holders) || paths.contains(path));
    }
}
