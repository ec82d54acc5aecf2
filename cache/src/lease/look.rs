//! Looking at the files of others, and breaking the locks of the dead.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::held::parse;
use super::{Mode, Taker, prefix, token};
use crate::process::ProcessState;

/// Times that the directory is listed, because a file was renamed or removed before it was read.
const MAX_LISTINGS: usize = 100;

/// Why the lock is not free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conflict {
    /// Others only ask for it, and step back.
    Asked,
    /// The holder may be dead: it was not seen to be alive.
    Doubtful,
    Held,
}

/// A look at the files of others, and what it needs to know of the looks before.
pub(super) struct Look<'a> {
    pub(super) holders: &'a Path,
    pub(super) own: &'a Path,
    pub(super) mode: Mode,
    pub(super) taker: &'a Taker,
    /// Tokens of those who asked for the lock when this process looked first. Who announces itself later finds this
    /// process's file and steps back, and is not waited for.
    pub(super) rivals: Option<Vec<String>>,
}

impl Look<'_> {
    /// What keeps this process from having the lock, if anything does. Breaks the locks of holders that are dead.
    pub(super) fn conflict(&mut self) -> io::Result<Option<Conflict>> {
        'again: for _ in 0..MAX_LISTINGS {
            let mut asking = Vec::new();
            let paths = list(self.holders)?;
            forget_others(self.holders, &paths);
            for path in paths {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let is_conflict =
                    self.mode == Mode::Exclusive || name.starts_with(prefix(Mode::Exclusive));
                if path == self.own || !is_conflict {
                    continue;
                }
                let Some(content) = read(&path)? else {
                    // It was removed, or it has another name by now.
                    continue 'again;
                };
                let observed = observe(&path, &content);
                let holder = parse(&content);
                let state = holder.as_ref().map_or(ProcessState::Unknown, |holder| {
                    holder.process.state(&self.taker.process)
                });
                let is_silent = observed.same_for >= self.taker.timing.silence;
                if state == ProcessState::Gone || is_silent {
                    match break_lock(self.holders, &path, &content, mode_of(&name))? {
                        true => continue,
                        false => continue 'again,
                    }
                }
                match holder {
                    // Its process looks after it has written the file, and finds this one's.
                    None if content.is_empty() => {}
                    Some(holder) if holder.has_lock == 0 && self.is_later(&holder.token) => {}
                    Some(holder) if holder.has_lock == 0 && path.as_path() > self.own => {
                        asking.push(holder.token);
                    }
                    _ if state == ProcessState::Runs || observed.has_changed => {
                        return Ok(Some(Conflict::Held));
                    }
                    _ => return Ok(Some(Conflict::Doubtful)),
                }
            }
            let conflict = (!asking.is_empty()).then_some(Conflict::Asked);
            self.rivals = Some(asking);
            return Ok(conflict);
        }
        Ok(Some(Conflict::Doubtful))
    }

    /// Whether a process announced itself after this one looked first.
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

/// Removes the file of a holder that is dead. False if it turns out to be alive, or another process was faster.
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

/// The content. `None` if there is no such file.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut content = Vec::new();
    match File::open(path).and_then(|mut file| file.read_to_end(&mut content)) {
        Ok(_) => Ok(Some(content)),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A holder's file, as this process saw it.
#[derive(Clone, Debug)]
struct Seen {
    content: Vec<u8>,
    since: Instant,
    has_changed: bool,
}

/// What this process has seen of the files of others.
static SEEN: Mutex<Option<HashMap<PathBuf, Seen>>> = Mutex::new(None);

#[derive(Clone, Copy, Debug)]
struct Observed {
    /// How long the file has had this content, at least.
    same_for: Duration,
    /// Whether it had another content before.
    has_changed: bool,
}

fn observe(path: &Path, content: &[u8]) -> Observed {
    let mut seen = SEEN.lock();
    let seen = seen
        .get_or_insert_default()
        .entry(path.to_owned())
        .or_insert_with(|| Seen {
            content: content.to_owned(),
            since: Instant::now(),
            has_changed: false,
        });
    if seen.content != content {
        *seen = Seen {
            content: content.to_owned(),
            since: Instant::now(),
            has_changed: true,
        };
    }
    Observed {
        same_for: seen.since.elapsed(),
        has_changed: seen.has_changed,
    }
}

/// Forgets the files of `holders` that are gone.
fn forget_others(holders: &Path, paths: &[PathBuf]) {
    if let Some(seen) = SEEN.lock().as_mut() {
        seen.retain(|path, _| path.parent() != Some(holders) || paths.contains(path));
    }
}
