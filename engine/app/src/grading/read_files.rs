//! Remembers the metadata of files that are read, to detect later whether they changed.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use prep_cache::Stamp;

/// Paths of files, each with its metadata when it was read.
#[derive(Debug, Default)]
pub(super) struct ReadFiles {
    files: Vec<(PathBuf, Option<Stamp>)>,
    /// Whether a file was so recent that a later change may not change its metadata.
    is_unsettled: bool,
}

impl ReadFiles {
    /// Records the metadata of a file, if it exists. Call it before reading the file.
    pub(super) fn record(&mut self, path: &Path) {
        let (now, stamp) = (SystemTime::now(), stamp_of(path));
        let settled = stamp.is_none_or(|stamp| stamp.time_until_settled(now).is_zero());
        self.is_unsettled |= !settled;
        self.files.push((path.to_owned(), stamp));
    }

    /// Returns whether all files are certainly unchanged.
    pub(super) fn are_unchanged(&self) -> bool {
        let mut files = self.files.iter();
        !self.is_unsettled && files.all(|(path, stamp)| stamp_of(path) == *stamp)
    }
}

/// Returns the metadata of a file, or `None` if it does not exist.
fn stamp_of(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    Some(Stamp::of_outside(&metadata))
}
