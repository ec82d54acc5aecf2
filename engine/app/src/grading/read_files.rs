//! Remembers the metadata of files that are read, to detect later whether they changed.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Paths of files, each with its metadata when it was read.
#[derive(Debug, Default)]
pub(super) struct ReadFiles(Vec<(PathBuf, Option<Stamp>)>);

#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    seconds: i64,
    nanoseconds: i64,
    inode: u64,
}

impl Stamp {
    /// Reads the metadata of a file. Returns `None` if the file does not exist.
    fn from_path(path: &Path) -> Option<Stamp> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Stamp {
            bytes: metadata.len(),
            seconds: metadata.mtime(),
            nanoseconds: metadata.mtime_nsec(),
            inode: metadata.ino(),
        })
    }
}

impl ReadFiles {
    /// Records the metadata of a file. Call it before reading the file.
    pub(super) fn record(&mut self, path: &Path) {
        self.0.push((path.to_owned(), Stamp::from_path(path)));
    }

    pub(super) fn are_unchanged(&self) -> bool {
        self.0
            .iter()
            .all(|(path, stamp)| Stamp::from_path(path) == *stamp)
    }
}
