//! Gives complete files their final names, and requests missing entries and objects from the tier of a store.
//!
//! A file is written under a temporary name and renamed when it is complete. On a local disk, it is renamed without a
//! flush. A power failure may then damage the file. In this case, the next reader detects the damage and the file is
//! produced again (see the crate's documentation). An I/O error of a delayed write has the same effect.
//!
//! On a file system that other machines share ([`is_shared`]), delayed writes often fail, for example because of a
//! quota or a full server. Only `fsync` and `close` report these errors, and Rust ignores the error of `close`.
//! Therefore the file is flushed on such file systems before it is renamed. NFS writes everything back at `close`
//! anyway, so the flush costs nothing extra.

use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use tempfile::NamedTempFile;

use crate::system::machine::is_shared;
use crate::{Digest, LedgerEntry, Offer, Store, StoreError, Tier};

impl Store {
    /// Returns the same store, with `tier` as the source of missing entries and objects.
    #[must_use]
    pub fn with_tier(&self, tier: Arc<dyn Tier>) -> Store {
        let mut store = self.clone();
        store.tier = Some(tier);
        store
    }

    /// Offers a local result to the tier, if there is one.
    pub fn offer(&self, offer: impl FnOnce() -> Offer) {
        if let Some(tier) = &self.tier {
            tier.offer(offer());
        }
    }

    /// Queries the tier for an entry, and stores it.
    pub(crate) fn lookup_in_tier(
        &self,
        key: &Digest,
        competition: &str,
    ) -> Result<Option<LedgerEntry>, StoreError> {
        let Some(tier) = &self.tier else {
            return Ok(None);
        };
        let Some(entry) = tier.entry(key, competition) else {
            return Ok(None);
        };
        self.announce_lengths(&entry);
        if !self.is_read_only() {
            self.record(key, &entry)?;
        }
        Ok(Some(entry))
    }

    /// Announces the lengths of objects that may be fetched.
    pub(crate) fn announce_lengths(&self, entry: &LedgerEntry) {
        let Some(tier) = &self.tier else { return };
        for (object, length) in entry.objects().zip(&entry.lengths) {
            if self.len_of(object).is_none() {
                tier.expect(object, *length);
            }
        }
    }

    /// Returns whether the tier may have an object that is not in this store.
    pub(crate) fn may_be_in_tier(&self, digest: &Digest) -> bool {
        self.tier.as_ref().is_some_and(|tier| tier.may_have(digest))
    }

    /// Fetches an object from the tier. Returns `false` if it cannot be fetched.
    pub(crate) fn fetch_from_tier(&self, digest: &Digest) -> Result<bool, StoreError> {
        let Some(tier) = &self.tier else {
            return Ok(false);
        };
        if self.is_read_only() || !tier.may_have(digest) {
            return Ok(false);
        }
        self.exclusively(digest, || {
            // Another thread may have fetched the object in the meantime.
            if self.len_of(digest).is_some() {
                return Ok(true);
            }
            let mut writer = self.writer()?;
            let path = self.object_path(digest);
            let fetched = tier.fetch(digest, &mut writer);
            if !fetched.map_err(|error| StoreError::io("write", &path, error))? {
                return Ok(false);
            }
            let is_right = writer.commit_as(digest)?;
            if !is_right {
                tier.report_damaged(digest);
            }
            Ok(is_right)
        })
    }
}

impl Store {
    /// Flushes `file` if its file system reports write errors late, and returns such an error. `path` is any path on
    /// that file system. Returns the metadata of the file.
    ///
    /// # Errors
    /// If written bytes did not reach the server.
    pub fn confirm_written(&self, file: &File, path: &Path) -> io::Result<Metadata> {
        let metadata = file.metadata()?;
        if !self.is_shared_device(metadata.dev(), || is_shared(path)) {
            return Ok(metadata);
        }
        file.sync_data()?;
        file.metadata()
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
