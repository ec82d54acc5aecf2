//! Errors of an audit.

use std::path::{Path, PathBuf};

use prep_contents::ContentsError;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum AuditError {
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: ContentsError,
    },
    #[error("{} is not a directory", path.display())]
    NotADirectory { path: PathBuf },
}

impl AuditError {
    /// Returns a function that converts an error that occurred while reading `path`.
    pub fn reading<E: Into<ContentsError>>(path: &Path) -> impl FnOnce(E) -> AuditError + '_ {
        move |error| match error.into() {
            // The error already names a file.
            ContentsError::System {
                path: Some(path),
                source,
            } => AuditError::Read {
                path,
                cause: ContentsError::System { path: None, source },
            },
            cause => AuditError::Read {
                path: path.to_owned(),
                cause,
            },
        }
    }

    /// Returns whether the cause is an I/O error of the system, for example a bad disk. Such an error does not show that the
    /// file is damaged.
    pub fn is_of_the_system(&self) -> bool {
        matches!(self, AuditError::Read { cause, .. } if cause.is_of_the_system())
    }
}

/// Returns the value of `read`, or `None` if the content that was read is damaged or exceeds a limit.
///
/// # Errors
/// Returns an error if an I/O operation failed.
pub(crate) fn unless_damaged<T>(
    read: Result<T, ContentsError>,
) -> Result<Option<T>, ContentsError> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_of_the_system() => Err(error),
        Err(_) => Ok(None),
    }
}
