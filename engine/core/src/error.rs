//! Errors by meaning.
//!
//! One rule: an error that says what it is about keeps saying so, however it is wrapped. A step that finds a file of the
//! bundle unreadable calls that an input's fault; but when the reason further down is a full disk, a lost object or a
//! cancellation, it is the machine's or the user's. [`Failure::of`] is the one place that looks for such reasons, through
//! [`causes`], which also sees what travels inside of an [`io::Error`].

use std::error::Error;
use std::io::{self, ErrorKind};

use prep_cache::{Digest, StoreError};

/// An error of a step's own making, with its message for people and its chain of causes.
pub type BoxError = Box<dyn Error + Send + Sync + 'static>;

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
    /// A server that cannot be reached, has too much to do, or asks to wait: later it may go right.
    Away,
    /// Stopped by the user.
    Cancelled,
    /// A defect of this program.
    Internal,
}

impl Failure {
    /// What an error is about by its own account: the outermost of its causes that says so. None when none does, so that
    /// it is for the caller to know.
    pub fn of(error: &(dyn Error + 'static)) -> Option<Failure> {
        causes(error).find_map(|cause| {
            if let Some(error) = cause.downcast_ref::<StepError>() {
                return Some(error.failure());
            }
            if cause.is::<StoreError>() {
                return Some(Failure::Machine);
            }
            let error = cause.downcast_ref::<io::Error>()?;
            is_of_the_machine(error).then_some(Failure::Machine)
        })
    }
}

/// Is this the machine's fault, whatever was read or written? A file that is missing or too short is not.
fn is_of_the_machine(error: &io::Error) -> bool {
    let kind = matches!(
        error.kind(),
        ErrorKind::StorageFull
            | ErrorKind::QuotaExceeded
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::PermissionDenied
            | ErrorKind::OutOfMemory
            | ErrorKind::StaleNetworkFileHandle
            | ErrorKind::FileTooLarge
    );
    // Bad blocks, too many open files, and whatever else the system says that has no kind of its own. Only the system can;
    // the number may be lost by now.
    kind || error.kind() == io::Error::from_raw_os_error(EIO).kind()
}

/// A bad block.
const EIO: i32 = 5;

/// An error and what is behind it, outermost first.
///
/// It is the chain of [`Error::source`], but for errors inside of an [`io::Error`]: `source` leaves those out.
pub fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error: &&'a (dyn Error + 'static)| {
        let inside = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        match inside {
            Some(inside) => Some(inside as &(dyn Error + 'static)),
            None => error.source(),
        }
    })
}

/// An error with its causes on one line, each that was not told yet.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    for cause in causes(error) {
        let message = cause.to_string();
        if text.contains(&message) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&message);
    }
    text
}

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
    /// An error about `failure`, unless its cause has a meaning of its own (see [`Failure::of`]).
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

    pub fn failure(&self) -> Failure {
        match self {
            StepError::Store(_) | StepError::Value { .. } => Failure::Machine,
            StepError::Cancelled => Failure::Cancelled,
            StepError::Failed { failure, cause } => Failure::of(cause.as_ref()).unwrap_or(*failure),
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

/// For [`io::Read`] and [`io::Write`]: [`causes`] finds the error again.
impl From<StepError> for io::Error {
    fn from(error: StepError) -> io::Error {
        io::Error::other(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
