//! Last stage of a publication: writes the listing with digests, and a manifest that marks the tree as complete. After the
//! run, the caller adds the origin of the tree and the options of the run to the manifest.

use std::path::Path;

use prep_cache::{CLOCK_TICK, Digest, LinkMode};
use prep_core::StepError;
use prep_digests::DataOrigin;

use super::home::lock_file;
use super::listing::{WrittenFile, write_published};
use super::manifest::{Manifest, PublishedOutput, PublishedTree};
use super::preparation::PreparationRecord;
use super::sums;
use super::write::Publication;

impl Publication<'_> {
    /// Writes the listing and the manifest. `files` contains the metadata of the tree's files.
    pub(super) fn record(
        &self,
        mut files: Vec<Option<WrittenFile>>,
        outputs: Vec<PublishedOutput>,
    ) -> Result<(), StepError> {
        let (context, observed, desired) = (self.context, self.observed, self.desired);
        // If another machine took over the lock, it may be changing the tree.
        context.check()?;
        let write_listing = |files: &[Option<WrittenFile>]| {
            let written = write_published(self.home, desired, files, observed.began);
            written.map_err(StepError::machine)
        };
        // Computing digests may take long. If it is interrupted, the next publication can use this listing.
        write_listing(&files)?;
        sums::add_missing_sha256(context, &observed.prepared, desired, &mut files)?;
        let trees = sums::written_trees(desired, &files);
        write_listing(&files)?;
        drop(files);
        // If the tree is unchanged, `origin` and `preparation` stay: they record that an earlier run compared checksums. This run
        // may not have compared them.
        let earlier = observed.manifest.as_ref();
        let same = earlier.filter(|earlier| earlier.trees.is_some() && earlier.trees == trees);
        let origin = same.and_then(|earlier| earlier.origin.clone());
        let preparation = same.and_then(|earlier| earlier.preparation.clone());
        // If a file is modified after this pause, its new modification time differs from the recorded modification time,
        // unless the file system's clock is coarse.
        std::thread::sleep(CLOCK_TICK);
        let tree = PublishedTree {
            prepared: &observed.prepared,
            outputs,
            directories: self.changes.directories.clone(),
            unpublished: self.changes.unpublished.clone(),
            boot: self.boot(),
            trees,
            origin,
            preparation,
            link_mode: self.sharing(),
            began: observed.began,
        };
        let manifest = Manifest::complete(self.publish, *self.key, tree);
        let written = manifest.and_then(|manifest| manifest.write(self.home));
        written.map_err(StepError::machine)
    }

    /// Returns the id of the boot in which the files were written. `None` if they are known to be on disk.
    fn boot(&self) -> Option<String> {
        match &self.observed.manifest {
            Some(earlier) if self.changes.write.is_empty() && self.observed.is_durable => {
                earlier.boot.clone()
            }
            // The existing files are of an earlier boot, and were just verified.
            Some(_) if self.changes.write.is_empty() => None,
            _ => self.publish.boot.clone(),
        }
    }

    /// Returns the cheapest way in which a file of the tree may share disk space with the cache.
    fn sharing(&self) -> LinkMode {
        let new = self.publish.link_mode;
        match &self.observed.manifest {
            Some(earlier) if self.changes.write.is_empty() => earlier.link_mode,
            Some(earlier) if !self.observed.is_too_shared => earlier.link_mode.min(new),
            _ => new,
        }
    }
}

/// Records the origin of the tree that was published under `key`: its pipeline, and whether the published checksums match.
///
/// Merges an earlier origin of this tree ([`DataOrigin::or`]), because only the earlier run may have compared checksums.
/// Records nothing if another process is publishing, or if the manifest is now that of another tree.
pub fn record_origin(
    data_dir: &Path,
    competition: &str,
    key: &Digest,
    origin: DataOrigin,
) -> Result<(), StepError> {
    update(data_dir, competition, key, |manifest| {
        let origin = match &manifest.origin {
            Some(before) => origin.or(before),
            None => origin,
        };
        manifest.origin = Some(origin);
    })
}

/// Records how a complete tree was prepared. `change` converts the earlier record of this tree, if any, to the new one.
///
/// Records nothing while another process publishes, or if the tree's key differs from `key`.
pub fn record_preparation(
    data_dir: &Path,
    competition: &str,
    key: &Digest,
    change: impl FnOnce(Option<PreparationRecord>) -> PreparationRecord,
) -> Result<(), StepError> {
    update(data_dir, competition, key, |manifest| {
        manifest.preparation = Some(change(manifest.preparation.take()));
    })
}

/// Changes the manifest of a complete tree. Does nothing if another process is publishing, or if the tree has a different key.
fn update(
    data_dir: &Path,
    competition: &str,
    key: &Digest,
    change: impl FnOnce(&mut Manifest),
) -> Result<(), StepError> {
    let home = data_dir.join(competition);
    let Some(_lock) = prep_cache::try_lock_at(&lock_file(&home))? else {
        return Ok(());
    };
    let manifest = Manifest::read(data_dir, competition).map_err(StepError::machine)?;
    let is_same = |one: &Manifest| one.complete && one.key == *key;
    let Some(mut manifest) = manifest.filter(is_same) else {
        return Ok(());
    };
    let before = manifest.clone();
    change(&mut manifest);
    match manifest == before {
        true => Ok(()),
        false => {
            let written = manifest.write_with_old_time(&home);
            written.map_err(StepError::machine)
        }
    }
}
