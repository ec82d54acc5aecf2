//! Stamps: a cheap way to check whether a file is unchanged.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};

/// Length, modification time, inode and, for files outside the store, change time of a file. If all of them equal those
/// of an earlier check, the bytes are assumed to be unchanged.
///
/// Every program can set the modification time, so a file that was rewritten in place may still have its old one.
/// Programs cannot set the change time. However, renaming a file, linking to it and changing its mode also update the
/// change time. The file is then read once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) len: u64,
    /// Nanoseconds since 1970, negative for earlier times.
    pub(crate) modified: i64,
    pub(crate) inode: u64,
    /// Change time in nanoseconds since 1970. `None` for files of the store, because publishing an object adds a link,
    /// which changes the time. Also `None` in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    changed: Option<i64>,
}

impl Stamp {
    /// Returns the stamp of a content that is not in a local file.
    pub(crate) fn without_file(len: u64) -> Self {
        Self {
            len,
            modified: 0,
            inode: 0,
            changed: None,
        }
    }

    /// Returns the stamp of a file in the store.
    pub(crate) fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            len: metadata.len(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            inode: metadata.ino(),
            changed: None,
        }
    }

    /// Returns the stamp of a file outside the store.
    pub(crate) fn of_outside(metadata: &Metadata) -> Self {
        Self {
            changed: Some(nanoseconds(metadata.ctime(), metadata.ctime_nsec())),
            ..Self::from_metadata(metadata)
        }
    }

    /// Returns whether a file that had this stamp and now has `now` is unchanged, as far as the recorded fields show.
    pub(crate) fn agrees_with(self, now: Stamp) -> bool {
        let now = match self.changed {
            Some(_) => now,
            None => Stamp {
                changed: None,
                ..now
            },
        };
        self == now
    }
}

fn nanoseconds(seconds: i64, nanoseconds: i64) -> i64 {
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_without_a_change_time_compare_the_other_fields() {
        let record = r#"{"len":1,"modified":2,"inode":3}"#;
        let record: Stamp = serde_json::from_str(record).unwrap();
        let now = Stamp {
            changed: Some(5),
            ..record
        };
        assert!(record.agrees_with(now));
        assert!(!record.agrees_with(Stamp { len: 2, ..now }));
        assert!(now.agrees_with(now));
        let later = Stamp {
            changed: Some(6),
            ..now
        };
        assert!(!now.agrees_with(later));
    }
}
