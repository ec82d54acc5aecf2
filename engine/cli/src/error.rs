//! The error that ends a verb: an exit code, a cause, and a way out.

use std::fmt;
use std::path::Path;

use prep_cache::StoreError;
use prep_core::{ResolveError, StepError, chain};
use prep_spec::Diagnostics;

use crate::exit::Exit;

/// Why a verb could not do its work.
#[derive(Debug, Clone)]
pub struct CliError {
    pub exit: Exit,
    /// First line: the cause.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Findings in a pipeline, which are shown with their source instead of the message.
    pub diagnostics: Option<Diagnostics>,
}

impl CliError {
    pub fn new(exit: Exit, message: impl Into<String>) -> CliError {
        CliError {
            exit,
            message: for_people(&message.into()),
            help: None,
            diagnostics: None,
        }
    }

    pub fn usage(message: impl Into<String>) -> CliError {
        CliError::new(Exit::Usage, message)
    }

    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> CliError {
        self.help = Some(help.into());
        self
    }

    /// Adds "did you mean" where a name was found.
    #[must_use]
    pub fn suggest(self, name: Option<&str>) -> CliError {
        match name {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// A file that the user named and that cannot be used: missing is an input's fault, the rest the machine's.
    pub fn file(action: &str, path: &Path, error: &std::io::Error) -> CliError {
        let exit = match error.kind() {
            std::io::ErrorKind::NotFound
            | std::io::ErrorKind::IsADirectory
            | std::io::ErrorKind::InvalidData => Exit::Input,
            _ => Exit::Machine,
        };
        let cause = match error.kind() {
            std::io::ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
            _ => error.to_string(),
        };
        CliError::new(exit, format!("cannot {action} {}: {cause}", path.display()))
    }
}

/// A message without the numbers that the standard library adds to the system's errors: ` (os error 2)`.
pub fn for_people(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, after)) = rest.split_once(" (os error ") {
        text.push_str(before);
        rest = match after.split_once(')') {
            Some((code, behind)) if code.bytes().all(|byte| byte.is_ascii_digit()) => behind,
            _ => {
                text.push_str(" (os error ");
                after
            }
        };
    }
    text.push_str(rest);
    text
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.diagnostics {
            Some(diagnostics) => write!(f, "{diagnostics}"),
            None => f.write_str(&self.message),
        }
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        StepError::from(error).into()
    }
}

impl From<StepError> for CliError {
    fn from(error: StepError) -> Self {
        CliError::new(Exit::of(error.failure()), chain(&error))
    }
}

impl From<ResolveError> for CliError {
    fn from(error: ResolveError) -> Self {
        CliError::new(Exit::of(error.failure()), chain(&error))
    }
}

impl From<Diagnostics> for CliError {
    fn from(diagnostics: Diagnostics) -> Self {
        let name = &diagnostics.source().name;
        let count = diagnostics.iter().count();
        let plural = if count == 1 { "" } else { "s" };
        CliError {
            message: format!("{name} has {count} mistake{plural}"),
            exit: Exit::Pipeline,
            help: None,
            diagnostics: Some(diagnostics),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_do_not_show_the_numbers_of_system_errors() {
        let cause = std::io::Error::from_raw_os_error(2);
        assert!(cause.to_string().contains("(os error 2)"), "{cause}");
        let error = CliError::file("read", Path::new("a.txt"), &cause);
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
}
