//! Classifies errors by meaning, iterates over the causes of an error, and formats values in messages.
//!
//! All crates classify errors with the enum [`Failure`]. Therefore no crate has to convert one enum to another. Wrapping an
//! error keeps its class: [`causes`] also visits the error inside an [`io::Error`], which [`Error::source`] skips.
//!
//! ```
//! use std::io;
//! let full = io::Error::from(io::ErrorKind::StorageFull);
//! let wrapped = io::Error::other(full);
//! assert!(prep_failure::causes(&wrapped).all(|cause| cause.is::<io::Error>()));
//! assert_eq!(prep_failure::chain(&wrapped), "no storage space");
//! ```
//!
//! # Quotes
//!
//! Names and values in messages come from files that this project did not write. Control characters, and characters that
//! change the direction of text, are escaped (`\n`, `\u{1b}`). Therefore a name cannot add lines to a message or hide a
//! part of itself. Long names and values are shortened.

#![warn(missing_docs)]

pub mod units;

use std::error::Error;
use std::fmt::Write;
use std::io::ErrorKind;
use std::{fmt, io};

/// An error of any type that can move to another thread.
pub type BoxError = Box<dyn Error + Send + Sync + 'static>;

/// The kind of a failure, from which the command line derives its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The request, a setting or an environment variable is wrong.
    Usage,
    /// The bundle or a file in it is missing, damaged, or not what the pipeline declares.
    Input,
    /// A check failed, or a published checksum does not match.
    Check,
    /// The pipeline requests something impossible.
    Pipeline,
    /// A problem of the system: disk full, permission denied, out of memory.
    Machine,
    /// A server is unreachable, overloaded, or requests a pause. A later attempt may succeed.
    Away,
    /// The user stopped the program.
    Cancelled,
    /// A defect in this program.
    Internal,
}

impl Failure {
    /// Returns the name of the kind in diagnostics and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Failure::Usage => "usage",
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

/// Iterates over an error and its causes, outermost first, including the errors inside [`io::Error`]s.
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
/// Some errors repeat the message of their cause. Therefore a message is skipped if the message before it ends with the
/// same text.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut messages: Vec<String> = causes(error).map(ToString::to_string).collect();
    messages.dedup_by(|cause, before| before.ends_with(&**cause));
    messages.join(": ")
}

/// Returns whether an I/O error comes from the operating system, and not from a decoder that reports damaged data.
///
/// Libraries that add a path to the message drop the error number. Therefore this function also checks the kind of the
/// error.
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

/// Returns whether the system is at fault, for example because the disk is full or has bad blocks, or because permission
/// is denied.
///
/// A missing or truncated file and a closed connection are not faults of the system.
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
    // Bad blocks and too many open files have the same `ErrorKind`, which stable Rust cannot name. Only the system reports
    // this kind.
    has_kind || error.kind() == io::Error::from_raw_os_error(EIO).kind()
}

/// The error number of an I/O error of a device, for example a bad block.
const EIO: i32 = 5;

/// A name in backticks, for example the path of a member of an archive or the name of a column.
///
/// ```
/// use prep_failure::Quoted;
/// assert_eq!(Quoted("train/a b.csv").to_string(), "`train/a b.csv`");
/// assert_eq!(Quoted("a\nerror: b").to_string(), r"`a\nerror: b`");
/// assert_eq!(Quoted("\u{202e}gpj.exe").to_string(), r"`\u{202e}gpj.exe`");
/// assert!(Quoted(&"a".repeat(1 << 20)).to_string().ends_with("a...`"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quoted<'a>(pub &'a str);

/// A value in double quotes, for example a cell of a table.
///
/// ```
/// use prep_failure::QuotedValue;
/// assert_eq!(QuotedValue("it's 1.50").to_string(), r#""it's 1.50""#);
/// assert_eq!(QuotedValue("a\tb").to_string(), r#""a\tb""#);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotedValue<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quoted(f, '`', self.0)
    }
}

impl fmt::Display for QuotedValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quoted(f, '"', self.0)
    }
}

/// Maximum number of characters of a quoted name or value. The rest is replaced by `...`.
const MAX_CHARACTERS: usize = 1_000;

fn write_quoted(f: &mut fmt::Formatter<'_>, quote: char, text: &str) -> fmt::Result {
    f.write_char(quote)?;
    for (number, c) in text.chars().enumerate() {
        if number == MAX_CHARACTERS {
            f.write_str("...")?;
            break;
        }
        match c {
            '\n' | '\r' | '\t' => write!(f, "{}", c.escape_default())?,
            // These characters change the direction of the text that follows.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                write!(f, "{}", c.escape_unicode())?
            }
            c if c.is_control() => write!(f, "{}", c.escape_unicode())?,
            c => f.write_char(c)?,
        }
    }
    f.write_char(quote)
}

