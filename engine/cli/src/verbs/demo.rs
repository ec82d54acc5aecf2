//! `prep demo`: prepares and grades samples, without an account or a download.
//!
//! The demo runs the same code as `prep run` and `prep grade`, on sample bundles in a directory of its own.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::Args;
use prep_app::reasons::StatedReason;
use prep_app::{
    Catalog, Error, GradedList, GradingLog, Preparation, PreparationOptions, RememberedOptions,
    SAMPLES, SampleBundle, Settings, Summary, Verify, grade_list,
};
use prep_core::units;
use prep_grade::report::CompetitionReport;
use prep_spec::BASE_VARIANT;
use serde::Serialize;
use serde_json::json;

use crate::error::{CliError, Exit};
use crate::output::table::PrintedTable;
use crate::output::{grading, summary};
use crate::prep_toml::FILE;
use crate::request::{DownloadLimits, Purpose};
use crate::session::{CliSession, VerbResult};

/// Prepare and grade sample data that prep contains
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep demo
  prep demo -o /tmp/first-look

The demo needs no account and no network. It writes bundles, prepared data, cache and reports to DIR and nowhere else. If you \
run it again, no step runs.")]
pub struct DemoArgs {
    /// Directory of the demo: new, empty, or from an earlier demo
    #[arg(long, short, value_name = "DIR", default_value = "prep-demo")]
    output: PathBuf,
}

/// A graded submission.
#[derive(Debug, Serialize)]
struct Row {
    id: String,
    submission: String,
    score: Option<f64>,
    medal: Option<&'static str>,
    above_median: bool,
    /// Why the submission has no score.
    reason: Option<StatedReason>,
}

impl DemoArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let dir = &self.output;
        unpack(dir)?;
        let session = CliSession {
            settings: Settings {
                data_dir: dir.join("data"),
                store_dir: dir.join("cache"),
                pipelines: None,
                packs: None,
                ..session.settings.clone()
            },
            ..session.clone()
        };
        let ids: Vec<String> = SAMPLES.iter().map(|sample| sample.id.to_owned()).collect();
        let options = PreparationOptions {
            remembered: RememberedOptions {
                source: Some(bundles(dir)),
                // Published checksums apply to the real bundles only.
                verify: Some(Verify::Nothing),
                ..session.remembered.clone()
            },
            download: false,
            ..PreparationOptions::default()
        };
        let task = session.task(options, &DownloadLimits::default(), Purpose::Unused)?;
        let preparation = session.prepare(&task, &ids, false)?;
        if summary::exit(&preparation) != Exit::Success {
            summary::show(&session.printer, &preparation, Vec::new())?;
            return Ok(summary::exit(&preparation));
        }
        session.printer.message(sentence(&preparation));
        let list = dir.join("submissions.jsonl");
        let text = submissions(dir, &task.catalog, &session.settings)?;
        put(&list, text.as_bytes())?;
        let graded = grade_list(
            &session.settings,
            &task.catalog,
            &list,
            &[],
            &dir.join("reports"),
            &GradingLog::disabled(),
            None,
        )?;
        let rows = rows(&graded)?;
        let json = || {
            let competitions = preparation.summaries.iter().map(summary::json_of);
            json!({
                "competitions": competitions.collect::<Vec<_>>(),
                "submissions": rows,
                "report": graded.path,
            })
        };
        session.printer.show(json, || table(&graded, &rows))?;
        session.printer.message(next_commands(dir, &task.catalog)?);
        // Warns about an option that the demo ignores, and about a variable that overrides the demo's prep.toml.
        let settings = ["data_dir", "cache_dir"].map(|name| (name, session.places.origin(name)));
        for (name, origin) in settings {
            match origin {
                "option" => session.printer.warning(format!(
                    "the demo ignores --{}; name the directory of the demo with --output",
                    name.replace('_', "-")
                )),
                variable if session.places.text(variable).is_some() => {
                    session.printer.warning(format!(
                        "unset {variable} for these commands, because it has precedence over {}",
                        dir.join(FILE).display()
                    ))
                }
                _ => {}
            }
        }
        Ok(Exit::Success)
    }
}

