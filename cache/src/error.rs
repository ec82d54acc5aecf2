//! Errors of the cache, classified by what the caller can do about them.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::system::permissions::{obstacle_to_reading, obstacle_to_writing};
use crate::{Digest, free_space, group_remedy, lacks_inodes, ownership};

/// Actions that only read. For every other action, a permission error also explains how several users can share a
/// directory.
const READING: [&str; 7] = [
    "read",
    "open",
    "examine",
    "find",
    "list",
    "open the cache",
    "open the lock",
];

/// The action that opens an existing file for writing. All other writing actions create, rename or remove a file.
const OPENING: &str = "lock";

/// An error of the cache.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system is full, or the user's quota is used up.
    #[error(
        "no space left to {action} {path}: {}{} free on its disk",
        match needed {
            0 => String::new(),
            needed => format!("{} needed, ", size(*needed)),
        },
        match free {
            _ if *lacks_inodes => "0 inodes".to_owned(),
            Some(free) => size(*free),
            None => "an unknown number of bytes".to_owned(),
        }
    )]
    NoSpace {
        /// A verb phrase such as "write".
        action: &'static str,
        /// The file that could not be written.
        path: PathBuf,
        /// Number of bytes that still had to be written, or 0 if unknown.
        needed: u64,
        /// Free bytes on the file's file system, if the system reports them.
        free: Option<u64>,
        /// Whether the file system cannot hold another file, even if bytes are free.
        lacks_inodes: bool,
    },

    /// The user lacks a permission.
    #[error(
        "no permission to {action} {path}{}; {}{}",
        .obstacle.as_ref().map_or_else(String::new, |obstacle| format!(": {obstacle}")),
        .group.as_deref().unwrap_or("change its owner or mode, or choose another directory"),
        match group.is_some() || READING.contains(action) {
            true => "",
            false => ". If several users share the directory, each needs the setting `shared` or the umask 002, and the directory \
                      needs their group and its setgid bit",
        }
    )]
    Permission {
        /// The action that failed.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The owner and mode of the file or directory that prevents the action, if known.
        obstacle: Option<String>,
        /// How to get the permissions of a group that may do the action. `None` if no group may.
        group: Option<String>,
        /// The operating system's error.
        source: io::Error,
    },

    /// The file system is mounted read-only.
    #[error(
        "cannot {action} {path}: the file system is read-only; remount it or choose another directory"
    )]
    ReadOnlyFileSystem {
        /// The action that failed.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
    },

    /// A caller tried to write through a handle of [`Store::open_existing`](crate::Store::open_existing).
    #[error("the cache {root} was opened for reading only")]
    ReadOnlyHandle {
        /// The cache directory.
        root: PathBuf,
    },

    /// The object is not in the cache.
    #[error("object {digest} is not in the cache; the step that produces it must run again")]
    Missing {
        /// The object.
        digest: Digest,
    },

    /// The bytes in the object's file do not match the object's name.
    #[error(
        "object {digest} is damaged: its {len} bytes hash to {found}{}; \
         the step that produces it must run again",
        .quarantined.as_ref().map_or_else(String::new, |path| format!(", moved to {}", path.display()))
    )]
    Damaged {
        /// The digest in the object's name.
        digest: Digest,
        /// The digest of the bytes in its file.
        found: Digest,
        /// Length of the file in bytes.
        len: u64,
        /// New path of the damaged file, if the store moved it to quarantine. A read-only handle moves no file.
        quarantined: Option<PathBuf>,
    },

    /// A file outside the cache changed while it was read.
    #[error(
        "{path} changed while it was read; wait until the program that writes it has finished, then run again"
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },

    /// Garbage collection needs exclusive access to the cache, but a run uses it.
    #[error(
        "the cache {root} is in use by a run{}; run the command again after the run has finished",
        .holder.as_ref().map_or_else(String::new, |holder| format!(" ({holder})"))
    )]
    InUse {
        /// The cache directory.
        root: PathBuf,
        /// The process of the run and its user, if known.
        holder: Option<String>,
    },

    /// Another process saw no heartbeat of this process for half a minute, and took over its lock.
    #[error(
        "lost the lock {path}: no heartbeat was written for half a minute and another process took it over; \
         run again"
    )]
    LockLost {
        /// The lock file.
        path: PathBuf,
    },

    /// Any other error of the operating system.
    #[error("cannot {action} {path}")]
    Io {
        /// The action that failed.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        cause: io::Error,
    },
}

/// Formats a number of bytes with a decimal unit.
fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} kB", bytes / 1_000),
        10_000_000..10_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{} GB", bytes / 1_000_000_000),
    }
}

impl StoreError {
    /// Classifies an I/O error of an action that had to write `needed` bytes.
    pub(crate) fn writing(
        action: &'static str,
        path: &Path,
        needed: u64,
        source: io::Error,
    ) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                let (free, lacks_inodes) = (free_space(&path), lacks_inodes(&path));
                Self::NoSpace {
                    action,
                    path,
                    needed,
                    free,
                    lacks_inodes,
                }
            }
            ErrorKind::PermissionDenied => {
                let obstacle = match READING.contains(&action) {
                    true => obstacle_to_reading(&path),
                    false => obstacle_to_writing(&path, action == OPENING),
                };
                Self::Permission {
                    action,
                    obstacle: obstacle.and_then(ownership),
                    group: obstacle.and_then(group_remedy),
                    path,
                    source,
                }
            }
            ErrorKind::ReadOnlyFilesystem => Self::ReadOnlyFileSystem { action, path },
            _ => Self::Io {
                action,
                path,
                cause: source,
            },
        }
    }

    /// Same as [`writing`](Self::writing), for actions that write no bytes or an unknown number.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::writing(action, path, 0, source)
    }

    pub(crate) fn into_io(self) -> io::Error {
        let kind = match &self {
            Self::NoSpace { .. } => ErrorKind::StorageFull,
            Self::Permission { .. } => ErrorKind::PermissionDenied,
            Self::ReadOnlyFileSystem { .. } | Self::ReadOnlyHandle { .. } => {
                ErrorKind::ReadOnlyFilesystem
            }
            Self::Missing { .. } => ErrorKind::NotFound,
            Self::Damaged { .. } | Self::Changed { .. } => ErrorKind::InvalidData,
            Self::InUse { .. } | Self::LockLost { .. } => ErrorKind::WouldBlock,
            Self::Io { cause, .. } => cause.kind(),
        };
        io::Error::new(kind, self)
    }
}
