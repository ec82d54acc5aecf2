//! Parses lists of submissions: JSON Lines with `competition_id` and `submission_path`.
//!
//! Empty lines and lines that start with `#` or `//` are skipped; other keys are ignored.

use serde_json::Value;

/// A submission to grade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSubmission {
    /// Line of the list, from 1.
    pub line: usize,
    /// Id of the competition.
    pub competition_id: String,
    /// Path as written. The caller resolves relative paths.
    pub submission_path: String,
}

/// An error in a list. Lines are counted from 1.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages describe the fields")]
pub enum ListError {
    /// The line is not JSON.
    #[error(
        "line {line} is not JSON: {reason}; expected {{\"competition_id\": ..., \"submission_path\": ...}}"
    )]
    Json { line: usize, reason: String },
    /// The line is JSON but not an object.
    #[error(
        "line {line} is not a JSON object; expected {{\"competition_id\": ..., \"submission_path\": ...}}"
    )]
    NoObject { line: usize },
    /// A key is missing.
    #[error("line {line} has no `{key}`")]
    Missing { line: usize, key: &'static str },
    /// A value is not a text.
    #[error("line {line}: `{key}` is not a text")]
    NotText { line: usize, key: &'static str },
}

/// Parses a list of submissions.
///
/// # Errors
/// The error of the first invalid line.
pub fn parse(text: &str) -> Result<Vec<ListedSubmission>, ListError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let skipped = |line: &str| line.is_empty() || line.starts_with('#') || line.starts_with("//");
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !skipped(line))
        .map(|(line, json)| entry(line, json))
        .collect()
}

/// Returns the parser's message without the line number, which is always 1 because each line is parsed separately.
fn without_line(error: &serde_json::Error) -> String {
    error
        .to_string()
        .replace(" at line 1 column ", " at column ")
}

fn entry(line: usize, json: &str) -> Result<ListedSubmission, ListError> {
    let value: Value = serde_json::from_str(json).map_err(|error| ListError::Json {
        line,
        reason: without_line(&error),
    })?;
    let Value::Object(map) = value else {
        return Err(ListError::NoObject { line });
    };
    let text = |key: &'static str| match map.get(key) {
        None | Some(Value::Null) => Err(ListError::Missing { line, key }),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(ListError::NotText { line, key }),
    };
    Ok(ListedSubmission {
        line,
        competition_id: text("competition_id")?,
        submission_path: match map.get("submission_path") {
            // `null` means a run without a submission. The benchmark treats it as a file named `None`.
            Some(Value::Null) => "None".to_owned(),
            _ => text("submission_path")?,
        },
    })
}
