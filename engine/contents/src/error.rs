//! Errors from reading content, classified by cause: the content, a limit, or the system.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use prep_failure::{causes, chain, is_from_system};
use prep_formats::limits::LimitExceeded;

/// An error from reading content. Only [`Damaged`](Self::Damaged) means that the content is wrong.
#[derive(Debug, thiserror::Error)]
pub enum ContentsError {
    /// The bytes can be read, but do not have the expected format.
    #[error("{0}")]
    Damaged(String),
    /// Decoding the bytes would exceed a limit.
    #[error("{0}")]
    Limit(#[source] LimitExceeded),
    /// A directory entry that is not read, for example a symbolic link.
    #[error("{} {reason}", path.display())]
    Refused { path: PathBuf, reason: &'static str },
    /// The system failed: disk full, too many open files, bad block, permission denied, no such file, and so on.
    #[error("{}", access(path.as_deref(), source))]
    System {
        path: Option<PathBuf>,
        source: io::Error,
    },
}

/// Results of reading content.
pub type Result<T, E = ContentsError> = std::result::Result<T, E>;

/// Without a path, the message is that of the system.
fn access(path: Option<&Path>, source: &io::Error) -> String {
    path.map_or_else(
        || source.to_string(),
        |path| format!("cannot access {}", path.display()),
    )
}

impl ContentsError {
    /// Classifies a decoder's error by its cause: a limit, a failure of the system, or otherwise damage.
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

    /// Returns a function that creates a system error with this path.
    pub fn system_error(path: &Path) -> impl Fn(io::Error) -> ContentsError + '_ {
        move |error| match ContentsError::from(error) {
            ContentsError::System { path: None, source } => ContentsError::System {
                path: Some(path.to_owned()),
                source,
            },
            other => other,
        }
    }

    /// Whether the system failed, so that nothing is known about the content.
    pub fn is_of_the_system(&self) -> bool {
        matches!(self, ContentsError::System { .. })
    }

    /// Returns a copy of the error, because a decoder owns the original.
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

/// Decoders and [`Read`](io::Read) return I/O errors for all causes, so the error must be classified.
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

    /// Tests every error number of the system with every wrapper that decoders use.
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
                // Adding a path to an error drops its number.
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
