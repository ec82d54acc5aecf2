//! Errors of requests. An error has a kind of failure, a cause, and a suggested action.

use std::io::ErrorKind;
use std::path::Path;
use std::{fmt, io};

use prep_cache::StoreError;
use prep_contents::ContentsError;
use prep_core::{Failure, GraphError, NodeError, Remedy, ResolveError, StepError, chain};
use prep_fetch::FetchError;
use prep_remote::{KeyError, RemoteError};
use prep_spec::Diagnostics;

/// An error of a request.
#[derive(Debug, Clone)]
pub struct Error {
    pub failure: Failure,
    /// The cause. Shown as the first line.
    pub message: String,
    /// The suggested action. The command line turns it into text.
    pub help: Option<Remedy>,
    /// Findings in a pipeline. They are more detailed than the message.
    pub diagnostics: Option<Diagnostics>,
}

impl Error {
    pub fn new(failure: Failure, message: impl Into<String>) -> Error {
        Error {
            failure,
            message: for_people(&message.into()),
            help: None,
            diagnostics: None,
        }
    }

    pub fn request(message: impl Into<String>) -> Error {
        Error::new(Failure::Usage, message)
    }

    #[must_use]
    pub fn help(self, help: impl Into<Remedy>) -> Error {
        Error {
            help: Some(help.into()),
            ..self
        }
    }

    /// Adds "did you mean" if a similar name was found.
    #[must_use]
    pub fn suggest(self, name: Option<&str>) -> Error {
        match name {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// Creates the error for a file that cannot be read. `what` is the action in the message, such as `read the bundle`.
    ///
    /// A missing file, a directory, and text that is not UTF-8 are input errors. All other errors are system errors.
    pub fn reading(what: &str, path: &Path, error: &io::Error) -> Error {
        let failure = match error.kind() {
            ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::InvalidData => {
                Failure::Input
            }
            _ => Failure::Machine,
        };
        let cause = match error.kind() {
            ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
            _ => chain(error),
        };
        let message = format!("cannot {what} {}: {cause}", path.display());
        let found = Error::new(failure, message);
        match error.kind() {
            ErrorKind::PermissionDenied => found.denied(path),
            _ => found,
        }
    }

    /// Adds the owner and mode of the file or directory that prevents the current user from reading `path`.
    #[must_use]
    pub(crate) fn denied(self, path: &Path) -> Error {
        let closed = path.parent().and_then(prep_cache::closed_directory);
        let place = closed.unwrap_or(path);
        let described = prep_cache::ownership(place);
        let described = described.unwrap_or_else(|| place.display().to_string());
        let help = prep_cache::group_remedy(place).unwrap_or_else(|| {
            format!(
                "change the owner or mode of {}, or ask its owner",
                place.display()
            )
        });
        let message = format!("{}; {described}", self.message);
        Error { message, ..self }.help(help)
    }

    /// Same as [`Error::reading`] for a pipeline, but text that is not UTF-8 is a mistake in the pipeline.
    pub fn reading_pipeline(path: &Path, error: &io::Error) -> Error {
        let found = Error::reading("read the pipeline", path, error);
        match error.kind() {
            ErrorKind::InvalidData => Error {
                failure: Failure::Pipeline,
                ..found.help("save the file as UTF-8")
            },
            _ => found,
        }
    }

    /// Creates the error for a path that cannot be written. It is always a system error.
    pub fn writing(what: &str, path: &Path, error: &io::Error) -> Error {
        let message = format!("cannot {what} {}: {}", path.display(), chain(error));
        let new = Error::new(Failure::Machine, message);
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied => {
                new.help("check that the directory exists and that you may write to it")
            }
            _ => new,
        }
    }
}

pub(crate) fn failure_of(cause: &ContentsError) -> Failure {
    match cause {
        ContentsError::System { .. } => Failure::Machine,
        // More memory or disk would help, unless the limit is a constant.
        ContentsError::Limit(exceeded) if exceeded.limit.resource().is_some() => Failure::Machine,
        _ => Failure::Input,
    }
}

/// Removes the error numbers that the standard library appends to system errors, for example ` (os error 2)`.
pub fn for_people(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, after)) = rest.split_once(" (os error ") {
        text.push_str(before);
        rest = match after.split_once(')') {
            Some((code, after_code)) if code.bytes().all(|byte| byte.is_ascii_digit()) => {
                after_code
            }
            _ => {
                text.push_str(" (os error ");
                after
            }
        };
    }
    text.push_str(rest);
    text
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.diagnostics {
            Some(diagnostics) => write!(f, "{diagnostics}"),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Error {}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        StepError::from(error).into()
    }
}

