//! Verifies published files after a restart of the system.
//!
//! Publishing does not flush files to disk, so a loss of power may leave partially written files in a complete tree.
//! Therefore the manifest contains the id of the boot in which files were last written.
//!
//! Until a restart, the system guarantees the content of the files. After a restart, every file is read and compared with
//! the listing, and damaged files are marked. All other files are then known to be on disk, so the id of the boot is
//! removed from the manifest.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use prep_cache::Digest;
use prep_core::{Context, StepError};
use prep_digests::{Sha256, digest_of_file, digest_of_reader};

use super::examine::{Remember, TreeExamination};
use super::home::{ManifestError, lock_file};
use super::listing::{ListedFile, PublishedListing};
use super::manifest::Manifest;

/// Memory in bytes of a thread that reads files.
const READER_BYTES: u64 = 1 << 20;

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerifiedTree {
    /// All files are intact, and the manifest records this.
    Intact,
    /// Another process is publishing.
    Busy,
    /// Some files are damaged or have no recorded digest. The next publication writes them again.
    Damaged {
        /// Number of these files.
        files: u64,
    },
}

/// Reads all files of a tree that was complete before a restart. `boot` is the id of the current boot.
pub fn verify_after_restart(
    context: &Context,
    data_dir: &Path,
    competition: &str,
    boot: Option<&str>,
) -> Result<VerifiedTree, StepError> {
    let home = data_dir.join(competition);
    let Some(_lock) = prep_cache::try_lock_at(&lock_file(&home))? else {
        // Another process holds the lock, and may be changing the tree.
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
    // All files were read. The damaged ones are marked in the listing, and the others are on disk. The times of the
    // directories are dropped, so that the next check compares all files with the listing.
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

/// Returns the published files whose content was that of one of the cached `objects`, and has changed since. These files
/// may be hard links to a damaged object. Reads all files that have the content of one of the objects.
///
/// # Errors
/// Returns an error if the system cannot read the list of published files.
pub fn find_damaged(
    data_dir: &Path,
    competition: &str,
    objects: &BTreeSet<Digest>,
) -> Result<Vec<String>, ManifestError> {
    let home = data_dir.join(competition);
    let listing = PublishedListing::read(&home)?;
    let files = (0..listing.len()).filter_map(|index| listing.get(index));
    let of_objects = files.filter(|(_, file)| {
        let object = listing.object(file);
        object.is_some_and(|object| objects.contains(object))
    });
    let is_damaged = |(path, file): &(&str, &ListedFile)| {
        let found = digest_of_file(&home.join("prepared").join(path));
        found.is_ok_and(|(sha256, _)| file.written.sha256() != Some(sha256))
    };
    let damaged = of_objects.filter(is_damaged);
    Ok(damaged.map(|(path, _)| path.to_owned()).collect())
}

/// Marks files, for example `private/test.csv`, as changed, so that the next publication reads them.
pub fn invalidate(
    data_dir: &Path,
    competition: &str,
    paths: &[String],
) -> Result<(), ManifestError> {
    let (home, now) = (data_dir.join(competition), SystemTime::now());
    let Some(_lock) = prep_cache::try_lock_at(&lock_file(&home))? else {
        // Another process is publishing. If it keeps a damaged file, the next check finds the damage again.
        return Ok(());
    };
    let listing = PublishedListing::read(&home)?;
    let is_marked = |one: &str| paths.iter().any(|path| path == one);
    let marked =
        listing.trusting(|index| listing.get(index).is_some_and(|(one, _)| !is_marked(one)));
    marked.write(&home, now)?;
    match Manifest::read(data_dir, competition)? {
        Some(manifest) => manifest.distrusted().write_with_old_time(&home),
        None => Ok(()),
    }
}

/// Returns the SHA-256 of each file, or `None` if it is unreadable.
pub(super) fn hash_files(
    context: &Context,
    paths: &[PathBuf],
) -> Result<Vec<Option<Sha256>>, StepError> {
    context.map_in_order(paths, READER_BYTES, |path| hash_file(context, path))
}

pub(super) fn hash_file(context: &Context, path: &Path) -> Result<Option<Sha256>, StepError> {
    let Ok(file) = File::open(path) else {
        return Ok(None);
    };
    let digest = digest_of_reader(&mut context.cancel.reader(file));
    context.check()?;
    Ok(digest.ok().map(|(sha256, _)| sha256))
}
