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

impl CliError {
    pub fn new(exit: Exit, message: impl Into<String>) -> CliError {
        CliError {
            exit,
            message: prep_app::for_people(&message.into()),
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
            None => (&self.message, self.help.as_ref(), None),
        };
        json!({ "code": self.exit as u8, "message": message, "help": help, "place": place })
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
