//! Listing what a bucket holds.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::layout::Bucket;
use crate::{Digest, StoreError};

/// The files of a bucket with two levels.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Digests that the file names spell, sorted.
    pub(crate) digests: Vec<Digest>,
    /// What no version of the store has put there.
    pub(crate) foreign: Vec<PathBuf>,
}

/// Lists the bucket of the store `root`. What vanishes meanwhile is left out.
pub(crate) fn list(root: &Path, bucket: Bucket) -> Result<Listing, StoreError> {
    let mut listing = Listing::default();
    for (first, dir) in entries(&bucket.dir(root))? {
        if first.len() != 2 || !dir.is_dir() {
            listing.foreign.push(dir);
            continue;
        }
        for (rest, path) in entries(&dir)? {
            match format!("{first}{rest}").parse() {
                Ok(digest) => listing.digests.push(digest),
                Err(_) => listing.foreign.push(path),
            }
        }
    }
    listing.digests.sort_unstable();
    listing.foreign.sort_unstable();
    Ok(listing)
}

/// Names and paths of what is in `dir`; nothing if `dir` does not exist.
/// A name that is not UTF-8 is not one of ours; its lossy form never parses.
pub(crate) fn entries(dir: &Path) -> Result<Vec<(String, PathBuf)>, StoreError> {
    let error = |source| StoreError::io("list", dir, source);
    let read = match fs::read_dir(dir) {
        Ok(read) => read,
        Err(source) if source.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(error(source)),
    };
    read.map(|entry| {
        let entry = entry?;
        Ok((
            entry.file_name().to_string_lossy().into_owned(),
            entry.path(),
        ))
    })
    .collect::<io::Result<_>>()
    .map_err(error)
}
