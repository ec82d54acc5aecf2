//! Exit codes. They are part of the command line's contract: scripts rely on them.

use prep_core::Failure;

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// Everything that was asked for is done.
    Success = 0,
    /// Something failed in more than one way, a submission is not valid, or a defect of this program.
    Failed = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// A pipeline has mistakes.
    Pipeline = 3,
    /// A bundle or another input is missing, damaged, or not what is declared.
    Input = 4,
    /// A check or a published checksum does not hold.
    Check = 5,
    /// The machine: disk full, no permission, a damaged store.
    Machine = 6,
    /// A server cannot be reached, or asks to wait: the same again later may go right.
    Away = 7,
    /// Stopped by Ctrl-C or SIGTERM. What was finished is kept.
    Interrupted = 130,
}

/// The codes in words, for `--help`. A macro, so that it can be part of a constant text.
#[macro_export]
macro_rules! exit_codes {
    () => {
        "Exit codes:
  0    success
  1    failed in more than one way, an invalid submission, or a defect of prep
  2    the command line makes no sense
  3    a pipeline has mistakes
  4    a bundle or another input is missing or damaged
  5    a check or a published checksum does not hold
  6    the machine: disk full, no permission, damaged store
  7    a server stays away, or asks to wait: try again later
  130  stopped by Ctrl-C or SIGTERM"
    };
}

impl Exit {
    /// The code of one failure.
    pub fn of(failure: Failure) -> Exit {
        match failure {
            Failure::Input => Exit::Input,
            Failure::Check => Exit::Check,
            Failure::Pipeline => Exit::Pipeline,
            Failure::Machine => Exit::Machine,
            Failure::Away => Exit::Away,
            Failure::Cancelled => Exit::Interrupted,
            Failure::Internal => Exit::Failed,
        }
    }

    /// The code of several endings: theirs if they agree, leaving successes out; an interruption outweighs the rest.
    pub fn combine(exits: impl IntoIterator<Item = Exit>) -> Exit {
        exits
            .into_iter()
            .fold(Exit::Success, |sum, one| match (sum, one) {
                (Exit::Success, one) => one,
                (sum, Exit::Success) => sum,
                (Exit::Interrupted, _) | (_, Exit::Interrupted) => Exit::Interrupted,
                (sum, one) if sum == one => sum,
                _ => Exit::Failed,
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
    fn several_endings_make_one_code() {
        for (exits, expected) in [
            (vec![], Exit::Success),
            (vec![Exit::Success, Exit::Input], Exit::Input),
            (vec![Exit::Input, Exit::Input, Exit::Success], Exit::Input),
            (vec![Exit::Input, Exit::Check], Exit::Failed),
            (vec![Exit::Interrupted, Exit::Check], Exit::Interrupted),
        ] {
            assert_eq!(Exit::combine(exits.clone()), expected, "{exits:?}");
        }
    }

    #[test]
    fn the_help_lists_every_code() {
        for exit in [
            Exit::Success,
            Exit::Failed,
            Exit::Usage,
            Exit::Pipeline,
            Exit::Input,
            Exit::Check,
            Exit::Machine,
            Exit::Away,
            Exit::Interrupted,
        ] {
            let code = format!("\n  {:<5}", exit as u8);
            assert!(crate::exit_codes!().contains(&code), "{exit:?}");
        }
    }
}
