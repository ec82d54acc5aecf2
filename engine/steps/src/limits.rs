//! What foreign bytes may demand of a step.

use prep_core::{BoxError, Context, StepError};
use prep_formats::limits::{LimitExceeded, Limits};

/// The limits that follow from the memory of the run. A full disk is an error of its own, so its space is not a limit here.
pub(crate) fn limits(context: &Context) -> Limits {
    Limits::from_budgets(context.limits.memory, u64::MAX)
}

/// The failure of a step that cannot decode foreign bytes: the input's fault, but the machine's where more memory would do.
pub(crate) fn undecodable(cause: impl Into<BoxError>) -> StepError {
    let cause = cause.into();
    let exceeded = LimitExceeded::behind(cause.as_ref());
    match exceeded.and_then(|exceeded| exceeded.limit.resource()) {
        Some(_) => StepError::machine(cause),
        None => StepError::input(cause),
    }
}
