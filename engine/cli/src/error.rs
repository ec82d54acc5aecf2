//! The error of a failed verb, such as `prep run`: an exit code, a cause, and help.
//! Scripts rely on the exit codes, so the exit codes must not change.

use std::fmt;
use std::path::Path;

use prep_app::Error;
use prep_core::{Failure, chain};
use prep_experiments::ExperimentsError;
use prep_spec::{Diagnostics, shortened};
use serde::Serialize;
use serde_json::{Value, json};

use crate::remedy;

/// The error of a failed verb.
#[derive(Debug, Clone)]
pub struct CliError {
    pub exit: Exit,
    /// The cause. Shown as the first line.
    pub message: String,
    /// The suggested action.
    pub help: Option<String>,
    /// Findings in a pipeline, which are shown with their source text instead of the message.
    pub diagnostics: Option<Diagnostics>,
}

/// The suggested action if a process needs more open files. The action names the hard limit, because `prep` already raises
/// the soft limit to the hard limit.
macro_rules! raise_open_files {
    () => {
        "raise the hard limit of open files: `ulimit -n` as root, `LimitNOFILE` of systemd, or `--ulimit nofile` of Docker"
    };
}
pub(crate) use raise_open_files;

/// Messages of the operating system about limits and file systems, each with the action to suggest.
const SYSTEM_MESSAGES: [(&str, &str); 10] = [
    (
        "Is a directory",
        "name a file, for example in this directory",
    ),
    (
        "Not a directory",
        "name another path, because a part of this path is a file",
    ),
    ("File exists", "move the file away, or name another path"),
    (
        "File too large",
        "raise the limit of file sizes (`ulimit -f`), or use a file system that allows larger files",
    ),
    ("Too many open files", raise_open_files!()),
    (
        "Read-only file system",
        "mount the file system writable, or use a directory on another one",
    ),
    (
        "inodes free on its disk",
        "delete files on that disk, or use a directory on another disk; `prep cache gc --max-size SIZE` deletes files of the cache",
    ),
    (
        "free on its disk",
        "free some space on that disk, or use a directory on another disk; `prep cache gc --max-size SIZE` shrinks the cache",
    ),
    (
        "No space left on device",
        "free some disk space, or use a directory on another disk",
    ),
    (
        "Disk quota exceeded",
        "remove some of your files, or use a directory on another disk",
    ),
];

/// Returns the action to suggest if `message` contains one of `SYSTEM_MESSAGES`.
pub fn system_action(message: &str) -> Option<&'static str> {
    let mut messages = SYSTEM_MESSAGES.iter();
    let (_, action) = messages.find(|(words, _)| message.contains(words))?;
    Some(action)
}

/// Maximum number of characters of a message. Messages quote strings from files of other authors, which may be long.
pub const MAX_MESSAGE: usize = 16_000;

impl CliError {
    pub fn new(exit: Exit, message: impl Into<String>) -> CliError {
        CliError {
            exit,
            message: shortened(&prep_app::for_people(&message.into()), MAX_MESSAGE),
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
        let mut mistakes = self.diagnostics.iter().flat_map(|found| {
            found.iter().map(|diagnostic| {
                let (line, column) = found.source().position(diagnostic.span.start);
                let place = json!({ "file": found.source().name, "line": line, "column": column });
                json!({ "kind": self.exit, "message": diagnostic.message, "help": diagnostic.help, "place": place })
            })
        });
        let first = mistakes.next();
        let first = first.unwrap_or_else(|| json!({ "message": self.message }));
        let help = first["help"].as_str().or_else(|| self.action());
        let mut error = json!({
            "kind": self.exit,
            "code": self.exit as u8,
            "message": first["message"],
            "help": help,
            "place": first["place"],
        });
        let further: Vec<Value> = mistakes.collect();
        if !further.is_empty() {
            error["further"] = further.into();
        }
        error
    }

    /// Returns `help`. If the error has no `help`, returns the suggested action for a message of the operating system.
    pub fn action(&self) -> Option<&str> {
        let of_system = || match self.exit {
            Exit::Machine => system_action(&self.message),
            _ => None,
        };
        self.help.as_deref().or_else(of_system)
    }

    pub fn usage(message: impl Into<String>) -> CliError {
        CliError::new(Exit::Usage, message)
    }

    /// Creates the error for a submission without an id of a competition.
    pub fn no_competition(verb: &str, submission: &Path) -> CliError {
        let path = submission.display();
        CliError::usage(format!(
            "no competition is named for the submission `{path}`"
        ))
        .help(format!("write its id first: `prep {verb} ID {path}`"))
    }

    /// Creates the error for a user who named the submission before the competition. The command of MLE-bench expects that
    /// order.
    pub fn swapped(verb: &str, submission: &Path, id: &Path) -> CliError {
        let (submission, id) = (submission.display(), id.display());
        CliError::usage(format!("`{submission}` is not a competition"))
            .help(format!("write `prep {verb} {id} {submission}`"))
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
            failure,
            message,
            help,
            diagnostics,
        } = error.into();
        CliError {
            exit: Exit::from_failure(failure),
            message,
            help: help.as_ref().and_then(remedy::words),
            diagnostics,
        }
    }
}

