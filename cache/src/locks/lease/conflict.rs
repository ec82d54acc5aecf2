//! Checks the lease files of other processes, and breaks the locks of dead ones.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::holder::parse;
use super::{Candidate, Mode, prefix, token};
use crate::locks::process::ProcessState;

/// Maximum number of times the directory is listed again because files are renamed or removed before they are read.
const MAX_LISTINGS: usize = 100;

/// The reason why a lock is not free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conflict {
    /// Other processes only request the lock, and will withdraw.
    Requested,
    /// The holder may be dead, because this process has not seen a heartbeat of it.
    Uncertain,
    Held,
}

/// Checks the files of other processes repeatedly. Keeps state between the checks.
pub(super) struct ConflictCheck<'a> {
    pub(super) holders: &'a Path,
    pub(super) own_file: &'a Path,
    pub(super) mode: Mode,
    pub(super) candidate: &'a Candidate,
    /// Tokens of the processes that requested the lock at the first check. A process that announces itself later finds
    /// the file of this process and withdraws, so this process does not wait for it.
    pub(super) rivals: Option<Vec<String>>,
}

impl ConflictCheck<'_> {
    /// Returns the conflict that prevents this process from taking the lock, if any. Breaks the locks of dead holders.
    pub(super) fn conflict(&mut self) -> io::Result<Option<Conflict>> {
        'again: for _ in 0..MAX_LISTINGS {
            let mut asking = Vec::new();
            let paths = list(self.holders)?;
            forget_others(self.holders, &paths);
            for path in paths {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let is_conflict =
                    self.mode == Mode::Exclusive || name.starts_with(prefix(Mode::Exclusive));
                if path == self.own_file || !is_conflict {
                    continue;
                }
                let Some(content) = read(&path)? else {
                    // The file was removed or renamed since the directory was listed.
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
                    // A process checks for conflicts only after it has written its file, so it will find the file of
                    // this process.
                    None if content.is_empty() => {}
                    Some(holder) if holder.has_lock == 0 && self.is_later(&holder.token) => {}
                    Some(holder) if holder.has_lock == 0 && path.as_path() > self.own_file => {
                        asking.push(holder.token);
                    }
                    _ if state == ProcessState::Runs || observed.has_changed => {
                        return Ok(Some(Conflict::Held));
                    }
                    _ => return Ok(Some(Conflict::Uncertain)),
                }
            }
            let conflict = (!asking.is_empty()).then_some(Conflict::Requested);
            self.rivals = Some(asking);
            return Ok(conflict);
        }
        Ok(Some(Conflict::Uncertain))
    }

    /// Returns whether a process announced itself after the first check of this process.
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

/// Removes the file of a dead holder. Returns `false` if the holder turns out to be alive, or if another process was
/// faster.
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

/// Returns the content. `None` if the file does not exist.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut content = Vec::new();
    match File::open(path).and_then(|mut file| file.read_to_end(&mut content)) {
        Ok(_) => Ok(Some(content)),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The content of a holder's file, as this process last saw it.
#[derive(Clone, Debug)]
struct LastContent {
    content: Vec<u8>,
    since: Instant,
    has_changed: bool,
}

/// The last observed content of each file of another process.
static OBSERVATIONS: Mutex<Option<HashMap<PathBuf, LastContent>>> = Mutex::new(None);

#[derive(Clone, Copy, Debug)]
struct Observation {
    /// The file has had this content for at least this time.
    same_for: Duration,
    /// Whether the file had a different content before.
    has_changed: bool,
}

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

/// Removes the observations of files of `holders` that no longer exist.
fn forget_others(holders: &Path, paths: &[PathBuf]) {
    if let Some(seen) = OBSERVATIONS.lock().as_mut() {
        seen.retain(|path, _| path.parent() != Some(holders) || paths.contains(path));
    }
}
