//! Writes the log of gradings, `DATA/grades.jsonl`.
//!
//! Each submission that is graded against prepared answers adds a line: time, competition, variant, digests of the
//! submission and of the answers, whether both are equal, the score or the reason why there is no score, and the program's version. Each line
//! is appended with a single write, so several processes can use the same file.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use jiff::Timestamp;
use prep_digests::Sha256;
use prep_grade::report::CompetitionReport;
use serde_json::json;

use crate::digests;

/// The name of the log in the data directory.
pub(crate) const FILE_NAME: &str = "grades.jsonl";

/// Appends the line of a graded submission.
///
/// # Errors
/// Returns an error if the data directory cannot be written.
pub(crate) fn append(
    data_dir: &Path,
    report: &CompetitionReport,
    submission: Option<Sha256>,
    answers: Sha256,
) -> io::Result<()> {
    // JSON cannot represent NaN and infinity as numbers, so they are written as strings.
    let score = report.score.map(|score| match score.is_finite() {
        true => json!(score),
        false => json!(score.to_string()),
    });
    let line = json!({
        "time": Timestamp::now().to_string(),
        "competition": report.competition_id,
        "variant": report.variant.name,
        "submission": submission.map(digests::text),
        "answers": digests::text(answers),
        "submission_is_answers": report.is_answers,
        "score": score,
        "reason": report.reason.as_ref().map(ToString::to_string),
        "program": crate::VERSION,
    });
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(data_dir.join(FILE_NAME))?;
    file.write_all(format!("{line}\n").as_bytes())
}
