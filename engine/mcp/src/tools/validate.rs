//! The tool `validate`: checks whether a submission is valid. Runs the same code as grading, but returns no score.

use prep_app::Validation;
use serde_json::json;

use super::{Arguments, ToolDefinition, submission};
use crate::answer::{Answer, ToolError};
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
    let path = submission::path(options, arguments)?;
    let found = match Validation::before_grading(&path) {
        Some(found) => found,
        None => match options.grading(id)?.grade(&path) {
            Some(outcome) => Validation::from_outcome(&outcome),
            None => return Err(ToolError::new("the submission changed while it was read")),
        },
    };
    Ok(json!({ "competitions": [{
        "id": id,
        "valid": found.valid,
        "message": found.message,
        "reason": found.reason,
    }]}))
}