/// An action with which the user can resolve an error.
///
/// A library attaches a remedy to an error with [`WithRemedy`], and [`remedy`] finds the remedy in a chain of causes. The
/// program that the user started converts the remedy to text, because only the program knows its options.
///
/// ```
/// use prep_failure::{Remedy, WithRemedy, remedy};
/// let error = std::io::Error::other(WithRemedy::new("no bundle", Remedy::NameSource));
/// assert_eq!(remedy(&error), Some(&Remedy::NameSource));
/// assert_eq!(prep_failure::chain(&error), "no bundle");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// An action that every program describes with the same words.
    Words(String),
    /// Name the directory that contains the bundle or the file.
    NameSource,
    /// Use cached results, although the bundle from which they were computed is missing.
    UseCachedResults,
    /// Prepare without the options of the last run.
    ForgetOptions,
    /// Allow downloads.
    AllowDownloads,
    /// Accept a bundle whose checksum differs from the published one, but still compare the outputs.
    AcceptBundle,
    /// Accept bundles and outputs without comparing them with published checksums.
    AcceptOutputs,
    /// Find out why outputs do not have their published checksums.
    ExplainDifference {
        /// The competition.
        id: String,
    },
    /// Give running steps more memory.
    RaiseMemory,
    /// Publish archives without unpacking them.
    KeepArchives,
    /// Remove damaged objects from the cache.
    RepairCache,
    /// List the members of a competition's bundle.
    ListMembers {
        /// The competition.
        id: String,
    },
    /// Prepare the competitions whose bundles exist.
    PrepareAvailable,
    /// Name a different data directory.
    NameDataDir,
    /// Delete each bundle once its competition is prepared.
    DiscardBundles,
    /// Prepare a competition, or prepare it again.
    Prepare {
        /// The competition.
        id: String,
    },
    /// Prepare a competition again, with the options of the last run. The record of these options is lost.
    PrepareAgain {
        /// The competition.
        id: String,
    },
    /// Show the list of competitions.
    ListCompetitions,
    /// Select a set of competitions instead of a competition with the set's name.
    NameSet {
        /// The name of the set.
        name: String,
    },
    /// Install the pack that contains a competition. A pack is a directory of competitions that are not built in.
    AddPack,
    /// Install a pack in place of the installed pack of this name.
    ReplacePack,
    /// Name the directory that contains the directories of pipelines.
    NamePipelines {
        /// The directory that contains the directories of pipelines, if it is known.
        parent: Option<String>,
    },
    /// Prepare a competition, which also sends its bundle and its results to the remote.
    PrepareAndSend {
        /// The competition.
        id: String,
    },
    /// Name the remote.
    NameRemote,
    /// Create a key that signs results.
    CreateKey {
        /// The name of the key, if it is known.
        name: Option<String>,
    },
    /// Create a key that signs results, or select one of several keys.
    ChooseKey,
    /// Replace damaged results in the remote by the intact results of another machine.
    RepairRemote,
    /// Send a bundle, whose results are in the remote, to the remote's mirror.
    SendBundle,
    /// Name the file with a secret key that opens sealed answers.
    NameIdentity,
    /// Prepare a competition whose answers are sealed (encrypted), so that its answers are also written unencrypted.
    Unseal {
        /// The competition.
        id: String,
    },
    /// Show the public keys of this machine.
    ListKeys,
    /// Add a key to the trusted keys.
    TrustKey {
        /// The key to add. `None` if a key is already trusted, but not for this purpose.
        key: Option<String>,
    },
    /// Name a further address of the same remote.
    NameSameRemote,
    /// Send results to the remote after the run.
    SendLater,
    /// Send results to the remote again, from a machine that has them.
    SendAgain,
    /// Grade with a file of answers that is not verified.
    NameAnswers {
        /// The file.
        path: String,
    },
    /// Prepare without comparing with the lock file.
    Unlock,
    /// Move files that `prep` did not publish out of the prepared directory, or let `prep` remove them when it publishes.
    MoveOrRemoveUnpublished,
    /// Use directories on one file system for the cache and the data.
    UseOneFileSystem,
    /// Several remedies, each of which is sufficient.
    AnyOf(Vec<Remedy>),
    /// Several remedies that are needed together, in this order.
    InOrder(Vec<Remedy>),
}

impl Remedy {
    /// Returns a remedy that offers `self` and `other` as alternatives.
    #[must_use]
    pub fn or(self, other: Remedy) -> Remedy {
        match self {
            Remedy::AnyOf(mut all) => {
                all.push(other);
                Remedy::AnyOf(all)
            }
            one => Remedy::AnyOf(vec![one, other]),
        }
    }
}

impl From<&str> for Remedy {
    fn from(words: &str) -> Remedy {
        Remedy::Words(words.to_owned())
    }
}

impl From<String> for Remedy {
    fn from(words: String) -> Remedy {
        Remedy::Words(words)
    }
}

/// An error with its remedy. Its message is the message of the error.
#[derive(Debug)]
pub struct WithRemedy {
    error: BoxError,
    remedy: Remedy,
}

impl WithRemedy {
    /// Attaches `remedy` to `error`.
    pub fn new(error: impl Into<BoxError>, remedy: Remedy) -> WithRemedy {
        WithRemedy {
            error: error.into(),
            remedy,
        }
    }

    /// Attaches `remedy` to `error`, if there is one.
    pub fn attach(error: impl Into<BoxError>, remedy: Option<Remedy>) -> BoxError {
        match remedy {
            Some(remedy) => Box::new(WithRemedy::new(error, remedy)),
            None => error.into(),
        }
    }
}

impl fmt::Display for WithRemedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for WithRemedy {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.error)
    }
}

/// Returns the remedy of the outermost cause that has one.
pub fn remedy<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Remedy> {
    causes(error).find_map(|cause| Some(&cause.downcast_ref::<WithRemedy>()?.remedy))
}

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
            (2, false),   // ENOENT: no such file
            (5, true),    // EIO: input/output error
            (13, true),   // EACCES: permission denied
            (24, true),   // EMFILE: too many open files
            (28, true),   // ENOSPC: no space left
            (104, false), // ECONNRESET: connection reset
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
