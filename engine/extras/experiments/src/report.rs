//! Reads grading reports of upstream and of `prep grade`.
//!
//! Upstream's reports are written by Python's `json`, which writes `NaN` and `Infinity` although JSON has no such
//! numbers. Such a score is read as `None`, because medals do not depend on it.

use std::path::Path;

use serde_json::{Map, Value};

use crate::error::ExperimentsError;

/// A grading report.
#[derive(Debug, Clone, PartialEq)]
pub struct GradingReport {
    /// Runs, sorted by competition. Runs of one competition keep the report's order.
    pub runs: Vec<GradedRun>,
}

/// One graded submission, or a run without a submission.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GradedRun {
    pub competition: String,
    /// `None` if there is no score, or if it is not a finite number.
    pub score: Option<f64>,
    pub gold: bool,
    pub silver: bool,
    pub bronze: bool,
    pub above_median: bool,
    pub exists: bool,
    pub valid: bool,
    /// Path of the submission, if the report names it.
    pub submission: Option<String>,
    /// Time of the grading, if the report names it.
    pub created_at: Option<String>,
    /// Variant of the answers, if the report names it.
    pub variant: Option<String>,
}

impl GradedRun {
    /// Returns a run without a submission.
    pub fn failed(competition: &str) -> GradedRun {
        GradedRun {
            competition: competition.to_owned(),
            ..GradedRun::default()
        }
    }

    pub fn any_medal(&self) -> bool {
        self.gold || self.silver || self.bronze
    }
}

impl GradingReport {
    /// Reads the report in a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is not a report.
    pub fn read(path: &Path) -> Result<GradingReport, ExperimentsError> {
        parse(&read(path)?, path)
    }
}

/// Reads a text file. A Git LFS pointer is an error.
pub(crate) fn read(path: &Path) -> Result<String, ExperimentsError> {
    let text = std::fs::read_to_string(path).map_err(|source| ExperimentsError::Read {
        path: path.to_owned(),
        source,
    })?;
    match text.starts_with("version https://git-lfs") {
        true => Err(ExperimentsError::Pointer {
            path: path.to_owned(),
        }),
        false => Ok(text),
    }
}

/// Parses the report of a list of submissions, or of a single submission.
///
/// # Errors
/// Returns an error if the text is not a report. The error names `path`.
pub fn parse(text: &str, path: &Path) -> Result<GradingReport, ExperimentsError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value: Value =
        serde_json::from_str(&without_nan(text)).map_err(|source| ExperimentsError::Json {
            path: path.to_owned(),
            source,
        })?;
    let wrong = |problem: String| ExperimentsError::NoReport {
        path: path.to_owned(),
        problem,
    };
    let entries = match &value {
        Value::Object(map) if map.contains_key("competition_id") => std::slice::from_ref(&value),
        Value::Object(map) => match map.get("competition_reports") {
            Some(Value::Array(entries)) => entries,
            _ => return Err(wrong("it has no list `competition_reports`".to_owned())),
        },
        _ => return Err(wrong("it is not a JSON object".to_owned())),
    };
    let mut runs = entries
        .iter()
        .enumerate()
        .map(|(index, entry)| {
            parse_run(entry).map_err(|problem| wrong(format!("entry {}: {problem}", index + 1)))
        })
        .collect::<Result<Vec<_>, _>>()?;
    runs.sort_by(|a, b| a.competition.cmp(&b.competition));
    Ok(GradingReport { runs })
}

fn parse_run(entry: &Value) -> Result<GradedRun, String> {
    let Value::Object(entry) = entry else {
        return Err("it is not a JSON object".to_owned());
    };
    let competition = match entry.get("competition_id") {
        Some(Value::String(id)) => id.clone(),
        _ => return Err("it has no `competition_id`".to_owned()),
    };
    Ok(GradedRun {
        competition,
        score: entry.get("score").and_then(Value::as_f64),
        gold: flag(entry, "gold_medal")?,
        silver: flag(entry, "silver_medal")?,
        bronze: flag(entry, "bronze_medal")?,
        above_median: flag(entry, "above_median")?,
        exists: flag(entry, "submission_exists")?,
        valid: flag(entry, "valid_submission")?,
        submission: text(entry, "submission_path"),
        created_at: text(entry, "created_at"),
        variant: text(entry, "variant"),
    })
}

