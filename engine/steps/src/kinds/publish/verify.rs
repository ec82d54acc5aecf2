//! Verifies published files after a restart of the system.
//!
//! Publishing does not flush files to disk, so a loss of power may leave partially written files in a tree whose
//! manifest states that it is complete. Therefore the manifest contains the boot during which files were last written.
//! Within the same boot, the system guarantees their content. After a restart, every file is read once and compared
//! with its digest in the listing. Then the boot is removed from the manifest, because the content came from the disk.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use prep_core::{Context, StepError};
use prep_digests::{Sha256, digest_of_reader};

use super::listing::PublishedListing;
use super::lock_file;
use super::manifest::{Manifest, ManifestError};

/// Memory in bytes of a thread that reads a file.
const READER_BYTES: u64 = 1 << 20;

/// The result of verifying a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerifiedTree {
    /// All files are intact. The manifest now records this.
    Intact,
    /// Another process is publishing.
    Busy,
    /// Some files are damaged or have no recorded digest. The tree is now marked incomplete.
    Damaged {
        /// Number of these files.
        files: u64,
    },
}

/// Reads all files of a tree that was complete before a restart.
///
/// # Errors
/// If the manifest cannot be read or written, or the run is cancelled. A published file that cannot be read is treated
/// as damaged.
pub fn verify_after_restart(
    context: &Context,
    data_dir: &Path,
    competition: &str,
) -> Result<VerifiedTree, StepError> {
    let home = data_dir.join(competition);
    let Some(_lock) = prep_cache::try_lock_file(&lock_file(&home))? else {
        // Another process is publishing, so the tree is not in the state before the restart.
        return Ok(VerifiedTree::Busy);
    };
    let read = Manifest::read(data_dir, competition).map_err(StepError::machine)?;
    let damaged = match read {
        None => 0,
        Some(manifest) => {
            let intact = intact_files(
                context,
                &home.join("prepared"),
                &PublishedListing::read(&home),
            )?;
            let damaged = manifest.files.abs_diff(intact.trusted() as u64);
            if damaged == 0 && manifest.complete {
                let written = manifest.into_durable().write(&home);
                return written
                    .map(|()| VerifiedTree::Intact)
                    .map_err(StepError::machine);
            }
            // The remaining files have just been read, so the next publication need not read them again.
            let written = intact.write(&home);
            written
                .and_then(|()| Manifest::mark_incomplete(&home, None))
                .map_err(StepError::machine)?;
            damaged
        }
    };
    Ok(VerifiedTree::Damaged { files: damaged })
}

/// Marks the file `path` (`private/test.csv`) of the listing as changed, so that the next publication writes it again
/// even if its size and time are unchanged.
///
/// # Errors
/// If the data directory cannot be written.
pub fn invalidate(data_dir: &Path, competition: &str, path: &str) -> Result<(), ManifestError> {
    let home = data_dir.join(competition);
    let Some(_lock) = prep_cache::try_lock_file(&lock_file(&home))? else {
        // Another process is publishing. If it keeps the file, the next check finds the damage again.
        return Ok(());
    };
    let listing = PublishedListing::read(&home);
    let others = listing.trusting(|index| listing.get(index).is_some_and(|(one, _)| one != path));
    others.write(&home)?;
    match Manifest::read(data_dir, competition)? {
        Some(mut manifest) => {
            manifest.complete = false;
            manifest.write(&home)
        }
        None => Ok(()),
    }
}

/// Returns the listing in which only files whose content matches their digest are trusted.
pub(super) fn intact_files(
    context: &Context,
    prepared: &Path,
    listing: &PublishedListing,
) -> Result<PublishedListing, StepError> {
    let intact: Vec<AtomicBool> = (0..listing.len()).map(|_| AtomicBool::new(false)).collect();
    let check = |_: &mut (), index: usize| {
        if let (Some(intact), Some((path, file))) = (intact.get(index), listing.get(index)) {
            let path = prepared.join(path);
            let is_intact = file.is_untouched(&path)
                && digest_of(context, &path)?
                    .is_some_and(|sha256| Some(sha256) == file.written.sha256());
            intact.store(is_intact, Ordering::Relaxed);
        }
        Ok(())
    };
    context.map_parallel(listing.len(), READER_BYTES, || (), check)?;
    let is_intact = |index: usize| {
        let intact = intact.get(index);
        intact.is_some_and(|intact| intact.load(Ordering::Relaxed))
    };
    Ok(listing.trusting(is_intact))
}

/// Returns the SHA-256 of a file. `None` if it cannot be read.
fn digest_of(context: &Context, path: &Path) -> Result<Option<Sha256>, StepError> {
    let Ok(file) = File::open(path) else {
        return Ok(None);
    };
    let digest = digest_of_reader(&mut context.cancel.reader(file));
    context.check()?;
    Ok(digest.ok().map(|(sha256, _)| sha256))
}
