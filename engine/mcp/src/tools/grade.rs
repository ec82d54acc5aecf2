//! The tool `grade`: returns the score and medal of a submission.

use prep_grade::report::{JsonObject, JsonValue};
use serde_json::{Map, Number, Value, json};

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
    let refused = |error| submission::refused(options, arguments, &error);
    let submission = submission::open(options, arguments).map_err(refused)?;
    let grading = options.grading(id)?;
    let report = grading.report(&submission, grading.grade(&submission));
    let mut entry = Map::from_iter([("id".to_owned(), json!(id))]);
    entry.extend(members(&report.to_json())?.filter(|(name, _)| name != "competition_id"));
    Ok(json!({ "competitions": [entry] }))
}

/// Converts the members of an object.
///
/// # Errors
/// Returns an error if a score is NaN or infinite, which JSON cannot represent.
fn members(object: &JsonObject) -> Result<impl Iterator<Item = (String, Value)>, ToolError> {
    let members = object.iter().map(|(name, value)| {
        let name = name.as_str().unwrap_or_default().to_owned();
        Ok((name, converted(value)?))
    });
    Ok(members.collect::<Result<Vec<_>, ToolError>>()?.into_iter())
}

/// Converts a value without formatting numbers as text, which could change their last digit.
fn converted(value: &JsonValue) -> Answer {
    Ok(match value {
        JsonValue::Null => Value::Null,
        JsonValue::Bool(value) => json!(value),
        JsonValue::Int(value) => json!(value),
        JsonValue::BigInt(digits) => json!(digits),
        JsonValue::Float(value) => Number::from_f64(*value)
            .map(Value::Number)
            .ok_or_else(|| ToolError::new("the score is not a number"))?,
        JsonValue::String(_) => json!(value.as_str()),
        JsonValue::List(values) => {
            Value::Array(values.iter().map(converted).collect::<Result<_, _>>()?)
        }
        JsonValue::Object(object) => Value::Object(members(object)?.collect()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_all_digits() {
        for number in [0.1, 1e60, 8.41e119, 1.234_567_890_123_45e150, 5e-324, -0.0] {
            let value = converted(&JsonValue::from(number)).unwrap();
            assert_eq!(value.as_f64().map(f64::to_bits), Some(number.to_bits()));
        }
        for number in [f64::NAN, f64::INFINITY] {
            assert!(converted(&JsonValue::from(number)).is_err());
        }
    }
}
