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
    NoFolder { path: PathBuf },
}

impl AuditError {
    /// Converts a failure to read this file.
    pub fn reading<E: Into<ContentsError>>(path: &Path) -> impl FnOnce(E) -> AuditError + '_ {
        move |error| match error.into() {
            // The error names the file.
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

    /// Whether the system failed, so that nothing is known about the data.
    pub fn is_of_the_system(&self) -> bool {
        matches!(self, AuditError::Read { cause, .. } if cause.is_of_the_system())
    }
}

/// Returns the value, or `None` if the content is damaged or exceeds a limit.
///
/// # Errors
/// Failures of the system.
pub(crate) fn unless_damaged<T>(
    read: Result<T, ContentsError>,
) -> Result<Option<T>, ContentsError> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_of_the_system() => Err(error),
        Err(_) => Ok(None),
    }
}
