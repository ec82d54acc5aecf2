//! Exit codes. Scripts rely on them, so they must not change.

use prep_core::Failure;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// The command did its work.
    Success = 0,
    /// The command succeeded and the answer is no: for example, a submission is invalid, or two variants differ.
    No = 1,
    /// The command line is wrong.
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
    /// Several competitions failed with different exit codes.
    Several = 8,
    /// A bug in this program.
    Defect = 101,
    /// Stopped by Ctrl-C or SIGTERM. Finished steps are kept.
    Interrupted = 130,
}

/// The descriptions of the codes for `--help`. This is a macro so that a constant can contain the text.
macro_rules! exit_codes {
    () => {
        "Exit codes:
  0    success
  1    the answer is no: an invalid submission, a difference, a risk
  2    the command line is wrong
  3    a pipeline has mistakes
  4    a bundle or another input is missing or damaged
  5    a check fails, or a published checksum differs
  6    the system: disk full, permission denied, damaged cache
  7    a server cannot be reached or asks to wait: try again later
  8    several competitions failed in different ways
  101  a bug in prep
  130  stopped by Ctrl-C or SIGTERM"
    };
}

pub(crate) use exit_codes;

impl Exit {
    /// Returns the exit code of a failure.
    pub fn from_failure(failure: Failure) -> Exit {
        match failure {
            Failure::Input => Exit::Input,
            Failure::Check => Exit::Check,
            Failure::Pipeline => Exit::Pipeline,
            Failure::Machine => Exit::Machine,
            Failure::Away => Exit::Away,
            Failure::Cancelled => Exit::Interrupted,
            Failure::Internal => Exit::Defect,
        }
    }

    /// Combines the exit codes of several competitions. If their failures have the same code, returns it; otherwise
    /// [`Exit::Several`]. An interruption takes precedence over a bug, a bug over other failures, and a failure over
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
