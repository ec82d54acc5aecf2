//! `DATA/grades.jsonl`: who asked the grader, and how often.
//!
//! A line is written for every submission that is graded against prepared answers: when, which competition and variant, the
//! digests of the submission and of the answers, the score or the reason why there is none, and the program's version. Lines
//! are only ever added, each by one write, so that several graders may share the file.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use jiff::Timestamp;
use prep_digests::Sha256;
use prep_grade::report::CompetitionReport;
use serde_json::json;

/// The file, in the data folder.
pub(crate) const NAME: &str = "grades.jsonl";

/// Adds a line.
///
/// # Errors
/// When the data folder cannot be written.
pub(crate) fn append(
    data_dir: &Path,
    report: &CompetitionReport,
    submission: Option<Sha256>,
    answers: Sha256,
) -> io::Result<()> {
    let hex = |digest: Sha256| format!("sha256:{digest}");
    // JSON has no number for what a score may be, too.
    let score = report.score.map(|score| match score.is_finite() {
        true => json!(score),
        false => json!(score.to_string()),
    });
    let line = json!({
        "time": Timestamp::now().to_string(),
        "competition": report.competition_id,
        "variant": report.variant.name,
        "submission": submission.map(hex),
        "answers": hex(answers),
        "score": score,
        "reason": report.reason.as_ref().map(ToString::to_string),
        "program": crate::VERSION,
    });
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(data_dir.join(NAME))?;
    file.write_all(format!("{line}\n").as_bytes())
}
