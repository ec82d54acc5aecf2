//! The error that ends a verb: an exit code, a cause, and help.

use std::fmt;
use std::path::Path;

use prep_app::{Blame, Error};
use prep_core::chain;
use prep_experiments::ExperimentsError;
use prep_spec::Diagnostics;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::remedy;

/// The error that ends a verb.
#[derive(Debug, Clone)]
pub struct CliError {
    pub exit: Exit,
    /// The cause. Shown as the first line.
    pub message: String,
    /// The suggested action.
    pub help: Option<String>,
    /// Findings in a pipeline, which are shown with their source instead of the message.
    pub diagnostics: Option<Diagnostics>,
}

/// Limits of the process, as the system words them, each with an action.
const PROCESS_LIMITS: [(&str, &str); 2] = [
    (
        "File too large",
        "raise the limit of file sizes (`ulimit -f`), or use a file system with larger files",
    ),
    (
        "Too many open files",
        "raise the limit of open files (`ulimit -n`)",
    ),
];

/// Maximum length of a message, in bytes. Messages quote texts of files that this project did not write.
const MAX_MESSAGE_BYTES: usize = 16 << 10;

/// Shortens a long message, and adds the number of bytes that are left out.
pub fn shortened(mut message: String) -> String {
    if message.len() > MAX_MESSAGE_BYTES {
        let end = message.floor_char_boundary(MAX_MESSAGE_BYTES);
        let left_out = message.len() - end;
        message.truncate(end);
        message.push_str(&format!("... ({left_out} more bytes)"));
    }
    message
}

impl CliError {
    pub fn new(exit: Exit, message: impl Into<String>) -> CliError {
        CliError {
            exit,
            message: shortened(prep_app::for_people(&message.into())),
            help: None,
            diagnostics: None,
        }
    }

    /// Adds the competition to the message, unless the message names it already.
    #[must_use]
    pub fn for_competition(mut self, id: &str) -> CliError {
        if self.diagnostics.is_none() && !self.message.contains(id) {
            self.message = format!("{id}: {}", self.message);
        }
        self
    }

    /// Returns the error for JSON output.
    pub fn json(&self) -> Value {
        let first = self.diagnostics.as_ref().and_then(|found| {
            let diagnostic = found.iter().next()?;
            let (line, column) = found.source().position(diagnostic.span.start);
            let place = json!({ "file": found.source().name, "line": line, "column": column });
            Some((diagnostic, place))
        });
        let (message, help, place) = match first {
            Some((diagnostic, place)) => {
                (&diagnostic.message, diagnostic.help.as_ref(), Some(place))
            }
            None => (&self.message, None, None),
        };
        let help = help.map(String::as_str).or_else(|| self.action());
        json!({ "code": self.exit as u8, "message": message, "help": help, "place": place })
    }

    /// Returns the suggested action. If the system refused a request because of a limit, that is to raise the limit.
    pub fn action(&self) -> Option<&str> {
        let limit = || {
            let mut limits = PROCESS_LIMITS.iter();
            let (_, action) = limits.find(|(words, _)| self.message.contains(words))?;
            (self.exit == Exit::Machine).then_some(*action)
        };
        self.help.as_deref().or_else(limit)
    }

    pub fn usage(message: impl Into<String>) -> CliError {
        CliError::new(Exit::Usage, message)
    }

    /// Creates the error for operands in the order of upstream's command: the submission, then the competition.
    pub fn swapped(submission: &Path, id: &Path) -> CliError {
        let (submission, id) = (submission.display(), id.display());
        CliError::usage(format!("`{submission}` is not a competition"))
            .help(format!("the id comes first: {id} {submission}"))
    }

    /// Creates the error for a grading report or a list of runs that cannot be used.
    #[allow(clippy::needless_pass_by_value)] // the signature is that of a function for `map_err`
    pub fn of_experiments(error: ExperimentsError) -> CliError {
        CliError::new(Exit::Input, chain(&error))
    }

    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> CliError {
        self.help = Some(help.into());
        self
    }

    /// Adds "did you mean" if a similar name was found.
    #[must_use]
    pub fn suggest(self, name: Option<&str>) -> CliError {
        match name {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None => self,
        }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.diagnostics {
            Some(diagnostics) => write!(f, "{diagnostics}"),
            None => f.write_str(&self.message),
        }
    }
}

/// Assigns exit codes to errors of the libraries. This is the only place that does so.
impl<E: Into<Error>> From<E> for CliError {
    fn from(error: E) -> CliError {
        let Error {
            blame,
            message,
            help,
            diagnostics,
        } = error.into();
        CliError {
            exit: match blame {
                Blame::Request => Exit::Usage,
                Blame::Failure(failure) => Exit::from_failure(failure),
            },
            message,
            help: help.as_ref().and_then(remedy::words),
            diagnostics,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_the_process_have_an_action() {
        let error = |exit| CliError::new(exit, "cannot write a: File too large");
        let action = error(Exit::Machine).action().map(str::to_owned);
        assert!(action.is_some_and(|action| action.contains("ulimit -f")));
        assert_eq!(error(Exit::Input).action(), None);
        let other = error(Exit::Machine).help("b");
        assert_eq!(other.action(), Some("b"));
    }

    #[test]
    fn long_messages_are_shortened() {
        let error = CliError::usage("é".repeat(100_000));
        assert!(error.message.len() < MAX_MESSAGE_BYTES + 100);
        assert!(error.message.ends_with("... (183616 more bytes)"));
    }
}
