//! Files as they were when they were read, to find out later whether they changed.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files with their metadata.
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
    /// The metadata of a file; `None` if there is none.
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
    /// Notes a file before it is read.
    pub(super) fn note(&mut self, path: &Path) {
        self.0.push((path.to_owned(), Stamp::from_path(path)));
    }

    pub(super) fn are_unchanged(&self) -> bool {
        self.0
            .iter()
            .all(|(path, stamp)| Stamp::from_path(path) == *stamp)
    }
}
