//! The tool `grade`: returns the score and medal of a submission.

use serde_json::{Map, Value, json};

use super::{Arguments, ToolDefinition, submission};
use crate::answer::{Answer, ToolError};
use crate::options::McpOptions;

pub const GRADE: ToolDefinition = ToolDefinition {
    name: "grade",
    description: "Grade a submission against the prepared answers: score, medal, and the thresholds of the leaderboard.",
    parameters: submission::PARAMETERS,
    has_scores: true,
    call: grade,
};

fn grade(options: &McpOptions, arguments: &Arguments) -> Answer {
    let id = arguments.text("id");
    let path = submission::path(options, arguments)?;
    let report = options.grading(id)?.report(&path);
    // Reports are written like Python's JSON, in which a score can be `NaN`. This is not valid JSON.
    let text = prep_grade::report::pretty(report.to_json());
    let report: Map<String, Value> =
        serde_json::from_str(&text).map_err(|_| ToolError::new("the score is not a number"))?;
    let mut entry = Map::from_iter([("id".to_owned(), json!(id))]);
    entry.extend(
        report
            .into_iter()
            .filter(|(name, _)| name != "competition_id"),
    );
    Ok(json!({ "competitions": [entry] }))
}
