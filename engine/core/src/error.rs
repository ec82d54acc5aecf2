//! Errors of steps.
//!
//! A step calls a file of the bundle that cannot be read a failure of the input. If the cause behind it is a full disk, a lost
//! object or a cancellation, it is something else: [`StepError::failure`] is the one place that looks for such causes.

use std::error::Error;
use std::io;

use prep_cache::{Digest, StoreError};
use prep_failure::{BoxError, Failure, causes, is_system_fault};

#[derive(Debug, thiserror::Error)]
pub enum StepError {
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error(
        "the stored value {digest} cannot be read: {cause}; `prep cache verify --repair` removes it"
    )]
    Value {
        digest: Digest,
        #[source]
        cause: serde_json::Error,
    },
    #[error("stopped")]
    Cancelled,
    #[error("{cause}")]
    Failed {
        /// What it is about, unless a cause says otherwise.
        failure: Failure,
        #[source]
        cause: BoxError,
    },
}

impl StepError {
    /// An error about `failure`, unless its cause has a meaning of its own (see [`StepError::failure`]).
    pub fn new(failure: Failure, cause: impl Into<BoxError>) -> StepError {
        match cause.into().downcast::<StepError>() {
            Ok(own) => *own,
            Err(cause) => StepError::Failed { failure, cause },
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

    /// What it is about: the meaning of its outermost cause that has one, otherwise what the step said.
    pub fn failure(&self) -> Failure {
        match self {
            StepError::Store(_) | StepError::Value { .. } => Failure::Machine,
            StepError::Cancelled => Failure::Cancelled,
            StepError::Failed { failure, cause } => meaning(cause.as_ref()).unwrap_or(*failure),
        }
    }

    /// The stored object whose damage or absence is behind the error, if one is.
    pub fn lost_object(&self) -> Option<Digest> {
        causes(self).find_map(|cause| match cause.downcast_ref() {
            Some(StoreError::Missing { digest } | StoreError::Damaged { digest, .. }) => {
                Some(*digest)
            }
            _ => None,
        })
    }
}

/// The meaning of the outermost cause that has one.
fn meaning(error: &(dyn Error + 'static)) -> Option<Failure> {
    causes(error).find_map(|cause| {
        if let Some(error) = cause.downcast_ref::<StepError>() {
            return Some(error.failure());
        }
        if cause.is::<StoreError>() {
            return Some(Failure::Machine);
        }
        is_system_fault(cause.downcast_ref()?).then_some(Failure::Machine)
    })
}

/// For [`io::Read`] and [`io::Write`]: [`causes`] finds the error again.
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

    /// A bad block.
    const EIO: i32 = 5;

    /// Something of another crate that wraps an I/O error.
    #[derive(Debug, thiserror::Error)]
    enum Codec {
        #[error("member `a` is not readable")]
        Member(#[source] io::Error),
        #[error("odd bytes")]
        Odd,
    }

    /// Tells what was done to which file in place of the system's error, as libraries do.
    #[derive(Debug, thiserror::Error)]
    #[error("at path x")]
    struct WithPath;

    impl WithPath {
        fn of(number: i32) -> io::Error {
            io::Error::new(io::Error::from_raw_os_error(number).kind(), WithPath)
        }
    }

    fn lost() -> StoreError {
        StoreError::Missing {
            digest: Digest::of(b"x"),
        }
    }

    fn full() -> io::Error {
        io::Error::from_raw_os_error(28)
    }

    #[test]
    fn a_meaning_is_found_behind_every_wrapper() {
        use Failure::{Cancelled, Input, Internal, Machine};
        let inside = |error: StepError| StepError::input(Codec::Member(error.into()));
        for (error, expected) in [
            (StepError::input(Codec::Odd), Input),
            (StepError::internal(Codec::Odd), Internal),
            (inside(StepError::Cancelled), Cancelled),
            (inside(inside(StepError::Cancelled)), Cancelled),
            (inside(StepError::machine(Codec::Odd)), Machine),
            (inside(lost().into()), Machine),
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
            // tempfile hides the error of the system, but for its kind.
            (StepError::pipeline(WithPath::of(EIO)), Machine),
            (StepError::pipeline(WithPath::of(24)), Machine),
            (StepError::pipeline(WithPath::of(28)), Machine),
            (StepError::input(WithPath::of(2)), Input),
            // One that is boxed once more is itself.
            (StepError::input(StepError::internal(Codec::Odd)), Internal),
        ] {
            assert_eq!(error.failure(), expected, "{error:?}");
        }
    }

    #[test]
    fn a_lost_object_is_found_behind_every_wrapper() {
        let digest = Some(Digest::of(b"x"));
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
    fn a_chain_tells_every_cause_once() {
        let error = StepError::input(Codec::Member(io::Error::other(lost())));
        let text = chain(&error);
        assert!(
            text.starts_with("member `a` is not readable: object "),
            "{text}"
        );
        assert_eq!(text.matches("is not in the store").count(), 1, "{text}");
    }
}
