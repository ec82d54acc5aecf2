//! Gives a complete file its final name.
//!
//! A file is written under a temporary name and renamed when it is complete. On a local disk, it is renamed without a
//! flush. A power failure may then damage the file. In this case, the next reader detects the damage and the file is
//! produced again (see the crate's documentation). An I/O error of a delayed write has the same effect.
//!
//! On a file system that other machines share ([`is_shared`]), delayed writes often fail, for example because of a
//! quota or a full server. Only `fsync` and `close` report these errors, and Rust ignores the error of `close`.
//! Therefore the file is flushed on such file systems before it is renamed. NFS writes everything back at `close`
//! anyway, so the flush costs nothing extra.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::system::machine::is_shared;
use crate::{Store, StoreError};

impl Store {
    /// Flushes `file` if its file system reports write errors late, and returns such an error. `path` is any path on
    /// that file system. Does nothing on a local disk.
    ///
    /// # Errors
    /// If written bytes did not reach the server.
    pub fn confirm_written(&self, file: &File, path: &Path) -> io::Result<()> {
        let device = file.metadata()?.dev();
        match self.is_shared_device(device, || is_shared(path)) {
            true => file.sync_data(),
            false => Ok(()),
        }
    }

    /// Renames the complete file `temp` to `path`. Creates the directory of `path` if it is missing.
    pub(crate) fn rename_into(&self, temp: NamedTempFile, path: &Path) -> Result<(), StoreError> {
        self.confirm_written(temp.as_file(), temp.path())
            .map_err(|source| StoreError::io("write", temp.path(), source))?;
        persist(temp, path).map_err(|source| StoreError::io("commit", path, source))
    }
}

/// Renames the file `temp` to `path`. Creates the directory of `path` only if the first rename fails, because it
/// usually exists.
///
/// # Errors
/// If the file cannot be renamed. The temporary file is then removed.
pub fn persist(temp: NamedTempFile, path: &Path) -> io::Result<()> {
    let rename = || fs::rename(temp.path(), path);
    rename().or_else(|failed| match path.parent() {
        Some(parent) if failed.kind() == ErrorKind::NotFound => {
            fs::create_dir_all(parent)?;
            rename()
        }
        _ => Err(failed),
    })?;
    // The temporary name no longer exists, so there is nothing to remove on drop.
    let _ = temp.into_temp_path().keep();
    Ok(())
}