/// How the program ends. In JSON output, the kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// The command did its work.
    Success = 0,
    /// The command succeeded and the answer is no: for example, a submission is invalid, or two variants differ.
    No = 1,
    /// The command line, `prep.toml` or an environment variable is wrong.
    Usage = 2,
    /// A pipeline has mistakes.
    Pipeline = 3,
    /// A bundle or another input is missing, damaged, or does not match its declaration.
    Input = 4,
    /// A check fails, or a published checksum differs.
    Check = 5,
    /// A system error: disk full, permission denied, or a damaged cache.
    Machine = 6,
    /// A server cannot be reached or asks to wait. The command may succeed later.
    Away = 7,
    /// Several failures with different exit codes, of one or several competitions.
    Several = 8,
    /// A bug in this program.
    #[serde(rename = "internal")]
    Defect = 101,
    /// Stopped by Ctrl-C or SIGTERM. Finished steps are kept.
    #[serde(rename = "cancelled")]
    Interrupted = 130,
}

/// The descriptions of the codes for `--help`. This is a macro so that a constant can contain the text.
macro_rules! exit_codes {
    () => {
        "Exit codes:
  0    success
  1    the answer is no: an invalid submission, a difference, a risk
  2    the command line or a setting is wrong
  3    a pipeline has mistakes
  4    a bundle or another input is missing or damaged
  5    a check fails, or a published checksum differs
  6    the system: disk full, permission denied, damaged cache
  7    a server cannot be reached or asks to wait: try again later
  8    several failures that have different codes
  101  a bug in prep
  130  stopped by Ctrl-C or SIGTERM"
    };
}

pub(crate) use exit_codes;

impl Exit {
    /// Returns the exit code of a failure.
    pub fn from_failure(failure: Failure) -> Exit {
        match failure {
            Failure::Usage => Exit::Usage,
            Failure::Input => Exit::Input,
            Failure::Check => Exit::Check,
            Failure::Pipeline => Exit::Pipeline,
            Failure::Machine => Exit::Machine,
            Failure::Away => Exit::Away,
            Failure::Cancelled => Exit::Interrupted,
            Failure::Internal => Exit::Defect,
        }
    }

    /// Combines the exit codes of several competitions. If all failures have the same code, returns this code. Otherwise
    /// returns [`Exit::Several`]. An interruption takes precedence over a bug, a bug over other failures, and a failure over
    /// [`Exit::No`].
    pub fn combine(exits: impl IntoIterator<Item = Exit>) -> Exit {
        exits
            .into_iter()
            .fold(Exit::Success, |sum, one| match (sum, one) {
                (Exit::Success, one) => one,
                (sum, Exit::Success) => sum,
                (Exit::No, one) => one,
                (sum, Exit::No) => sum,
                (Exit::Interrupted, _) | (_, Exit::Interrupted) => Exit::Interrupted,
                (Exit::Defect, _) | (_, Exit::Defect) => Exit::Defect,
                (sum, one) if sum == one => sum,
                _ => Exit::Several,
            })
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        std::process::ExitCode::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_about_process_limits_suggest_an_action() {
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
        assert_eq!(error.message.chars().count(), MAX_MESSAGE);
    }
}

#[cfg(test)]
mod exit_tests {
    use super::*;

    #[test]
    fn several_exit_codes_are_combined() {
        for (exits, expected) in [
            (vec![], Exit::Success),
            (vec![Exit::Success, Exit::Input], Exit::Input),
            (vec![Exit::Input, Exit::Input, Exit::Success], Exit::Input),
            (vec![Exit::Input, Exit::Check], Exit::Several),
            (vec![Exit::Input, Exit::Check, Exit::Input], Exit::Several),
            (vec![Exit::No, Exit::Success], Exit::No),
            (vec![Exit::No, Exit::Check], Exit::Check),
            (vec![Exit::Defect, Exit::Check], Exit::Defect),
            (vec![Exit::Interrupted, Exit::Check], Exit::Interrupted),
        ] {
            assert_eq!(Exit::combine(exits.clone()), expected, "{exits:?}");
        }
    }

    #[test]
    fn no_failure_has_exit_code_1() {
        for failure in [
            Failure::Usage,
            Failure::Input,
            Failure::Check,
            Failure::Pipeline,
            Failure::Machine,
            Failure::Away,
            Failure::Cancelled,
            Failure::Internal,
        ] {
            assert_ne!(Exit::from_failure(failure), Exit::No, "{failure:?}");
        }
        assert_eq!(Exit::from_failure(Failure::Internal) as u8, 101);
    }

    #[test]
    fn the_help_lists_every_code() {
        for exit in [
            Exit::Success,
            Exit::No,
            Exit::Usage,
            Exit::Pipeline,
            Exit::Input,
            Exit::Check,
            Exit::Machine,
            Exit::Away,
            Exit::Several,
            Exit::Defect,
            Exit::Interrupted,
        ] {
            let code = format!("\n  {:<5}", exit as u8);
            assert!(exit_codes!().contains(&code), "{exit:?}");
        }
    }
}
