//! `prep grade ID SUBMISSION.csv`: grades one submission.

use std::path::Path;

use prep_app::{Catalog, Error, Grading, Submission, SubmissionError};
use prep_core::Failure;
use prep_grade::GradeOutcome;
use prep_grade::report::{CompetitionReport, JsonObject};

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
    let (report, unrounded) = report(&grader, submission)?;
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

/// Grades a file, and returns the report and the score without rounding.
fn report(grader: &Grading, path: &Path) -> Result<(CompetitionReport, Option<f64>), CliError> {
    let name = path.to_string_lossy();
    let submission = match Submission::open_table(path) {
        Ok(submission) => submission,
        Err(error) => return Ok((grader.report_without_submission(&name, &error), None)),
    };
    let outcome = grader.grade(&submission);
    if let Err(SubmissionError::Frame(message)) = &outcome {
        return Err(Error::new(Failure::Input, format!("{name}: {message}")).into());
    }
    let unrounded = match &outcome {
        Ok(GradeOutcome::Score { value, .. }) => Some(*value),
        _ => None,
    };
    let report = grader.report(&submission, outcome);
    let unrounded = unrounded.filter(|_| report.valid_submission());
    Ok((report, unrounded))
}
