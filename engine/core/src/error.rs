//! Errors of steps.
//!
//! A step may report an unreadable file as a failure of the input. But the cause may be a full disk, a lost object or a
//! cancellation. Therefore [`StepError::failure`] examines the causes of an error.

use std::error::Error;
use std::io;

use prep_cache::{Digest, StoreError};
use prep_failure::{BoxError, Failure, Remedy, causes, is_system_fault, remedy};

/// An error of a step.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// An error of the cache.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// A stored value has an unexpected format.
    #[error("the stored value {digest} cannot be read")]
    Value {
        /// The digest of the value.
        digest: Digest,
        #[source]
        /// The error of the JSON parser.
        cause: serde_json::Error,
    },
    /// The run was cancelled.
    #[error("stopped")]
    Cancelled,
    /// Any other failure.
    #[error("{cause}")]
    Failed {
        /// The kind of failure, unless a cause determines a different kind.
        failure: Failure,
        #[source]
        /// The underlying error.
        cause: BoxError,
    },
}

impl StepError {
    /// Creates an error. If `cause` is a `StepError`, returns `cause` unchanged.
    pub fn new(failure: Failure, cause: impl Into<BoxError>) -> StepError {
        match cause.into().downcast::<StepError>() {
            Ok(step_error) => *step_error,
            Err(cause) => StepError::Failed { failure, cause },
        }
    }

    /// Returns an error about the competition's data.
    pub fn input(cause: impl Into<BoxError>) -> StepError {
        StepError::new(Failure::Input, cause)
    }

    /// Returns an error about the pipeline.
    pub fn pipeline(cause: impl Into<BoxError>) -> StepError {
        StepError::new(Failure::Pipeline, cause)
    }

    /// Returns an error about the system: disk, permissions, network.
    pub fn machine(cause: impl Into<BoxError>) -> StepError {
        StepError::new(Failure::Machine, cause)
    }

    /// Returns an error that is a defect of the program.
    pub fn internal(cause: impl Into<BoxError>) -> StepError {
        StepError::new(Failure::Internal, cause)
    }

    /// Returns the kind of the outermost cause that determines a kind of failure. If no cause does, returns the kind that the
    /// step reported.
    pub fn failure(&self) -> Failure {
        match self {
            StepError::Store(error) => failure_of_store(error),
            StepError::Value { .. } => Failure::Machine,
            StepError::Cancelled => Failure::Cancelled,
            StepError::Failed { failure, cause } => {
                determined_failure(cause.as_ref()).unwrap_or(*failure)
            }
        }
    }

    /// Returns an action with which the user can resolve the error, if the error or one of its causes names one.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            StepError::Value { .. } => Some(Remedy::RepairCache),
            _ => remedy(self).cloned(),
        }
    }

    /// Returns the object whose damage or absence in the cache caused the error.
    pub fn lost_object(&self) -> Option<Digest> {
        causes(self).find_map(|cause| match cause.downcast_ref() {
            Some(StoreError::Missing { digest } | StoreError::Damaged { digest, .. }) => {
                Some(*digest)
            }
            _ => None,
        })
    }
}

/// Returns the kind of an error of the cache. If a caller's callback stopped an operation of the cache, this is the kind of
/// the callback's error.
fn failure_of_store(error: &StoreError) -> Failure {
    let of_callback = causes(error).find_map(|cause| cause.downcast_ref::<StepError>());
    of_callback.map_or(Failure::Machine, StepError::failure)
}

