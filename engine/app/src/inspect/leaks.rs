//! Searches prepared data for leaks.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use prep_core::{Failure, chain};
use prep_formats::pandas::{CsvWriter, Quoting};
use prep_leaks::{LeakInput, LeakReport, LeaksError};
use prep_spec::Pipeline;
use tempfile::TempPath;

use super::aligned_column;
use crate::bundles;
use crate::catalog::{Catalog, CatalogEntry};
use crate::error::{Error, failure_of};
use crate::grading;
use crate::prepared;
use crate::settings::Settings;

/// Searches the prepared data of a competition in the data directory. Also searches its bundle, if that is in
/// `directories` or in the data directory.
///
/// # Errors
/// Returns an error if the competition is not prepared, has no section `grade`, or a file cannot be read.
pub fn leaks(
    catalog: &Catalog,
    settings: &Settings,
    id: &str,
    directories: &[&Path],
) -> Result<LeakReport, Error> {
    let entry = catalog.get(id)?;
    let manifest = prepared::manifest(&settings.data_dir, id)?;
    let variant = manifest.map_or_else(|| prep_spec::BASE_VARIANT.to_owned(), |one| one.variant);
    let pipeline = entry.load(&variant)?;
    let directory = settings.prepared_dir(id);
    if !directory.is_dir() {
        return Err(prepared::not_prepared(id));
    }
    let no_grading = || {
        let message = format!("the pipeline of `{id}` has no section `grade`");
        Error::new(Failure::Pipeline, message)
    };
    let grade = &pipeline.grade.as_ref().ok_or_else(no_grading)?.value;
    let answers = directory.join(&grade.answers.value);
    let rows = rows_of_records(settings, entry, &pipeline, &answers)?;
    let input = LeakInput {
        public: directory.join("public"),
        answers: rows.as_ref().map_or(answers, |rows| rows.to_path_buf()),
        sample: directory.join(&grade.sample.value),
        id: ["align", "align_groups"]
            .iter()
            .find_map(|rule| aligned_column(&grade.rules, rule))
            .map(str::to_owned),
        bundle: bundles::path(settings, id, directories),
        temp: settings.temp_dir(),
        limits: settings.inspection_limits(1),
        memory: settings.memory,
    };
    let accepted = pipeline.accepted.iter();
    let accepted: BTreeMap<String, String> = accepted
        .map(|(name, why)| (name.value.clone(), why.clone()))
        .collect();
    prep_leaks::find(&input, &accepted).map_err(|error| {
        let failure = match &error {
            LeaksError::Read { cause, .. } => failure_of(cause),
            LeaksError::NoIds(_) => Failure::Input,
        };
        Error::new(failure, chain(&error))
    })
}

/// Writes the answers as a temporary CSV file if they are JSON records. Returns `None` if the answers are a table
/// already.
fn rows_of_records(
    settings: &Settings,
    entry: &CatalogEntry,
    pipeline: &Pipeline,
    answers: &Path,
) -> Result<Option<TempPath>, Error> {
    // If the section `grade` has mistakes, the answers are treated as a table.
    let Ok((grader, _)) = grading::grader(entry, pipeline) else {
        return Ok(None);
    };
    if !grader.answers_are_json() {
        return Ok(None);
    }
    let limits = settings.inspection_limits(1);
    let bytes = prep_contents::read::read_file(answers, &limits);
    let bytes = bytes.map_err(|error| Error::new(failure_of(&error), chain(&error)))?;
    let frame = grading::read(&grader, &bytes, answers)?;
    let temp = settings.temp_dir();
    let write = || -> io::Result<TempPath> {
        std::fs::create_dir_all(&temp)?;
        let file = tempfile::Builder::new().suffix(".csv").tempfile_in(&temp)?;
        let mut out = CsvWriter::with_dialect(file, b',', Quoting::NonNumeric);
        let names = frame.columns.iter().map(|column| column.name.as_str());
        out.header(names).map_err(io::Error::other)?;
        for row in 0..frame.rows {
            for column in &frame.columns {
                out.text(&column.text(row).unwrap_or_default());
            }
            out.end_row().map_err(io::Error::other)?;
        }
        let file = out.finish().map_err(io::Error::other)?;
        Ok(file.into_temp_path())
    };
    let written =
        write().map_err(|error| Error::writing("write the answers' rows in", &temp, &error))?;
    Ok(Some(written))
}
