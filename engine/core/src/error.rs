//! Errors by meaning.

use prep_cache::{Digest, StoreError};
use thiserror::Error;

/// An error of a step's own making, with its message for people and its chain of causes.
pub type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// What a failure is about; decides the exit code, so callers need not parse prose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The bundle or a file in it is missing, damaged, or not what the pipeline declares.
    Input,
    /// A check or a published checksum does not hold.
    Check,
    /// The pipeline asks for something that cannot be done.
    Pipeline,
    /// The machine: disk full, no permission, out of memory.
    Machine,
    /// Stopped by the user.
    Cancelled,
    /// A defect of this program.
    Internal,
}

#[derive(Debug, Error)]
pub enum StepError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "the stored value {digest} cannot be read: {cause}; `prep cache verify --repair` removes it"
    )]
    Value {
        digest: Digest,
        cause: serde_json::Error,
    },
    #[error("stopped")]
    Cancelled,
    #[error("{cause}")]
    Failed { failure: Failure, cause: BoxError },
}

impl StepError {
    pub fn new(failure: Failure, cause: impl Into<BoxError>) -> StepError {
        StepError::Failed {
            failure,
            cause: cause.into(),
        }
    }

    pub fn input(cause: impl Into<BoxError>) -> StepError {
        StepError::new(Failure::Input, cause)
    }

    pub fn pipeline(cause: impl Into<BoxError>) -> StepError {
        StepError::new(Failure::Pipeline, cause)
    }

    pub fn machine(cause: impl Into<BoxError>) -> StepError {
        StepError::new(Failure::Machine, cause)
    }

    pub fn internal(cause: impl Into<BoxError>) -> StepError {
        StepError::new(Failure::Internal, cause)
    }

    pub fn failure(&self) -> Failure {
        match self {
            StepError::Store(_) | StepError::Value { .. } => Failure::Machine,
            StepError::Cancelled => Failure::Cancelled,
            StepError::Failed { failure, .. } => *failure,
        }
    }

    /// The stored object whose damage or absence is behind the error, if one is.
    pub fn lost_object(&self) -> Option<Digest> {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = match self {
            StepError::Store(error) => Some(error),
            StepError::Failed { cause, .. } => Some(cause.as_ref()),
            StepError::Value { .. } | StepError::Cancelled => None,
        };
        while let Some(error) = cause {
            if let Some(StoreError::Missing { digest } | StoreError::Damaged { digest, .. }) =
                error.downcast_ref()
            {
                return Some(*digest);
            }
            if let Some(inner) = error.downcast_ref::<StepError>() {
                return inner.lost_object();
            }
            cause = error.source();
        }
        None
    }
}
