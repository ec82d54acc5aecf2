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
use crate::{Access, Store, StoreError};

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

    /// Renames the complete file `temp` to `path`. Makes the directory of `path` only after the rename failed: it
    /// usually exists.
    pub(crate) fn rename_into(&self, temp: NamedTempFile, path: &Path) -> Result<(), StoreError> {
        let error = |source| StoreError::io("commit", path, source);
        self.confirm_written(temp.as_file(), temp.path())
            .map_err(|source| StoreError::io("write", temp.path(), source))?;
        self.accesses()
            .before(Access::Rename, path)
            .map_err(error)?;
        let failed = match temp.persist(path) {
            Ok(_) => return Ok(()),
            Err(failed) => failed,
        };
        match path.parent() {
            Some(parent) if failed.error.kind() == ErrorKind::NotFound => {
                fs::create_dir_all(parent).map_err(error)?;
                failed.file.persist(path).map_err(|e| error(e.error))?;
                Ok(())
            }
            _ => Err(error(failed.error)),
        }
    }
}
