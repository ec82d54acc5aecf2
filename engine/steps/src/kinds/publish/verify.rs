//! Verifies published files after a restart of the system, and marks files that turned out to be damaged.
//!
//! Publishing does not flush files to disk, so a loss of power may leave partially written files in a tree whose
//! manifest states that it is complete. Therefore the manifest contains the boot during which files were last written.
//! Within the same boot, the system guarantees their content. After a restart, every file is read once and compared
//! with its digest in the listing, and damaged files are marked. All other files are then known to be on disk. Therefore
//! the boot is removed from the manifest, and the next restart causes no further verification.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use prep_core::{Context, StepError};
use prep_digests::{Sha256, digest_of_reader};

use super::examine::{Remember, TreeExamination};
use super::home::{ManifestError, lock_file};
use super::listing::PublishedListing;
use super::manifest::Manifest;

/// Memory in bytes of a thread that reads a file.
const READER_BYTES: u64 = 1 << 20;

/// The result of verifying a published tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerifiedTree {
    /// All files are intact. The manifest now records this.
    Intact,
    /// Another process is publishing.
    Busy,
    /// Some files are damaged or have no recorded digest. The next publication writes them again.
    Damaged {
        /// Number of these files.
        files: u64,
    },
}

/// Reads all files of a tree that was complete before a restart. `boot` identifies the current boot.
///
/// # Errors
/// If the manifest cannot be read or written, or the run is cancelled. A published file that cannot be read is treated
/// as damaged.
pub fn verify_after_restart(
    context: &Context,
    data_dir: &Path,
    competition: &str,
    boot: Option<&str>,
) -> Result<VerifiedTree, StepError> {
    let home = data_dir.join(competition);
    let Some(_lock) = prep_cache::try_lock_file(&lock_file(&home))? else {
        // Another process is publishing, so the tree may no longer be in the state that it had before the restart.
        return Ok(VerifiedTree::Busy);
    };
    let read = Manifest::read(data_dir, competition).map_err(StepError::machine)?;
    let Some(manifest) = read.filter(|manifest| manifest.complete) else {
        return Ok(VerifiedTree::Damaged { files: 0 });
    };
    let examination = TreeExamination {
        data_dir,
        manifest: &manifest,
        boot,
        hash: &|paths| hash_files(context, paths),
    };
    let state = examination.compare(Remember::Locked)?;
    if state.has_published_content() {
        return Ok(VerifiedTree::Intact);
    }
    // The examination has marked the damaged files in the listing. All other files were just read, so they are known to be
    // on disk. Therefore remove the boot from the manifest.
    let written = manifest
        .into_durable()
        .distrusted()
        .write_with_old_time(&home);
    written.map_err(StepError::machine)?;
    let files = state.public.count + state.private.count;
    Ok(VerifiedTree::Damaged {
        files: files.max(1),
    })
}

/// Marks the file `path` (for example `private/test.csv`) as changed in the listing. The next publication then reads the
/// file even if its size and time are unchanged.
///
/// # Errors
/// If the data directory cannot be written.
pub fn invalidate(data_dir: &Path, competition: &str, path: &str) -> Result<(), ManifestError> {
    let (home, now) = (data_dir.join(competition), SystemTime::now());
    let Some(_lock) = prep_cache::try_lock_file(&lock_file(&home))? else {
        // Another process is publishing and may replace the file. If it keeps the file, the next check finds the damage
        // again, so nothing has to be marked now.
        return Ok(());
    };
    let listing = PublishedListing::read(&home);
    let others = listing.trusting(|index| listing.get(index).is_some_and(|(one, _)| one != path));
    others.write(&home, now)?;
    match Manifest::read(data_dir, competition)? {
        Some(manifest) => manifest.distrusted().write_with_old_time(&home),
        None => Ok(()),
    }
}

/// Returns the SHA-256 of each file, or `None` if it cannot be read. The files are read in parallel.
pub(super) fn hash_files(
    context: &Context,
    paths: &[PathBuf],
) -> Result<Vec<Option<Sha256>>, StepError> {
    context.map_in_order(paths, READER_BYTES, |path| hash_file(context, path))
}

/// Returns the SHA-256 of a file, or `None` if it cannot be read.
pub(super) fn hash_file(context: &Context, path: &Path) -> Result<Option<Sha256>, StepError> {
    let Ok(file) = File::open(path) else {
        return Ok(None);
    };
    let digest = digest_of_reader(&mut context.cancel.reader(file));
    context.check()?;
    Ok(digest.ok().map(|(sha256, _)| sha256))
}
