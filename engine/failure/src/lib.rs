//! Kinds of failures, and the chain of causes of an error.
//!
//! Every crate that classifies errors uses [`Failure`], so that a meaning is never translated from one enum to another. An
//! error that knows its meaning keeps it, however it is wrapped: [`causes`] visits each error behind another one, including
//! those inside of an [`io::Error`], which [`Error::source`] leaves out.
//!
//! ```
//! use std::io;
//! let full = io::Error::from(io::ErrorKind::StorageFull);
//! let wrapped = io::Error::other(full);
//! assert!(prep_failure::causes(&wrapped).all(|cause| cause.is::<io::Error>()));
//! assert_eq!(prep_failure::chain(&wrapped), "no storage space");
//! ```

use std::error::Error;
use std::io::{self, ErrorKind};

/// An error of any type that can move to another thread.
pub type BoxError = Box<dyn Error + Send + Sync + 'static>;

/// The kind of a failure. It decides the exit code, so that callers need not parse messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The bundle or a file in it is missing, damaged, or not what the pipeline declares.
    Input,
    /// A check or a published checksum does not hold.
    Check,
    /// The pipeline requests something that is impossible.
    Pipeline,
    /// The system: disk full, no permission, out of memory.
    Machine,
    /// A server cannot be reached, is overloaded, or asks to wait. A later attempt may succeed.
    Away,
    /// Stopped by the user.
    Cancelled,
    /// A defect of this program.
    Internal,
}

impl Failure {
    /// Its name in codes of diagnostics and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Failure::Input => "input",
            Failure::Check => "check",
            Failure::Pipeline => "pipeline",
            Failure::Machine => "machine",
            Failure::Away => "away",
            Failure::Cancelled => "cancelled",
            Failure::Internal => "internal",
        }
    }
}

/// An error and the errors behind it, outermost first.
///
/// This is the chain of [`Error::source`], with the errors inside of [`io::Error`]s.
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

/// An error with its causes on one line. A cause that an outer message already contains is left out.
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

/// Whether the operating system made the error, not a decoder that has only I/O errors to report damage with. The error
/// number may be lost by now: libraries replace it by a message with a path.
pub fn is_from_system(error: &io::Error) -> bool {
    let is_from_decoder = matches!(
        error.kind(),
        ErrorKind::InvalidData
            | ErrorKind::InvalidInput
            | ErrorKind::UnexpectedEof
            | ErrorKind::Unsupported
            | ErrorKind::WriteZero
            | ErrorKind::Other
    );
    error.raw_os_error().is_some() || !is_from_decoder
}

/// Whether the system is at fault, whatever was read or written. A file that is missing or too short is not its fault, and
/// neither is a server that closes a connection.
pub fn is_system_fault(error: &io::Error) -> bool {
    let has_kind = matches!(
        error.kind(),
        ErrorKind::StorageFull
            | ErrorKind::QuotaExceeded
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::PermissionDenied
            | ErrorKind::OutOfMemory
            | ErrorKind::StaleNetworkFileHandle
            | ErrorKind::FileTooLarge
    );
    // Bad blocks, too many open files, and other errors that have no kind of their own. Only the system makes them.
    has_kind || error.kind() == io::Error::from_raw_os_error(EIO).kind()
}

/// A bad block.
const EIO: i32 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_contains_each_message_once() {
        let inner = io::Error::new(ErrorKind::StorageFull, "disk full");
        let outer = io::Error::other(io::Error::other(inner));
        assert_eq!(causes(&outer).count(), 4);
        assert_eq!(chain(&outer), "disk full");
    }

    #[test]
    fn a_missing_file_comes_from_the_system_but_is_not_its_fault() {
        for (number, at_fault) in [
            (2, false),
            (5, true),
            (13, true),
            (24, true),
            (28, true),
            (104, false),
        ] {
            let error = io::Error::from_raw_os_error(number);
            assert!(is_from_system(&error), "{error}");
            assert_eq!(is_system_fault(&error), at_fault, "{error}");
        }
        for kind in [
            ErrorKind::InvalidData,
            ErrorKind::UnexpectedEof,
            ErrorKind::Other,
        ] {
            let error = io::Error::from(kind);
            assert!(
                !is_from_system(&error) && !is_system_fault(&error),
                "{error}"
            );
        }
    }
}