impl From<StepError> for Error {
    fn from(error: StepError) -> Error {
        Error {
            help: error.remedy(),
            ..Error::new(error.failure(), chain(&error))
        }
    }
}

impl From<GraphError> for Error {
    fn from(error: GraphError) -> Error {
        Error::new(Failure::Pipeline, error.to_string())
    }
}

impl From<ResolveError> for Error {
    fn from(error: ResolveError) -> Error {
        Error {
            help: prep_core::remedy(&error).cloned(),
            ..Error::new(error.failure(), chain(&error))
        }
    }
}

impl From<NodeError> for Error {
    fn from(error: NodeError) -> Error {
        Error {
            help: prep_core::remedy(&error).cloned(),
            ..Error::new(error.failure(), chain(&error))
        }
    }
}

impl From<RemoteError> for Error {
    fn from(error: RemoteError) -> Error {
        let failure = match &error {
            RemoteError::Stopped => return StepError::Cancelled.into(),
            RemoteError::Address { .. } | RemoteError::NoKey { .. } => Failure::Usage,
            RemoteError::Unreachable { cause, .. } => cause.failure(),
            RemoteError::Overloaded { .. } => Failure::Away,
            _ => Failure::Machine,
        };
        Error {
            help: error.remedy(),
            ..Error::new(failure, error.to_string())
        }
    }
}

/// A wrong key or name is an invalid request; a key file that cannot be used is a system error.
impl From<KeyError> for Error {
    fn from(error: KeyError) -> Error {
        let new = match error {
            KeyError::Public(_)
            | KeyError::Name(_)
            | KeyError::Exists { .. }
            | KeyError::Missing { .. }
            | KeyError::Ambiguous { .. } => Error::request(chain(&error)),
            _ => Error::new(Failure::Machine, chain(&error)),
        };
        Error {
            help: error.remedy(),
            ..new
        }
    }
}

impl From<FetchError> for Error {
    fn from(error: FetchError) -> Error {
        Error {
            help: error.remedy(),
            ..Error::new(error.failure(), chain(&error))
        }
    }
}

impl From<Diagnostics> for Error {
    fn from(diagnostics: Diagnostics) -> Error {
        let source = diagnostics.source();
        let message = match diagnostics.iter().next() {
            Some(only) if diagnostics.count() == 1 => {
                let (line, _) = source.position(only.span.start);
                format!("{}:{line}: {}", source.name, only.message)
            }
            _ => format!("{} has {} mistakes", source.name, diagnostics.count()),
        };
        Error {
            diagnostics: Some(diagnostics.clone()),
            ..Error::new(Failure::Pipeline, message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_omit_the_numbers_of_system_errors() {
        let cause = io::Error::from_raw_os_error(2);
        assert!(cause.to_string().contains("(os error 2)"), "{cause}");
        let error = Error::reading("read", Path::new("a.txt"), &cause);
        assert_eq!(
            error.message,
            "cannot read a.txt: No such file or directory"
        );
        for (message, expected) in [
            ("a (os error 2): b (os error 13)", "a: b"),
            ("a (os error two)", "a (os error two)"),
            ("a (os error 2", "a (os error 2"),
            ("", ""),
        ] {
            assert_eq!(for_people(message), expected);
        }
    }

    /// A missing file is an input error when reading, but a missing directory is a system error when writing.
    #[test]
    fn write_errors_are_system_errors() {
        let gone = io::Error::from_raw_os_error(2);
        let path = Path::new("a");
        assert_eq!(Error::reading("read", path, &gone).failure, Failure::Input);
        assert_eq!(
            Error::writing("write", path, &gone).failure,
            Failure::Machine
        );
    }

    #[test]
    fn an_error_keeps_its_remedy() {
        let error = || FetchError::RulesNotAccepted { id: "x".into() };
        for error in [Error::from(error()), StepError::from(error()).into()] {
            assert_eq!(error.failure, Failure::Input);
            assert_eq!(error.message, "the rules of x are not accepted");
            let Some(Remedy::Words(help)) = error.help else {
                panic!("{error:?}");
            };
            assert!(help.contains("/competitions/x/rules") && help.contains("phone"));
        }
    }
}
