//! Lists of submissions: JSON Lines with `competition_id` and `submission_path`.
//!
//! Empty lines and lines that start with `#` or `//` are skipped; further keys are ignored.

use serde_json::Value;

/// A submission to grade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Line of the list, from 1.
    pub line: usize,
    pub competition_id: String,
    /// As written; relative paths are the caller's to resolve.
    pub submission_path: String,
}

/// Why a list cannot be read. Lines count from 1.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    #[error(
        "line {line} is not JSON: {}; expected {{\"competition_id\": ..., \"submission_path\": ...}}",
        without_line(.source)
    )]
    Json {
        line: usize,
        source: serde_json::Error,
    },
    #[error(
        "line {line} is no JSON object; expected {{\"competition_id\": ..., \"submission_path\": ...}}"
    )]
    NoObject { line: usize },
    #[error("line {line} has no `{key}`")]
    Missing { line: usize, key: &'static str },
    #[error("line {line}: `{key}` is no text")]
    NoText { line: usize, key: &'static str },
}

/// Parses a list of submissions.
///
/// # Errors
/// With the first line that is wrong.
pub fn parse(text: &str) -> Result<Vec<Entry>, ListError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let skipped = |line: &str| line.is_empty() || line.starts_with('#') || line.starts_with("//");
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !skipped(line))
        .map(|(line, json)| entry(line, json))
        .collect()
}

/// The parser's message without the line that it counts, which is always the first.
fn without_line(error: &serde_json::Error) -> String {
    error
        .to_string()
        .replace(" at line 1 column ", " at column ")
}

fn entry(line: usize, json: &str) -> Result<Entry, ListError> {
    let value: Value =
        serde_json::from_str(json).map_err(|source| ListError::Json { line, source })?;
    let Value::Object(map) = value else {
        return Err(ListError::NoObject { line });
    };
    let text = |key: &'static str| match map.get(key) {
        None | Some(Value::Null) => Err(ListError::Missing { line, key }),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(ListError::NoText { line, key }),
    };
    Ok(Entry {
        line,
        competition_id: text("competition_id")?,
        submission_path: match map.get("submission_path") {
            // A run without a submission; the benchmark takes it for a file of this name.
            Some(Value::Null) => "None".to_owned(),
            _ => text("submission_path")?,
        },
    })
}
