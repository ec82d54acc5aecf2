//! What can go wrong in the store, by meaning.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::{Digest, free_space};

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system is full, or the user's quota is used up.
    #[error(
        "no space left to {action} {path}: {needed} bytes needed, {} free; \
         free some disk, or shrink the store with a garbage collection",
        .free.map_or_else(|| "unknown".to_owned(), |free| free.to_string())
    )]
    NoSpace {
        /// What was being done.
        action: &'static str,
        /// The file that could not be written.
        path: PathBuf,
        /// Bytes that were still to be written, as far as the store knew.
        needed: u64,
        /// Bytes free on that file system, if it can tell.
        free: Option<u64>,
    },

    /// The user may not do this to this file.
    #[error("no permission to {action} {path}; change its owner or mode, or choose another folder")]
    Permission {
        /// What was being done.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },

    /// The file system is mounted read-only.
    #[error(
        "cannot {action} {path}: the file system is read-only; remount it or choose another folder"
    )]
    ReadOnlyFileSystem {
        /// What was being done.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
    },

    /// A handle of [`Store::open_existing`](crate::Store::open_existing) was asked to write.
    #[error("the store {root} was opened for reading only")]
    ReadOnlyHandle {
        /// The store's folder.
        root: PathBuf,
    },

    /// The store has no such object. Run the step that makes it.
    #[error("object {digest} is not in the store; the step that makes it must run again")]
    Missing {
        /// The object.
        digest: Digest,
    },

    /// The object's bytes are not the ones its name promises. It is not in
    /// the store any more; the step that makes it can put it back.
    #[error(
        "object {digest} is damaged: its {len} bytes hash to {found}{}; \
         the step that makes it must run again",
        .quarantined.as_ref().map_or_else(String::new, |path| format!(", moved to {}", path.display()))
    )]
    Damaged {
        /// The object.
        digest: Digest,
        /// What its bytes hash to.
        found: Digest,
        /// Its length on disk.
        len: u64,
        /// Where the damaged file is kept for a post-mortem. `None` if the
        /// store is open for reading only, or another process moved it first.
        quarantined: Option<PathBuf>,
    },

    /// A file outside the store changed while it was read.
    #[error("{path} changed while it was read; wait until its writer is done, then run again")]
    Changed {
        /// The file.
        path: PathBuf,
    },

    /// Garbage collection needs the store for itself.
    #[error("the store {root} is in use by a run; collect its garbage when the run is done")]
    InUse {
        /// The store's folder.
        root: PathBuf,
    },

    /// Another process treated this one as dead and took its lock.
    #[error(
        "lost the lock {path}: another process took it over, because it saw no sign of life from this one for half a \
         minute; run again"
    )]
    LockLost {
        /// The lock's file.
        path: PathBuf,
    },

    /// Any other failure of the operating system.
    #[error("cannot {action} {path}: {cause}")]
    Io {
        /// What was being done.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's answer.
        #[source]
        cause: io::Error,
    },
}

impl StoreError {
    /// Sorts an I/O error by what it means. `needed` is how many bytes were to be written.
    pub(crate) fn writing(
        action: &'static str,
        path: &Path,
        needed: u64,
        source: io::Error,
    ) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                let free = free_space(&path);
                Self::NoSpace {
                    action,
                    path,
                    needed,
                    free,
                }
            }
            ErrorKind::PermissionDenied => Self::Permission {
                action,
                path,
                source,
            },
            ErrorKind::ReadOnlyFilesystem => Self::ReadOnlyFileSystem { action, path },
            _ => Self::Io {
                action,
                path,
                cause: source,
            },
        }
    }

    /// [`writing`](Self::writing) where no amount of bytes is involved.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::writing(action, path, 0, source)
    }

    /// The same error for callers behind [`std::io::Write`].
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
