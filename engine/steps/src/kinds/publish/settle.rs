//! After a restart of the machine: are the published files those that were written?
//!
//! Nothing is flushed to the disk while publishing, so a loss of power may tear files of a tree whose manifest says that
//! it is complete. The manifest therefore notes in which boot of the machine files were written last. In the same boot
//! the system answers for them. In a later one every file is read once and held against its digest in the listing; then
//! the note is taken out, since what was read came from the disk.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use prep_core::{Context, StepError};
use prep_digests::{Sha256, digest_of_reader};

use super::listing::Listing;
use super::lock_file;
use super::manifest::{Manifest, ManifestError};

/// What a thread holds that reads a file.
const MEMORY_OF_READER: u64 = 1 << 20;

/// What came of looking at a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// Every file is what was written. The manifest says so from now on.
    Whole,
    /// Somebody is at work on it.
    Busy,
    /// These files are not, or it is not known what they should be. The tree does not count as complete any more.
    Damaged { files: u64 },
}

/// Reads all files of a tree that was complete before a restart.
///
/// # Errors
/// When the manifest cannot be read or written, or the run is cancelled. A published file that cannot be read counts as
/// damaged.
pub fn settle(context: &Context, data_dir: &Path, competition: &str) -> Result<Settled, StepError> {
    let home = data_dir.join(competition);
    let Some(_lock) = prep_cache::try_lock_file(&lock_file(&home))? else {
        // Somebody is publishing: the tree is not as it was left before the restart.
        return Ok(Settled::Busy);
    };
    let read = Manifest::read(data_dir, competition).map_err(StepError::machine)?;
    let damaged = match read {
        None => 0,
        Some(manifest) => {
            let whole = holding(context, &home.join("prepared"), &Listing::read(&home))?;
            let damaged = manifest.files.abs_diff(whole.len() as u64);
            if damaged == 0 && manifest.complete {
                let settled = manifest.settled().write(&home);
                return settled.map(|()| Settled::Whole).map_err(StepError::machine);
            }
            // What is still listed was just read, so that the next publication need not read it again.
            let written = whole.write(&home);
            written
                .and_then(|()| Manifest::mark_incomplete(&home, None))
                .map_err(StepError::machine)?;
            damaged
        }
    };
    Ok(Settled::Damaged { files: damaged })
}

/// Takes back that the file `path` (`private/test.csv`) is what was published: the next publication writes it anew, though
/// its size and time are those that were noted.
///
/// # Errors
/// When the data folder cannot be written.
pub fn distrust(data_dir: &Path, competition: &str, path: &str) -> Result<(), ManifestError> {
    let home = data_dir.join(competition);
    let Some(_lock) = prep_cache::try_lock_file(&lock_file(&home))? else {
        // Somebody is publishing. If that leaves the file alone, the next look at it finds it again.
        return Ok(());
    };
    let listing = Listing::read(&home);
    let others = listing.only(|place| listing.get(place).is_some_and(|(one, _)| one != path));
    others.write(&home)?;
    match Manifest::read(data_dir, competition)? {
        Some(manifest) => manifest.incomplete().write(&home),
        None => Ok(()),
    }
}

/// The listed files that hold what the listing says.
pub(super) fn holding(
    context: &Context,
    prepared: &Path,
    listing: &Listing,
) -> Result<Listing, StepError> {
    let whole: Vec<AtomicBool> = (0..listing.len()).map(|_| AtomicBool::new(false)).collect();
    let look = |_: &mut (), place: usize| {
        if let (Some(whole), Some((path, file))) = (whole.get(place), listing.get(place)) {
            let path = prepared.join(path);
            let holds = file.is_untouched(&path)
                && digest_of(context, &path)?
                    .is_some_and(|sha256| Some(sha256) == file.written.sha256());
            whole.store(holds, Ordering::Relaxed);
        }
        Ok(())
    };
    context.spread(listing.len(), MEMORY_OF_READER, || (), look)?;
    let holds = |place: usize| {
        let whole = whole.get(place);
        whole.is_some_and(|whole| whole.load(Ordering::Relaxed))
    };
    Ok(listing.only(holds))
}

/// None: it cannot be read.
fn digest_of(context: &Context, path: &Path) -> Result<Option<Sha256>, StepError> {
    let Ok(file) = File::open(path) else {
        return Ok(None);
    };
    let digest = digest_of_reader(&mut context.cancel.reader(file));
    context.check()?;
    Ok(digest.ok().map(|(sha256, _)| sha256))
}
