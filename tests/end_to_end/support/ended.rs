//! The result of a command.

use std::process::{Command, Output};

use serde_json::Value;

/// Exit code and output of a command. Failed assertions print all of it.
#[derive(Debug)]
pub struct CommandResult {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl CommandResult {
    pub fn of(command: &mut Command) -> CommandResult {
        CommandResult::from(command.output().expect("the program starts"))
    }

    /// Asserts that the command ended with this exit code.
    #[track_caller]
    pub fn code(self, expected: i32) -> CommandResult {
        assert_eq!(self.code, Some(expected), "exit code of\n{self:#?}");
        self
    }

    /// Asserts that stderr contains all `parts`.
    #[track_caller]
    pub fn stderr_has(self, parts: &[&str]) -> CommandResult {
        for part in parts {
            assert!(
                self.stderr.contains(part),
                "`{part}` is not in\n{}",
                self.stderr
            );
        }
        self
    }

    /// Asserts that stdout contains all `parts`.
    #[track_caller]
    pub fn stdout_has(self, parts: &[&str]) -> CommandResult {
        for part in parts {
            assert!(
                self.stdout.contains(part),
                "`{part}` is not in\n{}",
                self.stdout
            );
        }
        self
    }

    /// Returns the first competition of the JSON on stdout.
    #[track_caller]
    pub fn competition(&self) -> Value {
        self.json()["competitions"][0].clone()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is not JSON: {error}\n{self:#?}"))
    }
}

impl From<Output> for CommandResult {
    fn from(output: Output) -> CommandResult {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        CommandResult {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}
