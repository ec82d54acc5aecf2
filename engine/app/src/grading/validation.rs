//! Validates submissions, without a score. The messages are upstream's, because scripts search for them.

use prep_grade::GradeOutcome;

use super::submission::SubmissionError;

/// Whether a submission is valid, with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validation {
    pub valid: bool,
    pub message: String,
    /// A stable name of the kind of error, for programs.
    pub reason: Option<&'static str>,
}

impl Validation {
    /// Converts the result of opening or grading a submission. `name` is the name of the file for people.
    ///
    /// The result does not show whether the submission is a copy of the answers, because that is a score.
    pub fn of(name: &str, outcome: &Result<GradeOutcome, SubmissionError>) -> Validation {
        let error = match outcome {
            Ok(outcome) => return Validation::from_outcome(outcome),
            Err(error) => error,
        };
        let message = match error {
            SubmissionError::NotCsv => "Submission file must be a CSV file.".to_owned(),
            error => match error.outcome() {
                Some(outcome) => return Validation::from_outcome(&outcome),
                None => format!("Submission file {name} does not exist."),
            },
        };
        Validation {
            valid: false,
            message: format!("Submission invalid! {message}"),
            reason: Some("no_submission"),
        }
    }

    /// Converts the result of grading.
    fn from_outcome(outcome: &GradeOutcome) -> Validation {
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
        let message = |name: &str, error| Validation::of(name, &Err(error)).message;
        for error in [SubmissionError::Missing, SubmissionError::NotAFile] {
            assert_eq!(
                message("None", error),
                "Submission invalid! Submission file None does not exist."
            );
        }
        assert_eq!(
            message("a.txt", SubmissionError::NotCsv),
            "Submission invalid! Submission file must be a CSV file."
        );
        assert_eq!(
            message("a.csv", SubmissionError::Changed),
            "Submission invalid! The attempt to grade the submission has resulted in the following error message:\n\
             the file changed while it was read"
        );
        let score = GradeOutcome::Score {
            value: 0.123_456_7,
            rounded: 0.12346,
        };
        assert_eq!(
            Validation::of("a.csv", &Ok(score)).message,
            "Submission is valid."
        );
        let refusal = Refusal::new(RefusalKind::Ids, "cell {a\nb} is unknown");
        let refused = Validation::of("a.csv", &Ok(GradeOutcome::Invalid(refusal)));
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
