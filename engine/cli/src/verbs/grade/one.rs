//! `prep grade ID SUBMISSION.csv`: grades one submission.

use std::path::Path;

use prep_app::{Catalog, Grading};
use prep_grade::GradeOutcome;
use prep_grade::report::JsonObject;

use super::GradeArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::grading;
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
    let grader = match args.given.overrides() {
        Some(given) => Grading::with_answers(catalog, id, &given)?,
        None => Grading::open(catalog, &settings, id)?.logged(&settings, &args.log.log(session)),
    };
    let outcome = grader.grade_table(submission)?;
    let unrounded = match &outcome {
        Some(GradeOutcome::Score { value, .. }) => Some(*value),
        _ => None,
    };
    let report = grader.report_of(submission, outcome);
    if session.printer.json {
        let mut entry = grading::entry(&report);
        entry.insert("unrounded_score".into(), unrounded.into());
        let text = grading::envelope(vec![entry], JsonObject::new());
        session.printer.result(&text)?;
    } else {
        session.printer.table(&grading::rows(&[&report]))?;
        if let Some(thresholds) = report.thresholds {
            session
                .printer
                .message(grading::thresholds(thresholds).trim_end());
        }
    }
    for warning in grader.warnings() {
        session.printer.warning(warning);
    }
    grading::remarks(&session.printer, &[&report]);
    Ok(match report.valid_submission() {
        true => Exit::Success,
        false => Exit::No,
    })
}
