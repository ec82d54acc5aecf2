//! Checks that the current user can write directories, before a run and for `doctor`.

use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use crate::error::Error;

/// Creates the directory `dir` if it does not exist, and checks that the current user can create files in it.
pub(crate) fn require_writable(dir: &Path) -> Result<(), Error> {
    let created = prep_cache::create_directory(dir);
    explain(dir, created.and_then(|()| tempfile::tempfile_in(dir)))
}

/// Checks that the current user can create files in `dir` or, if `dir` does not exist, in its nearest parent that exists.
/// Returns this directory. Creates no directory.
pub(crate) fn find_writable(dir: &Path) -> Result<PathBuf, Error> {
    let place = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let exists = |path: &&Path| path.symlink_metadata().is_ok();
    let place = place.ancestors().find(exists).unwrap_or(dir);
    explain(dir, tempfile::tempfile_in(place))?;
    Ok(place.to_owned())
}

/// Adds the suggested action to an error about writing to `dir`.
fn explain<T>(dir: &Path, written: io::Result<T>) -> Result<(), Error> {
    written.map(drop).map_err(|error| {
        let failed = Error::writing("write to", dir, &error);
        match error.kind() {
            ErrorKind::PermissionDenied => failed.help(help_if_denied(dir)),
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                failed.help("move the file away, or use another directory")
            }
            ErrorKind::NotFound | ErrorKind::Unsupported => failed.help("use another directory"),
            _ => failed,
        }
    })
}

/// Returns the suggested action for a directory that the current user may not write or create.
fn help_if_denied(dir: &Path) -> String {
    let closed = prep_cache::closed_directory(dir);
    let existing = closed.or_else(|| dir.ancestors().find(|path| path.exists()));
    let existing = existing.unwrap_or(dir);
    let shown = existing.display();
    match prep_cache::group_remedy(existing) {
        Some(group) => group,
        None if existing == dir || closed.is_some() => {
            match existing
                .metadata()
                .is_ok_and(|found| found.uid() == geteuid().as_raw())
            {
                true => format!("change the mode of {shown}, or use another directory"),
                false => {
                    format!("use another directory, or ask the owner of {shown} for permission")
                }
            }
        }
        None => format!(
            "the directory does not exist, and you may not create it in {shown}; create it as root, or use another directory"
        ),
    }
}