/// Summarizes the run of the demo.
fn sentence(preparation: &Preparation) -> String {
    let sum = |steps: fn(&Summary) -> usize| -> u64 {
        preparation
            .summaries
            .iter()
            .map(|summary| steps(summary) as u64)
            .sum()
    };
    let (run, reused) = (
        sum(|summary| summary.steps_run),
        sum(|summary| summary.steps_reused),
    );
    let competitions = match preparation.summaries.len() {
        1 => "1 competition with sample data".to_owned(),
        count => format!("{count} competitions with sample data"),
    };
    match run {
        0 => format!(
            "{competitions}: nothing had to run, {} up to date\n",
            units::count(reused, "step")
        ),
        _ => format!(
            "{competitions} prepared: {} run, {reused} reused\n",
            units::count(run, "step")
        ),
    }
}

/// Returns JSON lines for grading: the prepared sample submissions, and the submissions embedded in the program.
fn submissions(dir: &Path, catalog: &Catalog, settings: &Settings) -> Result<String, CliError> {
    let mut text = String::new();
    for sample in SAMPLES {
        let entry = catalog.get(sample.id)?;
        let pipeline = entry.load(BASE_VARIANT)?;
        let prepared = settings.prepared_dir(sample.id);
        let grade = pipeline.grade.as_ref();
        let prepared_sample = grade.map(|grade| prepared.join(&grade.value.sample.value));
        for path in prepared_sample
            .into_iter()
            .chain(sample_submissions(sample, dir))
        {
            // Grading would resolve relative paths from another directory.
            let path = std::path::absolute(&path).unwrap_or(path);
            let line = json!({ "competition_id": sample.id, "submission_path": path });
            text.push_str(&format!("{line}\n"));
        }
    }
    Ok(text)
}

fn rows(graded: &GradedList) -> Result<Vec<Row>, CliError> {
    let row = |report: &CompetitionReport| Row {
        id: report.competition_id.clone(),
        submission: Path::new(&report.submission_path)
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
        score: report.score,
        medal: report.medals.any().then(|| grading::medal(report)),
        above_median: report.medals.above_median,
        reason: report
            .reason
            .as_ref()
            .map(|refusal| StatedReason::new(refusal.kind.name(), refusal.to_string())),
    };
    reports(graded).map(|report| Ok(row(report?))).collect()
}

fn reports(graded: &GradedList) -> impl Iterator<Item = Result<&CompetitionReport, CliError>> {
    let results = graded.results.iter();
    results.map(|(_, result)| result.as_ref().map_err(|error| error.clone().into()))
}

fn table(graded: &GradedList, rows: &[Row]) -> String {
    let mut table = PrintedTable::with_header("competition  submission  >score  medal");
    for (row, report) in rows.iter().zip(reports(graded).flatten()) {
        table.row(vec![
            row.id.clone(),
            row.submission.clone(),
            grading::score(report),
            match &row.reason {
                Some(reason) => format!("invalid: {}", reason.message),
                None => grading::medal(report).to_owned(),
            },
        ]);
    }
    table.render()
}

/// Returns commands that the user can try next in the demo's directory.
/// They need no options, because the prep.toml of that directory names the data, cache and bundle directories.
fn next_commands(dir: &Path, catalog: &Catalog) -> Result<String, CliError> {
    let dir = dir.display();
    let id = SAMPLES.first().map_or("ID", |sample| sample.id);
    let grade = catalog.get(id)?.load(BASE_VARIANT)?.grade;
    let step = grade.map_or_else(String::new, |grade| grade.value.sample.value);
    Ok(format!(
        "
the prepared files    {dir}/data/ID/prepared: public for participants, private for the grader
your own submission   cd {dir} && prep grade {id} FILE.csv
these submissions     cd {dir} && prep grade submissions.jsonl -o reports
why a step ran        cd {dir} && prep why {id} {step}
a page with pictures  cd {dir} && prep report -o report.html
with real bundles     prep run ID --source DIR      (DIR/ID.zip, as Kaggle serves it)"
    ))
}

