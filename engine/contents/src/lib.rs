//! Reads prepared data in any format: files, members of archives, rows of tables.
//!
//! ```text
//! read       reads, compares and hashes files in chunks
//! listing    lists the files of a directory
//! entries    visits each file of a directory, and the members of its archives
//! members    compares the members of two archives
//! pixels     decodes images
//! parallel   calls a function for many items on several threads
//! table/     reads a file as rows of cells: CSV, lines, JSON, BSON, Parquet, arrays
//! pairing/   pairs the rows of two tables
//! ```
//!
//! Content is untrusted. Numbers in it are compared with [`DecodingLimits`] before memory is allocated, a loop begins or a
//! nested archive is opened. Unreadable content is an error.
//!
//! Memory is bounded. Files are read in chunks. Members that are read repeatedly are copied to a temporary file. A
//! comparison of tables keeps one hash per differing row.

pub mod entries;
pub mod listing;
pub mod members;
pub mod pairing;
pub mod parallel;
pub mod pixels;
pub mod read;
pub mod table;

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use prep_failure::{causes, chain, is_from_system};
pub use prep_formats::archive::ArchiveFormat;
pub use prep_formats::limits::DecodingLimits;
use prep_formats::limits::{ArchiveBudget, Limit, LimitExceeded};
pub use table::{Format, Row, Rows, TableReader};

/// A comparison reads an archive twice: first to hash its members, later to compare the members that differ.
const COMPARISON_PASSES: u64 = 2;

/// Limits for reading untrusted content.
#[derive(Debug, Clone, Copy)]
pub struct Resources<'a> {
    pub limits: DecodingLimits,
    /// Directory for copies of members that cannot be read in place.
    pub temp: &'a Path,
}

impl Resources<'_> {
    /// Creates the budget for comparing two files, which may be archives.
    pub fn comparison_budget(&self, theirs: &Path, ours: &Path) -> Result<ArchiveBudget> {
        let length = |path: &Path| {
            let metadata = path.metadata().map_err(ContentsError::system_error(path))?;
            Ok::<u64, ContentsError>(metadata.len())
        };
        let both = length(theirs)?.saturating_add(length(ours)?);
        Ok(self.limits.budget(both.saturating_mul(COMPARISON_PASSES)))
    }
}

/// Limits and state for reading a file and the archives nested in it.
///
/// All nested archives share one budget. Otherwise, a small nested archive could contain any number of members.
#[derive(Debug, Clone, Copy)]
pub struct ReadContext<'a> {
    pub resources: &'a Resources<'a>,
    /// The members and bytes that all archives together may still produce.
    pub budget: &'a ArchiveBudget,
    /// Number of archives that contain the file.
    depth: u64,
}

impl<'a> ReadContext<'a> {
    pub fn new(resources: &'a Resources<'a>, budget: &'a ArchiveBudget) -> Self {
        ReadContext {
            resources,
            budget,
            depth: 0,
        }
    }

    /// Returns the context for reading the members of an archive. Fails with [`ContentsError::Limit`] if archives are
    /// nested too deeply.
    pub fn inside(&self) -> Result<Self> {
        let depth = self.depth + 1;
        let checked = self.resources.limits.check(Limit::Nesting, depth);
        checked.map_err(ContentsError::Limit)?;
        Ok(ReadContext { depth, ..*self })
    }
}

