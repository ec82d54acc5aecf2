//! The partial file of a download (`ID.zip.partial`). The process that fills it has locked it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use prep_cache::{LockGuard, is_file_at};

use crate::error::FetchError;
use crate::resume::commit::commit;

/// A locked partial file.
#[derive(Debug)]
pub(crate) struct Partial {
    pub(crate) file: Arc<File>,
    pub(crate) path: PathBuf,
    /// The path of the file's piece map.
    pub(crate) map: PathBuf,
    target: PathBuf,
    /// `None` after the lock was released.
    lock: Mutex<Option<LockGuard>>,
}

/// The result of trying to lock a partial file.
#[derive(Debug)]
pub(crate) enum LockOutcome {
    Ours(Partial),
    /// Another process has the lock.
    Busy,
    /// The bundle is already complete.
    Complete,
}

/// Appends a suffix to the name of a file.
pub(crate) fn with_suffix(target: &Path, suffix: &str) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

impl Partial {
    /// Opens and locks the partial file of `target`.
    pub(crate) fn try_lock(target: &Path) -> Result<LockOutcome, FetchError> {
        if target.exists() {
            return Ok(LockOutcome::Complete);
        }
        let path = with_suffix(target, ".partial");
        let error = |action| {
            let path = path.clone();
            move |cause| FetchError::io(action, &path, cause)
        };
        if let Some(directory) = target.parent() {
            prep_cache::create_directory(directory).map_err(error("create the directory of"))?;
        }
        let Some(lock) = prep_cache::try_lock_file(&path)? else {
            return Ok(LockOutcome::Busy);
        };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(error("open"))?;
        // Another process may have renamed the file before this process locked it.
        if !is_file_at(&file, &path).map_err(error("examine"))? {
            return Ok(LockOutcome::Busy);
        }
        if target.exists() {
            std::fs::remove_file(&path).map_err(error("remove"))?;
            return Ok(LockOutcome::Complete);
        }
        Ok(LockOutcome::Ours(Partial {
            map: with_suffix(target, ".partial.map"),
            file: Arc::new(file),
            lock: Mutex::new(Some(lock)),
            path,
            target: target.to_path_buf(),
        }))
    }

    /// Gives the complete file its final name.
    pub(crate) fn finish(&self) -> Result<Arc<File>, FetchError> {
        self.check_lock()?;
        commit(&self.file, &self.path, &self.target)?;
        // The map is useless without the partial file.
        let _ = std::fs::remove_file(&self.map);
        self.unlock();
        Ok(Arc::clone(&self.file))
    }

    /// Returns an error if another process took over the lock because it saw no heartbeat of this process.
    pub(crate) fn check_lock(&self) -> Result<(), FetchError> {
        match &*self.lock.lock() {
            Some(lock) => Ok(lock.check()?),
            None => Ok(()),
        }
    }

    /// Removes the file and its map. Called after their content was used.
    pub(crate) fn remove(&self) -> Result<(), FetchError> {
        self.clear()?;
        std::fs::remove_file(&self.path)
            .map_err(|cause| FetchError::io("remove", &self.path, cause))?;
        self.unlock();
        Ok(())
    }

    /// Removes the file if it contains nothing, because the download failed before the first byte.
    pub(crate) fn remove_if_empty(&self) -> Result<(), FetchError> {
        let examined = self.file.metadata();
        let bytes = examined.map_err(|cause| FetchError::io("examine", &self.path, cause))?;
        match bytes.len() {
            0 => self.remove(),
            _ => Ok(()),
        }
    }

    fn unlock(&self) {
        *self.lock.lock() = None;
    }

    /// Discards the content. The file remains and stays locked.
    pub(crate) fn clear(&self) -> Result<(), FetchError> {
        self.check_lock()?;
        match std::fs::remove_file(&self.map) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                return Err(FetchError::io("remove", &self.map, cause));
            }
            _ => {}
        }
        self.file
            .set_len(0)
            .map_err(|cause| FetchError::io("empty", &self.path, cause))
    }

    pub(crate) fn write(&self, bytes: &[u8], offset: u64) -> Result<(), FetchError> {
        self.check_lock()?;
        self.file
            .write_all_at(bytes, offset)
            .map_err(|cause| FetchError::io("write", &self.path, cause))
    }
}
