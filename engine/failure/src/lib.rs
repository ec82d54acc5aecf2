//! Classifies errors by meaning, iterates over the causes of an error, and formats values in messages.
//!
//! All crates classify errors with the same enum, [`Failure`], so that no crate converts between enums. Wrapping an
//! error does not change its classification: [`causes`] visits every cause of an error, including the error inside an
//! [`io::Error`], which [`Error::source`] skips.
//!
//! ```
//! use std::io;
//! let full = io::Error::from(io::ErrorKind::StorageFull);
//! let wrapped = io::Error::other(full);
//! assert!(prep_failure::causes(&wrapped).all(|cause| cause.is::<io::Error>()));
//! assert_eq!(prep_failure::chain(&wrapped), "no storage space");
//! ```

#![warn(missing_docs)]

mod quoted;
mod remedy;
pub mod units;

use std::error::Error;
use std::io::{self, ErrorKind};

pub use quoted::{Quoted, QuotedValue};
pub use remedy::{Remedy, WithRemedy, remedy};

/// An error of any type that can move to another thread.
pub type BoxError = Box<dyn Error + Send + Sync + 'static>;

/// The kind of a failure. The command line derives its exit code from the kind, so that callers need not parse
/// messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The bundle or a file in it is missing, damaged, or not what the pipeline declares.
    Input,
    /// A check failed, or a published checksum does not match.
    Check,
    /// The pipeline requests something impossible.
    Pipeline,
    /// The system failed: disk full, permission denied, out of memory.
    Machine,
    /// A server is unreachable, overloaded, or asks the client to wait. A later attempt may succeed.
    Away,
    /// The user stopped the program.
    Cancelled,
    /// A defect in this program.
    Internal,
}

impl Failure {
    /// The name in the codes of diagnostics and in JSON.
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

/// Iterates over an error and its causes, outermost first. Follows [`Error::source`], and also visits the errors inside
/// [`io::Error`]s.
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

/// Returns the messages of an error and its causes on one line, separated by `: `.
///
/// Errors of this workspace do not contain the messages of their causes. Some libraries append them, and an error
/// without a message of its own, such as an [`io::Error`] around another one, has its cause's message. A message that
/// the previous one ends with is therefore skipped.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut messages: Vec<String> = causes(error).map(ToString::to_string).collect();
    messages.dedup_by(|cause, before| before.ends_with(&**cause));
    messages.join(": ")
}

/// Whether an I/O error comes from the operating system, and not from a decoder that reports damaged data.
///
/// The kind decides, because libraries that add a path to the message drop the error number.
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

/// Whether the system is at fault, for example because the disk is full, permission is denied, or a block is bad.
///
/// `false` for a missing or short file and for a connection that the server closed.
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
    // Bad blocks, too many open files and other errors without a stable kind. Only the system reports these.
    has_kind || error.kind() == io::Error::from_raw_os_error(EIO).kind()
}

/// The error number for an I/O error of a device, for example because of a bad block.
const EIO: i32 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chain_contains_each_message_once() {
        let inner = io::Error::new(ErrorKind::StorageFull, "disk full");
        let outer = io::Error::other(io::Error::other(inner));
        assert_eq!(causes(&outer).count(), 4);
        assert_eq!(chain(&outer), "disk full");
    }

    #[test]
    fn missing_file_is_not_a_system_fault() {
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
