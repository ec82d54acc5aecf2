//! Limits for decoding untrusted bytes, and errors for files that cannot be decoded.

use prep_core::{BoxError, Context, StepError};
use prep_formats::limits::{DecodingLimits, LimitExceeded};
use thiserror::Error;

/// Derives the limits from the run's memory. Disk space is not limited, because a full disk is an error anyway.
pub(crate) fn limits(context: &Context) -> DecodingLimits {
    DecodingLimits::from_budgets(context.limits.memory, u64::MAX)
}

/// Converts a decoding error: an error of the system if more memory would help, otherwise of the input.
pub(crate) fn undecodable(cause: impl Into<BoxError>) -> StepError {
    let cause = cause.into();
    let exceeded = LimitExceeded::find_in(cause.as_ref());
    match exceeded.and_then(|exceeded| exceeded.limit.resource()) {
        Some(_) => StepError::machine(cause),
        None => StepError::input(cause),
    }
}

#[derive(Debug, Error)]
#[error("`{path}`")]
pub(crate) struct FileError {
    path: String,
    #[source]
    cause: BoxError,
}

impl FileError {
    pub(crate) fn new(path: &str, cause: impl Into<BoxError>) -> FileError {
        FileError {
            path: path.to_owned(),
            cause: cause.into(),
        }
    }
}

/// Same as [`undecodable`], but names the file.
pub(crate) fn undecodable_file(path: &str, cause: impl Into<BoxError>) -> StepError {
    undecodable(FileError::new(path, cause))
}
