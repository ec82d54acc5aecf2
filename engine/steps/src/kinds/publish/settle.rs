//! After a restart of the machine: are the published files those that were written?
//!
//! Nothing is flushed to the disk while publishing, so a loss of power may tear files of a tree whose manifest says that
//! it is complete. The manifest therefore notes in which boot of the machine files were written last. In the same boot
//! the system answers for them. In a later one every file is read once and held against its digest in the listing; then
//! the note is taken out, since what was read came from the disk.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use prep_cache::{Accesses, Digest};

use super::listing::Listing;
use super::lock_file;
use super::manifest::{Manifest, ManifestError};

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

/// Reads all files of a tree that was complete before a restart, on so many threads.
///
/// # Errors
/// When the manifest cannot be read or written. A published file that cannot be read counts as damaged.
pub fn settle(
    data_dir: &Path,
    competition: &str,
    threads: usize,
) -> Result<Settled, ManifestError> {
    let home = data_dir.join(competition);
    // No step is at work here: nobody watches.
    let unwatched = &Accesses::default();
    let Some(_lock) = prep_cache::try_lock_file(&lock_file(&home))? else {
        // Somebody is publishing: the tree is not as it was left before the restart.
        return Ok(Settled::Busy);
    };
    let damaged = match Manifest::read(data_dir, competition)? {
        None => 0,
        Some(manifest) => {
            let whole = holding(&home.join("prepared"), &Listing::read(&home), threads);
            let damaged = manifest.files.abs_diff(whole.len() as u64);
            if damaged == 0 && manifest.complete {
                manifest.settled().write(unwatched, &home)?;
                return Ok(Settled::Whole);
            }
            // What is still listed was just read, so that the next publication need not read it again.
            whole.write(unwatched, &home)?;
            Manifest::mark_incomplete(unwatched, &home, None)?;
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
    // No step is at work here: nobody watches.
    let unwatched = &Accesses::default();
    let Some(_lock) = prep_cache::try_lock_file(&lock_file(&home))? else {
        // Somebody is publishing. If that leaves the file alone, the next look at it finds it again.
        return Ok(());
    };
    let listing = Listing::read(&home);
    let kept =
        (0..listing.len()).map(|place| listing.get(place).is_some_and(|(one, _)| one != path));
    let kept: Vec<bool> = kept.collect();
    listing.only(&kept).write(unwatched, &home)?;
    match Manifest::read(data_dir, competition)? {
        Some(manifest) => manifest.incomplete().write(unwatched, &home),
        None => Ok(()),
    }
}

/// The listed files that hold what the listing says.
pub(super) fn holding(prepared: &Path, listing: &Listing, threads: usize) -> Listing {
    let holds = |place: usize| {
        listing.get(place).is_some_and(|(path, file)| {
            let path = prepared.join(path);
            file.is_untouched(&path) && digest_of(&path).is_ok_and(|digest| digest == file.digest)
        })
    };
    let next = AtomicUsize::new(0);
    let whole: Vec<AtomicBool> = (0..listing.len()).map(|_| AtomicBool::new(false)).collect();
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(whole) = whole.get(place) else { break };
            whole.store(holds(place), Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.clamp(1, listing.len().max(1)) {
            scope.spawn(work);
        }
        work();
    });
    let whole: Vec<bool> = whole.into_iter().map(AtomicBool::into_inner).collect();
    listing.only(&whole)
}

fn digest_of(path: &Path) -> std::io::Result<Digest> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path)?)?;
    Ok(Digest::from_bytes(*hasher.finalize().as_bytes()))
}
