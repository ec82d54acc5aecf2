//! A cheap answer to "is this still the file I read?".

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};

/// Length, modification time and inode of a file. When all three agree with
/// an earlier look, the bytes are taken to be the same. The change time is
/// left out on purpose: a new hard link sets it, and changes no byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) len: u64,
    /// Nanoseconds since 1970, negative before.
    pub(crate) modified: i64,
    pub(crate) inode: u64,
}

impl Stamp {
    /// That of a file that is nowhere.
    pub(crate) fn of_nothing(len: u64) -> Self {
        Self {
            len,
            modified: 0,
            inode: 0,
        }
    }

    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            len: metadata.len(),
            modified: metadata
                .mtime()
                .saturating_mul(1_000_000_000)
                .saturating_add(metadata.mtime_nsec()),
            inode: metadata.ino(),
        }
    }
}