fn text(entry: &Map<String, Value>, key: &str) -> Option<String> {
    entry.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn flag(entry: &Map<String, Value>, key: &str) -> Result<bool, String> {
    match entry.get(key) {
        Some(Value::Bool(flag)) => Ok(*flag),
        // Some harnesses write numbers instead of booleans.
        Some(Value::Number(number)) if number.as_f64() == Some(0.0) => Ok(false),
        Some(Value::Number(number)) if number.as_f64() == Some(1.0) => Ok(true),
        Some(other) => Err(format!("`{key}` is {other}, expected true or false")),
        None => Err(format!("it has no `{key}`")),
    }
}

/// Replaces `NaN` and infinities, which Python writes but JSON does not allow, with `null`. Strings do not change.
fn without_nan(text: &str) -> String {
    const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['"', 'N', 'I', '-']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let length = if from.starts_with('"') {
            string_length(from)
        } else if let Some(word) = WORDS.iter().find(|word| from.starts_with(**word)) {
            out.push_str("null");
            rest = from.get(word.len()..).unwrap_or_default();
            continue;
        } else {
            1
        };
        let (taken, after) = from.split_at(length);
        out.push_str(taken);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Returns the length of the string at the start of `text`, including its quotes. If the closing quote is missing,
/// returns the length of `text`.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pythons_nan_and_infinity_become_null() {
        for (text, expected) in [
            (r#"{"a": NaN}"#, r#"{"a": null}"#),
            (r#"[Infinity, -Infinity, -1]"#, "[null, null, -1]"),
            (r#"{"NaN": "a \" NaN"}"#, r#"{"NaN": "a \" NaN"}"#),
            (r#""no end NaN"#, r#""no end NaN"#),
        ] {
            assert_eq!(without_nan(text), expected);
        }
    }

    const ENTRY: &str = r#""gold_medal": true, "silver_medal": false, "bronze_medal": false, "above_median": true, "submission_exists": true, "valid_submission": true"#;

    #[test]
    fn a_report_has_a_list_of_entries_or_is_a_single_entry() {
        let path = Path::new("r.json");
        let many = format!(
            r#"{{"total_runs": 2, "competition_reports": [{{"competition_id": "b", "score": 0.5, {ENTRY}, "reason": null}}, {{"competition_id": "a", "score": NaN, {ENTRY}}}]}}"#
        );
        let runs = parse(&many, path).unwrap().runs;
        assert_eq!((runs[0].competition.as_str(), runs[0].score), ("a", None));
        assert_eq!((runs[1].score, runs[1].gold), (Some(0.5), true));
        let one = format!(r#"{{"competition_id": "b", "score": null, {ENTRY}}}"#);
        assert_eq!(parse(&one, path).unwrap().runs.len(), 1);
    }

    #[test]
    fn flags_may_be_numbers() {
        let text = r#"{"competition_id": "a", "score": 1, "gold_medal": 1, "silver_medal": 0, "bronze_medal": 0.0,
            "above_median": 1.0, "submission_exists": true, "valid_submission": true}"#;
        let report = parse(text, Path::new("r.json")).unwrap();
        let run = &report.runs[0];
        let flags = [run.gold, run.silver, run.bronze, run.above_median];
        assert_eq!(flags, [true, false, false, true]);
    }

    #[test]
    fn errors_name_the_report_and_the_entry() {
        for (text, expected) in [
            ("{", "r.json is not JSON"),
            ("[]", "not a JSON object"),
            ("{}", "no list `competition_reports`"),
            (
                r#"{"competition_reports": [1]}"#,
                "entry 1: it is not a JSON object",
            ),
            (
                r#"{"competition_id": "a"}"#,
                "entry 1: it has no `gold_medal`",
            ),
            (
                r#"{"competition_id": "a", "gold_medal": 2}"#,
                "`gold_medal` is 2, expected true or false",
            ),
        ] {
            let error = parse(text, Path::new("r.json")).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
