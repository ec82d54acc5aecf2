//! Lists the files of a bucket.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::layout::Bucket;
use crate::{Digest, StoreError};

/// The files of a bucket with two directory levels.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Digests that form the file names, sorted.
    pub(crate) digests: Vec<Digest>,
    /// Files that no version of the store creates.
    pub(crate) foreign: Vec<PathBuf>,
}

/// Lists a bucket of the store `root`. Files that are removed during the listing are omitted.
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

/// Returns the names and paths of the entries of `dir`. Empty if `dir` does not exist. All names that the store creates
/// are UTF-8. For any other name, the lossy conversion is never a valid digest.
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
