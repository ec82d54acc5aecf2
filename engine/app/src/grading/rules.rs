//! The grader and the leaderboard of a competition.

use std::path::Path;
use std::sync::Arc;

use prep_core::{Failure, chain};
use prep_formats::pandas::Frame;
use prep_grade::Grader;
use prep_grade::metrics::Direction;
use prep_grade::report::medals::{Leaderboard, LeaderboardError};
use prep_grade::table::typed;
use prep_spec::{BASE_VARIANT, Diagnostic, Diagnostics, Pipeline, SourceFile, Span};

use crate::catalog::CatalogEntry;
use crate::error::Error;
use crate::grading::metric_query::MetricQueries;
use crate::stages::load::{GRADE, Loader};

/// Reads the leaderboard in a file.
///
/// # Errors
/// Returns an error if the file cannot be read or is not a leaderboard.
pub fn read_leaderboard(path: &Path) -> Result<Leaderboard, Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Error::reading("read the leaderboard", path, &error))?;
    Leaderboard::parse(&text)
        .map_err(|error| Error::new(Failure::Input, format!("{}: {error}", path.display())))
}

/// Returns a competition's grader, and the path of its answers relative to `prepared`.
pub(crate) fn grader(entry: &CatalogEntry, pipeline: &Pipeline) -> Result<(Grader, String), Error> {
    let no_grading = || {
        let message = format!("the pipeline of `{}` has no section `grade`", entry.id);
        Error::new(Failure::Pipeline, message)
    };
    let grade = pipeline.grade.as_ref().ok_or_else(no_grading)?;
    let grader = Grader::parse(&grade.value.rules)
        .map_err(|error| Error::new(Failure::Pipeline, format!("{}: {error}", entry.file_name)))?
        .with_engine(Arc::new(MetricQueries));
    let answers = &grade.value.answers.value;
    if !grader.answers_are_json() && !answers.ends_with(".csv") {
        let message = format!(
            "`{}` cannot be graded: its answers are not a CSV file",
            entry.id
        );
        return Err(Error::new(Failure::Pipeline, message));
    }
    Ok((grader, answers.clone()))
}

/// Checks the section `grade` of a user's competition like a run, which also compares its columns with those of the outputs.
///
/// # Errors
/// Returns an error that lists the mistakes in the section, each with its position in the file. Ignores other mistakes.
pub(super) fn check_section(entry: &CatalogEntry) -> Result<(), Error> {
    if entry.is_built_in() {
        return Ok(());
    }
    let loaded = Loader::without_notes().load(entry, BASE_VARIANT);
    let Some(found) = loaded.err().and_then(|error| error.diagnostics) else {
        return Ok(());
    };
    let mistakes = found.iter().filter(|one| one.code == GRADE).cloned();
    let mistakes = Diagnostics::new(Arc::clone(found.source()), mistakes.collect());
    mistakes.map_or(Ok(()), |mistakes| Err(mistakes.into()))
}

/// Parses `bytes`, the content of the file `place` with the answers.
pub(crate) fn read(grader: &Grader, bytes: &[u8], place: &Path) -> Result<Frame, Error> {
    let read = match is_frame(place) {
        true => typed::parse(bytes).map_err(|error| chain(&error)),
        false => grader.read_answers(bytes).map_err(|error| chain(&error)),
    };
    read.map_err(|error| {
        let message = format!("the answers {}: {error}", place.display());
        Error::new(Failure::Input, message)
    })
}

/// Returns whether a file is a typed frame, according to its name (`*.frame`).
fn is_frame(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "frame")
}

/// Returns the competition's leaderboard.
///
/// # Errors
/// Returns an error if the competition has no leaderboard or the leaderboard is invalid.
pub fn leaderboard(entry: &CatalogEntry) -> Result<Leaderboard, Error> {
    find_leaderboard(entry)?.ok_or_else(|| {
        let message = format!("competition `{}` has no leaderboard.csv", entry.id);
        Error::new(Failure::Pipeline, message)
            .help("write leaderboard.csv next to the pipeline, with a column `score` that is sorted from the best score to the worst")
    })
}

pub(super) fn find_leaderboard(entry: &CatalogEntry) -> Result<Option<Leaderboard>, Error> {
    let pipeline = entry.load(BASE_VARIANT).ok();
    parse_leaderboard(entry, pipeline.as_ref().and_then(direction))
}

/// Returns whether higher or lower scores of a pipeline's metric are better. Returns `None` if the pipeline has no valid
/// section `grade`.
pub(crate) fn direction(pipeline: &Pipeline) -> Option<Direction> {
    let grade = pipeline.grade.as_ref()?;
    let grader = Grader::parse(&grade.value.rules).ok()?;
    Some(grader.direction())
}

/// Parses the competition's leaderboard, if it has one. If `direction` is known, also checks the order of the scores.
pub(crate) fn parse_leaderboard(
    entry: &CatalogEntry,
    direction: Option<Direction>,
) -> Result<Option<Leaderboard>, Error> {
    let Some(text) = entry.leaderboard.as_deref() else {
        return Ok(None);
    };
    let failed = |error: LeaderboardError, help: &str| {
        let file = Path::new(&entry.file_name).with_file_name("leaderboard.csv");
        let source = SourceFile::new(file.display().to_string(), text);
        let line = error.line_in(text);
        let before = text.split_inclusive('\n').take(line - 1);
        let start = before.map(str::len).sum();
        let length = text.lines().nth(line - 1).map_or(0, str::len);
        let span = Span::new(start, start + length);
        let mistake = Diagnostic::error("leaderboard", span, error.to_string()).help(help);
        Error::from(Diagnostics::single(Arc::new(source), mistake))
    };
    let leaderboard = Leaderboard::parse(text).map_err(|error| {
        failed(
            error,
            "write a CSV with the scores of the teams in the column `score`, best first; other columns are allowed",
        )
    })?;
    if let Some(direction) = direction {
        leaderboard.check_order(direction).map_err(|error| {
            failed(
                error,
                "sort the scores, best first, or set `direction` in `grade` if the metric has the wrong direction for this competition",
            )
        })?;
    }
    Ok(Some(leaderboard))
}
