//! Validates submissions, without a score. The messages are upstream's, because scripts search for them.

use std::path::Path;

use prep_grade::GradeOutcome;
use prep_grade::table::submission;

/// Whether a submission is valid, with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validation {
    pub valid: bool,
    pub message: String,
    /// A stable name of the kind of error, for programs.
    pub reason: Option<&'static str>,
}

impl Validation {
    /// Returns an invalid result if the file does not exist or has the wrong suffix. Returns `None` if it can be
    /// graded.
    pub fn before_grading(path: &Path) -> Option<Validation> {
        let refused = |message: String| {
            Some(Validation {
                valid: false,
                message: format!("Submission invalid! {message}"),
                reason: Some("no_submission"),
            })
        };
        if !path.is_file() {
            return refused(format!(
                "Submission file {} does not exist.",
                path.display()
            ));
        }
        match submission::exists(path) {
            true => None,
            false => refused("Submission file must be a CSV file.".to_owned()),
        }
    }

    /// Converts the result of grading.
    pub fn from_outcome(outcome: &GradeOutcome) -> Validation {
        match outcome {
            GradeOutcome::Score { .. } => Validation {
                valid: true,
                message: "Submission is valid.".to_owned(),
                reason: None,
            },
            GradeOutcome::Invalid(refusal) => Validation {
                valid: false,
                message: format!(
                    "Submission invalid! The attempt to grade the submission has resulted in the following error message:\n{}",
                    one_line(&refusal.to_string())
                ),
                reason: Some(refusal.kind.name()),
            },
        }
    }
}

/// Puts a message on one line and removes braces, because harnesses parse logs by line, and find reports by their braces.
fn one_line(message: &str) -> String {
    message
        .chars()
        .map(|c| match c {
            '{' => '(',
            '}' => ')',
            c if c.is_control() => ' ',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use prep_grade::{Refusal, RefusalKind};

    #[test]
    fn messages_equal_upstreams_messages() {
        let dir = tempfile::tempdir().unwrap();
        let text = dir.path().join("a.txt");
        std::fs::write(&text, "").unwrap();
        let message = |path: &Path| Validation::before_grading(path).unwrap().message;
        assert_eq!(
            message(Path::new("None")),
            "Submission invalid! Submission file None does not exist."
        );
        assert_eq!(
            message(&text),
            "Submission invalid! Submission file must be a CSV file."
        );
        let score = GradeOutcome::Score {
            value: 0.123_456_7,
            rounded: 0.12346,
        };
        assert_eq!(
            Validation::from_outcome(&score).message,
            "Submission is valid."
        );
        let refusal = Refusal::new(RefusalKind::Ids, "cell {a\nb} is unknown");
        let refused = Validation::from_outcome(&GradeOutcome::Invalid(refusal));
        assert!(
            refused
                .message
                .ends_with("error message:\ncell (a b) is unknown"),
            "{}",
            refused.message
        );
        assert_eq!(refused.reason, Some("ids"));
    }
}
