//! Limits for decoding untrusted bytes.

use prep_core::{BoxError, Context, StepError};
use prep_formats::limits::{DecodingLimits, LimitExceeded};

/// Derives the limits from the run's memory budget. Disk space is not limited, because a full disk is reported as a
/// separate error.
pub(crate) fn limits(context: &Context) -> DecodingLimits {
    DecodingLimits::from_budgets(context.limits.memory, u64::MAX)
}

/// Converts a decoding error to the step's error. It is an error of the system if more memory would help, and an error
/// of the input otherwise.
pub(crate) fn undecodable(cause: impl Into<BoxError>) -> StepError {
    let cause = cause.into();
    let exceeded = LimitExceeded::find_in(cause.as_ref());
    match exceeded.and_then(|exceeded| exceeded.limit.resource()) {
        Some(_) => StepError::machine(cause),
        None => StepError::input(cause),
    }
}
