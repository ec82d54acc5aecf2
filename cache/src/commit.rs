//! Giving a complete file its final name.
//!
//! A file is written under a temporary name, and renamed when it is complete. On a disk of this machine the rename
//! follows without a flush: what a loss of power damages is noticed and made again (see the crate's documentation), and
//! an I/O error of a delayed write damages the same files in the same way.
//!
//! On a file system of other machines ([`is_shared`]) errors of delayed writes are common: a quota, a full server. They
//! are reported by `fsync` and `close` only, and Rust drops those of `close`. So the file is flushed there before it is
//! renamed. NFS writes everything back at `close` anyway, so that costs nothing there.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::machine::is_shared;
use crate::{Store, StoreError};

impl Store {
    /// Returns the errors of delayed writes to `file`, as far as its file system reports them later than the writes
    /// themselves. `path` is any path on that file system.
    ///
    /// # Errors
    /// When bytes that were written did not reach the server.
    pub fn confirm_written(&self, file: &File, path: &Path) -> io::Result<()> {
        let device = file.metadata()?.dev();
        match self.is_shared_device(device, || is_shared(path)) {
            true => file.sync_data(),
            false => Ok(()),
        }
    }

    /// Renames the complete file `temp` to `path`, whose directory is made if it is missing.
    pub(crate) fn rename_into(&self, temp: NamedTempFile, path: &Path) -> Result<(), StoreError> {
        self.confirm_written(temp.as_file(), temp.path())
            .map_err(|source| StoreError::io("write", temp.path(), source))?;
        persist(temp, path).map_err(|source| StoreError::io("commit", path, source))
    }
}

/// Renames the file `temp` to `path`. Makes the directory of `path` only after the rename failed: it usually exists.
///
/// # Errors
/// When it cannot be renamed; it is removed then.
pub fn persist(temp: NamedTempFile, path: &Path) -> io::Result<()> {
    let rename = || fs::rename(temp.path(), path);
    rename().or_else(|failed| match path.parent() {
        Some(parent) if failed.kind() == ErrorKind::NotFound => {
            fs::create_dir_all(parent)?;
            rename()
        }
        _ => Err(failed),
    })?;
    // The temporary name is gone; nothing is left to remove.
    let _ = temp.into_temp_path().keep();
    Ok(())
}
