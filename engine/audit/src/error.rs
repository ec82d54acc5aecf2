//! Errors of an audit.

use std::path::{Path, PathBuf};

use prep_contents::ContentsError;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum AuditError {
    #[error("cannot {} {}", cause.action(), path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: ContentsError,
    },
    #[error("{} is not a directory", path.display())]
    NotADirectory { path: PathBuf },
}

impl AuditError {
    /// Returns a function that converts an error of reading `path`.
    pub fn reading<E: Into<ContentsError>>(path: &Path) -> impl FnOnce(E) -> AuditError + '_ {
        move |error| match error.into() {
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

    /// Returns whether the cause is an I/O error, for example of a bad disk, and not a damaged file.
    pub fn is_of_the_system(&self) -> bool {
        matches!(self, AuditError::Read { cause, .. } if cause.is_of_the_system())
    }
}

/// Returns the value of `read`, or `None` if the content is damaged or exceeds a limit. Fails only for I/O errors.
pub(crate) fn unless_damaged<T>(
    read: Result<T, ContentsError>,
) -> Result<Option<T>, ContentsError> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_of_the_system() => Err(error),
        Err(_) => Ok(None),
    }
}