fn determined_failure(error: &(dyn Error + 'static)) -> Option<Failure> {
    causes(error).find_map(|cause| {
        if let Some(error) = cause.downcast_ref::<StepError>() {
            return Some(error.failure());
        }
        if let Some(error) = cause.downcast_ref() {
            return Some(failure_of_store(error));
        }
        is_system_fault(cause.downcast_ref()?).then_some(Failure::Machine)
    })
}

/// Lets implementations of [`io::Read`] and [`io::Write`] return the error. [`causes`] finds the wrapped error again.
impl From<StepError> for io::Error {
    fn from(error: StepError) -> io::Error {
        io::Error::other(error)
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use prep_failure::chain;

    use super::*;

    const ENOENT: i32 = 2;
    const EIO: i32 = 5;
    const EMFILE: i32 = 24;
    const ENOSPC: i32 = 28;

    #[derive(Debug, thiserror::Error)]
    enum Codec {
        #[error("member `a` is not readable")]
        Member(#[source] io::Error),
        #[error("odd bytes")]
        Odd,
    }

    /// Replaces the system's error with a path, as some libraries do.
    #[derive(Debug, thiserror::Error)]
    #[error("at path x")]
    struct WithPath;

    impl WithPath {
        fn os_error(number: i32) -> io::Error {
            io::Error::new(io::Error::from_raw_os_error(number).kind(), WithPath)
        }
    }

    fn lost() -> StoreError {
        StoreError::Missing {
            digest: Digest::of_bytes(b"x"),
        }
    }

    fn stopped() -> StoreError {
        StoreError::Io {
            action: "read",
            path: "a".into(),
            cause: StepError::Cancelled.into(),
        }
    }

    fn full() -> io::Error {
        io::Error::from_raw_os_error(ENOSPC)
    }

    #[test]
    fn failure_is_found_in_every_wrapper() {
        use Failure::{Cancelled, Input, Internal, Machine};
        let inside = |error: StepError| StepError::input(Codec::Member(error.into()));
        for (error, expected) in [
            (StepError::input(Codec::Odd), Input),
            (StepError::internal(Codec::Odd), Internal),
            (inside(StepError::Cancelled), Cancelled),
            (inside(inside(StepError::Cancelled)), Cancelled),
            (inside(StepError::machine(Codec::Odd)), Machine),
            (inside(lost().into()), Machine),
            (stopped().into(), Cancelled),
            (StepError::input(Codec::Member(full())), Machine),
            (
                StepError::input(io::Error::other(Codec::Member(full()))),
                Machine,
            ),
            (
                StepError::input(io::Error::other(io::Error::other(lost()))),
                Machine,
            ),
            (
                StepError::input(Codec::Member(ErrorKind::NotFound.into())),
                Input,
            ),
            (
                StepError::input(Codec::Member(ErrorKind::UnexpectedEof.into())),
                Input,
            ),
            // `tempfile` hides the system's error, but not its kind.
            (StepError::pipeline(WithPath::os_error(EIO)), Machine),
            (StepError::pipeline(WithPath::os_error(EMFILE)), Machine),
            (StepError::pipeline(WithPath::os_error(ENOSPC)), Machine),
            (StepError::input(WithPath::os_error(ENOENT)), Input),
            (StepError::input(StepError::internal(Codec::Odd)), Internal),
        ] {
            assert_eq!(error.failure(), expected, "{error:?}");
        }
    }

    #[test]
    fn lost_object_is_found_in_every_wrapper() {
        let digest = Some(Digest::of_bytes(b"x"));
        for (error, expected) in [
            (StepError::from(lost()), digest),
            (
                StepError::input(Codec::Member(io::Error::other(lost()))),
                digest,
            ),
            (
                StepError::input(Codec::Member(StepError::from(lost()).into())),
                digest,
            ),
            (StepError::input(Codec::Odd), None),
            (StepError::Cancelled, None),
        ] {
            assert_eq!(error.lost_object(), expected, "{error:?}");
        }
    }

    #[test]
    fn chain_lists_every_cause_once() {
        let error = StepError::input(Codec::Member(io::Error::other(lost())));
        let text = chain(&error);
        assert!(
            text.starts_with("member `a` is not readable: object "),
            "{text}"
        );
        assert_eq!(text.matches("is not in the cache").count(), 1, "{text}");
    }
}