/// An error from reading content. Only [`Damaged`](Self::Damaged) means that the content is wrong.
#[derive(Debug, thiserror::Error)]
pub enum ContentsError {
    /// The bytes do not have the expected format.
    #[error("{0}")]
    Damaged(String),
    /// Decoding the bytes would exceed a limit.
    #[error("{0}")]
    Limit(#[source] LimitExceeded),
    /// A directory entry that is never read, for example a symbolic link.
    #[error("{} {reason}", path.display())]
    Refused { path: PathBuf, reason: &'static str },
    /// An I/O operation failed, for example because the disk is full.
    #[error("{}", access(path.as_deref(), source))]
    System {
        path: Option<PathBuf>,
        source: io::Error,
    },
}

pub type Result<T, E = ContentsError> = std::result::Result<T, E>;

fn access(path: Option<&Path>, source: &io::Error) -> String {
    path.map_or_else(
        || source.to_string(),
        |path| format!("cannot access {}", path.display()),
    )
}

impl ContentsError {
    /// Classifies an error of a decoder. If the cause is neither a limit nor an I/O operation, the content is damaged.
    pub fn classify(error: impl Error + 'static) -> Self {
        if let Some(exceeded) = LimitExceeded::find_in(&error) {
            return ContentsError::Limit(*exceeded);
        }
        for cause in causes(&error) {
            if let Some(own) = cause.downcast_ref::<ContentsError>() {
                return own.copy();
            }
            if let Some(cause) = cause.downcast_ref::<io::Error>()
                && is_from_system(cause)
            {
                let source = copy(cause);
                return ContentsError::System { path: None, source };
            }
        }
        ContentsError::Damaged(chain(&error))
    }

    /// Returns a function that adds this path to a system error.
    pub fn system_error(path: &Path) -> impl Fn(io::Error) -> ContentsError + '_ {
        move |error| match ContentsError::from(error) {
            ContentsError::System { path: None, source } => ContentsError::System {
                path: Some(path.to_owned()),
                source,
            },
            other => other,
        }
    }

    /// Returns the verb for a message about the file: `read` or `write to`. If a disk is full or read-only, the failed
    /// operation was a write, because content is unpacked into temporary files.
    pub fn action(&self) -> &'static str {
        use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        match self {
            ContentsError::System { source, .. }
                if matches!(
                    source.kind(),
                    ReadOnlyFilesystem | StorageFull | QuotaExceeded
                ) =>
            {
                "write to"
            }
            _ => "read",
        }
    }

    /// Returns whether the cause is a failed I/O operation. The content is then unknown.
    pub fn is_of_the_system(&self) -> bool {
        matches!(self, ContentsError::System { .. })
    }

    /// Copies the error, because a decoder owns the original.
    fn copy(&self) -> Self {
        match self {
            ContentsError::Damaged(reason) => ContentsError::Damaged(reason.clone()),
            ContentsError::Limit(exceeded) => ContentsError::Limit(*exceeded),
            ContentsError::Refused { path, reason } => ContentsError::Refused {
                path: path.clone(),
                reason,
            },
            ContentsError::System { path, source } => ContentsError::System {
                path: path.clone(),
                source: copy(source),
            },
        }
    }
}

/// Decoders and [`Read`](io::Read) return I/O errors for all causes.
impl From<io::Error> for ContentsError {
    fn from(error: io::Error) -> Self {
        ContentsError::classify(error)
    }
}

fn copy(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(number) => io::Error::from_raw_os_error(number),
        None => io::Error::new(error.kind(), chain(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use prep_formats::limits::{DecodingLimits, Limit};
    use prep_formats::zip::ZipError;

    use super::*;

    #[test]
    fn system_failures_are_not_classified_as_damage() {
        for number in 1..133 {
            let raw = || io::Error::from_raw_os_error(number);
            let in_a_zip = ZipError::Io {
                offset: 7,
                source: raw(),
            };
            let wrapped = [
                raw(),
                io::Error::other(raw()),
                io::Error::from(in_a_zip),
                // Code that adds a path to an error drops the error's number.
                match raw().kind() {
                    ErrorKind::InvalidInput | ErrorKind::Unsupported => raw(),
                    kind => io::Error::new(kind, "with a path"),
                },
            ];
            for error in wrapped {
                let text = format!("{number}: {error:?}");
                assert!(ContentsError::from(error).is_of_the_system(), "{text}");
            }
        }
    }

    #[test]
    fn a_full_or_read_only_disk_means_a_failed_write() {
        for (kind, action) in [
            (ErrorKind::ReadOnlyFilesystem, "write to"),
            (ErrorKind::StorageFull, "write to"),
            (ErrorKind::PermissionDenied, "read"),
        ] {
            assert_eq!(ContentsError::from(io::Error::from(kind)).action(), action);
        }
    }

    #[test]
    fn damage_and_limits_are_classified() {
        for kind in [
            ErrorKind::InvalidData,
            ErrorKind::UnexpectedEof,
            ErrorKind::Other,
        ] {
            let error = ContentsError::from(io::Error::new(kind, "deflate"));
            assert!(matches!(&error, ContentsError::Damaged(reason) if reason == "deflate"));
        }
        let exceeded = DecodingLimits::default()
            .check(Limit::Nesting, 9)
            .unwrap_err();
        let inside = io::Error::other(io::Error::from(exceeded));
        let error = ContentsError::from(inside);
        assert!(matches!(error, ContentsError::Limit(found) if found == exceeded));
        let own = io::Error::other(error);
        assert!(matches!(ContentsError::from(own), ContentsError::Limit(_)));
    }
}
