//! `prep demo`: prepares and grades samples, without an account or a download.
//!
//! The demo runs the same code as `prep run` and `prep grade`, on sample bundles. All its files are in one directory,
//! separate from the usual data and cache directories.

use std::path::{Path, PathBuf};

use clap::Args;
use prep_app::{
    Catalog, GradedList, GradingLog, Preparation, PreparationOptions, RememberedOptions, SAMPLES,
    Settings, Summary, Verify, grade_list,
};
use prep_core::units;
use prep_grade::report::CompetitionReport;
use prep_spec::BASE_VARIANT;
use serde::Serialize;
use serde_json::json;

use crate::downloads::{DownloadLimits, Purpose};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::table::PrintedTable;
use crate::output::{grading, summary};
use crate::samples;
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

/// One graded submission.
#[derive(Debug, Serialize)]
struct Row {
    id: String,
    submission: String,
    score: Option<f64>,
    medal: Option<&'static str>,
    above_median: bool,
    /// Why there is no score.
    refusal: Option<String>,
}

impl DemoArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let dir = &self.output;
        samples::unpack(dir)?;
        let session = CliSession {
            settings: Settings {
                data_dir: dir.join("data"),
                store_dir: dir.join("cache"),
                pipelines: None,
                ..session.settings.clone()
            },
            ..session.clone()
        };
        let ids: Vec<String> = SAMPLES.iter().map(|sample| sample.id.to_owned()).collect();
        let options = PreparationOptions {
            remembered: RememberedOptions {
                source: Some(samples::bundles(dir)),
                // The published checksums apply to the real bundles only.
                verify: Some(Verify::Nothing),
                ..session.remembered.clone()
            },
            download: false,
            ..PreparationOptions::default()
        };
        let task = session.task(options, &DownloadLimits::default(), Purpose::Unused)?;
        let preparation = session.prepare(&task, &ids, false)?;
        if summary::exit(&preparation) != Exit::Success {
            summary::show(&session.printer, &preparation)?;
            return Ok(summary::exit(&preparation));
        }
        session.printer.message(sentence(&preparation));
        let list = dir.join("submissions.jsonl");
        let text = submissions(dir, &task.catalog, &session.settings)?;
        samples::put(&list, text.as_bytes())?;
        let graded = grade_list(
            &session.settings,
            &task.catalog,
            &list,
            &dir.join("reports"),
            &GradingLog::disabled(),
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
        session.printer.message(next_commands(dir));
        Ok(Exit::Success)
    }
}

/// Summarizes the preparation in a sentence.
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

/// Returns the list of submissions to grade. For each competition, it has the prepared sample submission and the
/// submissions that are embedded in the program.
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
            .chain(samples::submissions(sample, dir))
        {
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
        refusal: report.reason.as_ref().map(ToString::to_string),
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
            match &row.refusal {
                Some(refusal) => format!("invalid: {refusal}"),
                None => grading::medal(report).to_owned(),
            },
        ]);
    }
    table.render()
}

/// Returns the next commands to try. They run in the demo's directory, whose prep.toml names the other directories.
fn next_commands(dir: &Path) -> String {
    let dir = dir.display();
    let id = SAMPLES.first().map_or("ID", |sample| sample.id);
    format!(
        "
the prepared files    {dir}/data/ID/prepared: public for participants, private for the grader
why the steps ran     cd {dir} && prep why {id} --skip-verification
a page with pictures  cd {dir} && prep report -o report.html
with real bundles     prep run ID --source DIR      (DIR/ID.zip, as Kaggle serves it)"
    )
}
