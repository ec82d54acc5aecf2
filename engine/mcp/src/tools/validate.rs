//! The tool `validate`: checks whether a submission is valid. Runs the same code as grading, but returns no score.

use prep_app::{SubmissionError, Validation};
use serde_json::json;

use super::{Arguments, ToolDefinition, submission};
use crate::answer::Answer;
use crate::options::McpOptions;

pub const VALIDATE: ToolDefinition = ToolDefinition {
    name: "validate",
    description: "Check whether a submission is valid: columns, ids, types. The answer has no score.",
    parameters: submission::PARAMETERS,
    has_scores: false,
    call: validate,
};

fn validate(options: &McpOptions, arguments: &Arguments) -> Answer {
    let id = arguments.text("id");
    let outcome = match submission::open(options, arguments) {
        Ok(submission) => options.grading(id)?.grade(&submission),
        Err(error) => Err(error),
    };
    let found = match &outcome {
        Ok(_) | Err(SubmissionError::NotCsv) => Validation::of("", &outcome),
        Err(error) => return Err(submission::refused(options, arguments, error)),
    };
    Ok(json!({ "competitions": [{
        "id": id,
        "valid": found.valid,
        "message": found.message,
        "reason": found.reason,
    }]}))
}
