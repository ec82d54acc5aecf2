//! `prep grade ID SUBMISSION.csv`: grades one submission.

use std::path::Path;

use prep_app::{Catalog, Grading};
use prep_grade::GradeOutcome;
use prep_grade::report::JsonObject;

use super::{GradeArgs, shown};
use crate::error::CliError;
use crate::exit::Exit;
use crate::session::{CliSession, VerbResult};

pub fn grade(
    session: &CliSession,
    catalog: &Catalog,
    id: &str,
    submission: &Path,
    args: &GradeArgs,
) -> VerbResult {
    if args.given.leaderboard.is_some() && args.given.answers.is_none() {
        return Err(CliError::usage("--leaderboard needs --answers")
            .help("prepared data are ranked on the leaderboard of the competition"));
    }
    let settings = args.variant.settings(session);
    let grading = match args.given.overrides() {
        Some(given) => Grading::with_answers(catalog, id, &given)?,
        None => Grading::open(catalog, &settings, id)?.logged(&settings, &args.log.log(session)),
    };
    let outcome = grading.grade_table(submission)?;
    let unrounded = match &outcome {
        Some(GradeOutcome::Score { value, .. }) => Some(*value),
        _ => None,
    };
    let report = grading.report_of(submission, outcome);
    if session.printer.json {
        let mut entry = shown::entry(&report);
        entry.insert("unrounded_score".into(), unrounded.into());
        let text = shown::envelope(vec![entry], JsonObject::new());
        session.printer.result(&text)?;
    } else {
        session.printer.table(&shown::rows(&[&report]))?;
        if let Some(thresholds) = report.thresholds {
            session
                .printer
                .message(shown::thresholds(thresholds).trim_end());
        }
    }
    shown::remarks(session, &[&report]);
    Ok(match report.valid_submission() {
        true => Exit::Success,
        false => Exit::No,
    })
}
