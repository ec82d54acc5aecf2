//! Limits for decoding untrusted bytes.

use prep_core::{BoxError, Context, StepError};
use prep_formats::limits::{DecodingLimits, LimitExceeded};

/// Limits that follow from the memory of the run. Disk space is unlimited here, because a full disk is an error of its
/// own.
pub(crate) fn limits(context: &Context) -> DecodingLimits {
    DecodingLimits::from_budgets(context.limits.memory, u64::MAX)
}

/// The error of a step that cannot decode untrusted bytes. It is an error of the system if more memory would help, and
/// one of the input otherwise.
pub(crate) fn undecodable(cause: impl Into<BoxError>) -> StepError {
    let cause = cause.into();
    let exceeded = LimitExceeded::find_in(cause.as_ref());
    match exceeded.and_then(|exceeded| exceeded.limit.resource()) {
        Some(_) => StepError::machine(cause),
        None => StepError::input(cause),
    }
}