const MARKER_FILE: &str = "prep-demo.txt";
/// The prep.toml of the demo's directory.
const SETTINGS: &str = "data_dir = \"data\"\ncache_dir = \"cache\"\nsource = \"bundles\"\n";
const MARKER_TEXT: &str = "`prep demo` wrote this directory from sample data. You can delete it.\n";

/// Writes the demo's bundles and submissions into `dir`. Does not rewrite a file that already has the same content.
/// Returns an error if `dir` is not empty and was not created by an earlier demo.
pub fn unpack(dir: &Path) -> Result<(), CliError> {
    if !dir.join(MARKER_FILE).is_file() {
        let occupied = match fs::read_dir(dir) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(Error::writing("use the directory", dir, &error).into()),
        };
        if occupied {
            let message = format!("{} is not empty", dir.display());
            return Err(CliError::new(Exit::Usage, message)
                .help("name a new or empty directory with --output"));
        }
    }
    put(&dir.join(MARKER_FILE), MARKER_TEXT.as_bytes())?;
    put(&dir.join(FILE), SETTINGS.as_bytes())?;
    for sample in SAMPLES {
        put(
            &bundles(dir).join(format!("{}.zip", sample.id)),
            sample.bundle,
        )?;
        for (name, content) in sample.submissions {
            put(&submission(dir, sample.id, name), content.as_bytes())?;
        }
    }
    Ok(())
}

pub fn bundles(dir: &Path) -> PathBuf {
    dir.join("bundles")
}

fn sample_submissions(sample: &SampleBundle, dir: &Path) -> impl Iterator<Item = PathBuf> {
    let names = sample.submissions.iter();
    names.map(|(name, _)| submission(dir, sample.id, name))
}

fn submission(dir: &Path, id: &str, name: &str) -> PathBuf {
    dir.join("submissions").join(id).join(name)
}

/// Writes a file, and creates its parent directories. Does not touch a file that already has this content.
pub fn put(path: &Path, content: &[u8]) -> Result<(), CliError> {
    if fs::read(path).is_ok_and(|found| found == content) {
        return Ok(());
    }
    let written = match path.parent() {
        Some(directory) => fs::create_dir_all(directory),
        None => Ok(()),
    };
    written
        .and_then(|()| fs::write(path, content))
        .map_err(|error| Error::writing("write", path, &error).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_small_and_belong_to_built_in_competitions() {
        let catalog = prep_app::Catalog::embedded();
        assert!(SAMPLES.len() >= 4);
        for sample in SAMPLES {
            let entry = catalog.get(sample.id).unwrap();
            assert!(entry.pipeline().is_ok() && entry.leaderboard.is_some());
            assert!(sample.bundle.len() < 60_000, "{}", sample.id);
            assert!(!sample.submissions.is_empty(), "{}", sample.id);
        }
    }

    #[test]
    fn a_demo_unpacks_into_new_empty_and_demo_directories() {
        let dir = tempfile::tempdir().unwrap();
        unpack(dir.path()).unwrap();
        let bundle = bundles(dir.path()).join(format!("{}.zip", SAMPLES[0].id));
        let time = || fs::metadata(&bundle).unwrap().modified().unwrap();
        let first = time();
        unpack(dir.path()).unwrap();
        assert_eq!(time(), first);
        fs::write(&bundle, "damaged").unwrap();
        unpack(dir.path()).unwrap();
        assert_eq!(fs::read(&bundle).unwrap(), SAMPLES[0].bundle);
        let nested = dir.path().join("not/there");
        unpack(&nested).unwrap();
        assert!(nested.join(MARKER_FILE).is_file());
        assert!(unpack(&bundle).is_err());
    }
}
