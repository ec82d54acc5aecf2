//! Reads and updates `DATA/prep.lock`, which records the prepared data of a data directory. See `prep_digests::Lockfile`
//! for its format.

use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use prep_core::{Failure, Remedy};
use prep_digests::{LockedDataset, Lockfile, Trees};

use crate::error::Error;

/// How long another process may keep the file to itself.
const PATIENCE: Duration = Duration::from_secs(30);

fn path(data_dir: &Path) -> PathBuf {
    data_dir.join("prep.lock")
}

/// Reads the lockfile. Empty if it does not exist.
///
/// # Errors
/// When it cannot be read, or is of a newer version.
pub(crate) fn read(data_dir: &Path) -> Result<Lockfile, Error> {
    let path = path(data_dir);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Lockfile::default()),
        Err(error) => return Err(Error::reading("read", &path, &error)),
    };
    Lockfile::parse(&text).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Error::new(Failure::Input, message)
            .help("move it away; the next run that need not agree with it writes it again")
    })
}

/// Returns the lockfile's entry of a competition, whose leaderboard and rules are `found`.
///
/// # Errors
/// When there is no entry, or it differs.
pub(crate) fn require(
    lock: &Lockfile,
    id: &str,
    variant: &str,
    found: &LockedDataset,
) -> Result<Trees, Error> {
    let nothing = || {
        let message = format!("prep.lock has no entry of `{id}` {variant}");
        Error::new(Failure::Check, message).help(Remedy::Unlock)
    };
    let locked = lock.find(id, variant).ok_or_else(nothing)?;
    let differences = locked.differences(found);
    if !differences.is_empty() {
        let said: Vec<String> = differences.iter().map(ToString::to_string).collect();
        let message = format!(
            "`{id}` {variant} is not what is locked: {}",
            said.join("; ")
        );
        return Err(Error::new(Failure::Check, message).help(
            Remedy::from("use the pipelines with which prep.lock was written").or(Remedy::Unlock),
        ));
    }
    locked.trees().ok_or_else(nothing)
}

/// Records the prepared data. If nothing changes, nothing is written.
pub(crate) fn note(
    data_dir: &Path,
    variant: &str,
    prepared: &[(&str, LockedDataset)],
) -> Result<(), Error> {
    let with_news = || {
        let before = read(data_dir)?;
        let mut lock = before.clone();
        for (id, locked) in prepared {
            lock.set(id, variant, locked);
        }
        Ok::<_, Error>((lock != before).then_some(lock))
    };
    if prepared.is_empty() || with_news()?.is_none() {
        return Ok(());
    }
    // Another process may have written it, so it is read again.
    let path = path(data_dir);
    let _alone = alone(&path)?;
    let Some(lock) = with_news()? else {
        return Ok(());
    };
    let written = tempfile::Builder::new()
        .prefix(".prep-lock-")
        .permissions(PermissionsExt::from_mode(0o666))
        .tempfile_in(data_dir)
        .and_then(|mut file| {
            file.write_all(lock.text().as_bytes())?;
            file.persist(&path).map_err(|error| error.error)
        });
    written
        .map(drop)
        .map_err(|error| Error::writing("write", &path, &error))
}

/// The right to write the lockfile.
fn alone(path: &Path) -> Result<prep_cache::LockGuard, Error> {
    let guard = path.with_file_name(".prep.lock.guard");
    let began = Instant::now();
    loop {
        if let Some(lock) = prep_cache::try_lock_file(&guard)? {
            return Ok(lock);
        }
        if began.elapsed() > PATIENCE {
            let message = format!("another process keeps {} locked", guard.display());
            return Err(Error::new(Failure::Machine, message));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
