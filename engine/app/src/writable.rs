//! Checks that the current user can write directories, before a run and for `doctor`.

use std::io::ErrorKind;
use std::path::Path;

use crate::error::Error;

/// Creates the directory `dir` if it does not exist, and checks that the current user can create files in it.
pub(crate) fn require_writable(dir: &Path) -> Result<(), Error> {
    let created = prep_cache::create_directory(dir);
    let written = created.and_then(|()| tempfile::tempfile_in(dir).map(drop));
    written.map_err(|error| {
        let failed = Error::writing("write to", dir, &error);
        match error.kind() {
            ErrorKind::PermissionDenied => failed.help(help_if_denied(dir)),
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                failed.help("move the file away, or use another directory")
            }
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
    match prep_cache::join_group(existing) {
        Some(group) => group,
        None if existing == dir || closed.is_some() => {
            format!("change the owner or mode of {shown}, or use another directory")
        }
        None => format!(
            "the directory does not exist, and you may not create it in {shown}; create it as root, or use another directory"
        ),
    }
}
