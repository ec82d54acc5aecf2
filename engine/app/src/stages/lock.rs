//! Reads and updates `DATA/prep.lock`, which records the prepared data of a data directory. See `prep_digests::Lockfile`
//! for its format.

use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use prep_core::{Failure, Remedy};
use prep_digests::{LockedDataset, Lockfile, Trees};

use crate::error::Error;

/// Maximum time to wait for another process that writes the lockfile.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// Returns the path of the lockfile. If it is a symbolic link, returns the path of the linked file, so that the link stays.
fn path(data_dir: &Path) -> PathBuf {
    let path = data_dir.join("prep.lock");
    match path.read_link() {
        Ok(target) => path
            .canonicalize()
            .unwrap_or_else(|_| data_dir.join(target)),
        Err(_) => path,
    }
}

/// Reads the lockfile. Returns an empty lockfile if it does not exist.
///
/// # Errors
/// Returns an error if the file cannot be read or has a newer format version.
pub(crate) fn read(data_dir: &Path) -> Result<Lockfile, Error> {
    let path = path(data_dir);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Lockfile::default()),
        Err(error) => return Err(Error::reading("read", &path, &error)),
    };
    Lockfile::parse(&text).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Error::new(Failure::Input, message).help(
            "move the file to another directory; the next run that does not check prep.lock writes a new one",
        )
    })
}

/// Returns the digests of a competition's outputs from the lockfile. `found` contains the current digests of the
/// competition's leaderboard and section `grade`.
///
/// # Errors
/// Returns an error if the lockfile has no entry for the competition, or if the entry differs from `found`.
pub(crate) fn require(
    lock: &Lockfile,
    id: &str,
    variant: &str,
    found: &LockedDataset,
) -> Result<Trees, Error> {
    let no_entry = || {
        let message = format!("prep.lock has no entry for `{id}` with variant `{variant}`");
        Error::new(Failure::Check, message).help(Remedy::Unlock)
    };
    let locked = lock.find(id, variant).ok_or_else(no_entry)?;
    let differences = locked.differences(found);
    if !differences.is_empty() {
        let messages: Vec<String> = differences.iter().map(ToString::to_string).collect();
        let message = format!(
            "`{id}` with variant `{variant}` does not match prep.lock: {}",
            messages.join("; ")
        );
        return Err(Error::new(Failure::Check, message).help(
            Remedy::from("use the same pipelines as when prep.lock was written").or(Remedy::Unlock),
        ));
    }
    locked.trees().ok_or_else(no_entry)
}

/// Records prepared data in the lockfile. The file is written only if an entry changes.
pub(crate) fn update(
    data_dir: &Path,
    variant: &str,
    prepared: &[(&str, LockedDataset)],
) -> Result<(), Error> {
    let updated_lockfile = || {
        let before = read(data_dir)?;
        let mut lock = before.clone();
        for (id, locked) in prepared {
            lock.set(id, variant, locked);
        }
        Ok::<_, Error>((lock != before).then_some(lock))
    };
    if prepared.is_empty() || updated_lockfile()?.is_none() {
        return Ok(());
    }
    // Another process may have written the lockfile, so it is read again while it is locked.
    let path = path(data_dir);
    let _write_lock = lock_for_writing(&path)?;
    let Some(lock) = updated_lockfile()? else {
        return Ok(());
    };
    let written = tempfile::Builder::new()
        .prefix(".prep-lock-")
        .permissions(PermissionsExt::from_mode(0o666))
        .tempfile_in(path.parent().unwrap_or(data_dir))
        .and_then(|mut file| {
            file.write_all(lock.text().as_bytes())?;
            file.persist(&path).map_err(|error| error.error)
        });
    written
        .map(drop)
        .map_err(|error| Error::writing("write", &path, &error))
}

/// Acquires the lock that a process must hold to write the lockfile.
fn lock_for_writing(path: &Path) -> Result<prep_cache::LockGuard, Error> {
    let guard = path.with_file_name(".prep.lock.guard");
    prep_cache::lock_at_within(&guard, LOCK_TIMEOUT)?.ok_or_else(|| {
        let message = format!("{} is locked by another process", guard.display());
        Error::new(Failure::Machine, message)
    })
}
