//! `prep report`: writes an HTML page about prepared and graded data.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use clap::Args;
use prep_app::{
    Catalog, Error, FailedRun, PreparationOptions, PreparedState, RememberedOptions, Task,
};
use prep_core::units;
use prep_report::{GradedExperiment, ReportSubject};
use prep_spec::{BASE_VARIANT, joined};
use serde_json::{Value, json};

use crate::error::{CliError, Exit};
use crate::experiments::{DEFAULT_NAME, GroupArgs};
use crate::output::printer::write_atomically;
use crate::output::progress::activity::Activity;
use crate::request::{DownloadLimits, Purpose};
use crate::select::Selection;
use crate::session::{CliSession, VerbResult};

/// Write an HTML page about prepared and graded data
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep report -o report.html
  prep report spaceship-titanic --grading runs/grading_report.json -o report.html
  prep report --lite --grading mine=a.json --grading mine=b.json --grading theirs=reports -o report.html
  prep report --groups runs/run_group_experiments.csv -o report.html

The page shows files, splits, leaderboards and experiments. Without an ID it is about all prepared and graded \
competitions. Grading reports with the same NAME are the seeds of one experiment. The page is one file without scripts \
or requests. It shows the distribution of test labels, unless the answers are sealed, so do not give it to agents.")]
pub struct ReportArgs {
    #[command(flatten)]
    selection: Selection,
    /// Show this variant only [default: all that are prepared]
    #[arg(long, value_name = "NAME", value_parser = crate::options::variant_name)]
    variant: Option<String>,
    /// A grading report, or a directory of them; can be repeated
    ///
    /// Reports of prep and of upstream are accepted. From a directory, all files *grading_report*.json are read.
    #[arg(long, value_name = "[NAME=]REPORT.json", conflicts_with = "groups")]
    grading: Vec<PathBuf>,
    #[command(flatten)]
    table: GroupArgs,
    /// The file to write
    #[arg(long, short, value_name = "FILE.html")]
    output: PathBuf,
}

/// Returns the JSON of a competition on the page, with its dates on Kaggle.
fn to_json(catalog: &Catalog, id: &str) -> Value {
    let dates = catalog.find(id).map(|entry| entry.dates());
    let dates = dates.unwrap_or_default();
    json!({ "id": id, "launched": dates.launched, "closed": dates.closed })
}

impl ReportArgs {
    /// Returns an error if the output is a file but not an HTML page, because the user probably named the wrong file.
    fn require_page(&self) -> Result<(), CliError> {
        let mut start = [0; 9];
        let Ok(length) = File::open(&self.output).and_then(|file| file.read_at(&mut start, 0))
        else {
            return Ok(());
        };
        if !self.output.is_file() || length == 0 || start.eq_ignore_ascii_case(b"<!doctype") {
            return Ok(());
        }
        let message = format!("{} is not an HTML page", self.output.display());
        let help = "name another file with -o, because the report would replace this one";
        Err(CliError::usage(message).help(help))
    }

    pub fn call(&self, session: &CliSession) -> VerbResult {
        self.require_page()?;
        let options = PreparationOptions {
            download: false,
            ..session.options_with(RememberedOptions::default())
        };
        let task = session.task(options, &DownloadLimits::default(), Purpose::Unused)?;
        let mut graded = self.table.read(session, &self.grading, DEFAULT_NAME)?;
        leave_out_unknown(session, &task.catalog, &mut graded);
        let variant = self.variant.as_deref();
        let ids = self
            .selection
            .ids_or(session, || prepared_or_graded(&task, variant, &graded))?;
        let is_path = |id: &&String| {
            task.catalog.find(id).is_none() && (id.contains('=') || Path::new(id).exists())
        };
        if let Some(path) = ids.iter().find(is_path) {
            return Err(
                CliError::usage(format!("there is no competition `{path}`")).help(format!(
                    "if it is a grading report, write `--grading {path}`"
                )),
            );
        }
        let wanted = ReportSubject {
            ids: &ids,
            variant,
            graded: &graded,
        };
        let count = units::count(ids.len() as u64, "competition");
        let activity = Activity::start(&session.printer, format!("reading {count}"));
        let (html, content) = prep_report::html(&task, &wanted, |place, id| {
            activity.set(format!("reading {id} ({} of {})", place + 1, ids.len()));
        })?;
        drop(activity);
        let separation = "to compare the agents, grade each run group into its own directory, and name each agent's reports \
                          with --grading NAME=REPORT.json";
        for experiment in &content.experiments.all {
            self.table.warn(session, experiment, separation, true);
        }
        if content.left_out > 0 {
            let count = units::count(content.left_out as u64, "graded submission");
            session.printer.warning(format!(
                "{count} left out, because the page does not show their competition or variant"
            ));
        }
        // A set selects from the prepared competitions. A single id is a request for this competition.
        let named = self
            .selection
            .ids
            .iter()
            .chain(&self.selection.competitions);
        let named: Vec<&String> = named.collect();
        let unprepared = content
            .competitions
            .iter()
            .filter(|one| one.state == PreparedState::NotPrepared && named.contains(&&one.id));
        let unprepared: Vec<&str> = unprepared.map(|one| one.id.as_str()).collect();
        if !unprepared.is_empty() {
            let variant = variant.unwrap_or(BASE_VARIANT);
            session.printer.warning(format!(
                "variant `{variant}` is not prepared: {}",
                joined(unprepared.into_iter(), MAX_NAMES)
            ));
        }
        let parent = self.output.parent().unwrap_or(Path::new(""));
        std::fs::create_dir_all(parent)
            .map_err(|error| Error::writing("create the directory", parent, &error))?;
        write_atomically(&self.output, |out| out.write_all(html.as_bytes()))?;
        let json = || {
            let repeated = content.experiments.all.iter();
            let repeated = repeated.filter(|one| !one.repeated_runs.is_empty());
            json!({
                "competitions": ids.iter().map(|id| to_json(&task.catalog, id)).collect::<Vec<_>>(),
                "path": self.output,
                "bytes": html.len(),
                "repeated_runs": repeated.map(|one| json!({
                    "experiment": one.name,
                    "runs": one.repeated_runs,
                })).collect::<Vec<_>>(),
            })
        };
        let text = || {
            format!(
                "{}: {}, {}\n",
                self.output.display(),
                count,
                units::bytes(html.len() as u64)
            )
        };
        session.printer.show(json, text)?;
        Ok(Exit::Success)
    }
}

/// Maximum number of ids in a message.
const MAX_NAMES: usize = 10;

/// Removes runs of competitions that have no pipeline, and warns about these competitions.
fn leave_out_unknown(session: &CliSession, catalog: &Catalog, graded: &mut [GradedExperiment]) {
    let mut ids = BTreeSet::new();
    for experiment in graded {
        experiment.runs.graded.retain(|run| {
            let is_known = catalog.find(&run.competition).is_some();
            if !is_known {
                ids.insert(run.competition.clone());
            }
            is_known
        });
    }
    for id in ids {
        session.printer.warning(format!(
            "`{id}` was graded, but is left out because it has no pipeline; name the directory that contains the pipeline with --pipelines"
        ));
    }
}

/// Returns competitions that were graded, are prepared, or whose last run failed. If `variant` is given, ignores
/// preparations and failed runs of other variants.
fn prepared_or_graded(
    task: &Task,
    variant: Option<&str>,
    graded: &[GradedExperiment],
) -> Result<Vec<String>, CliError> {
    let variants = match variant {
        Some(variant) => vec![variant.to_owned()],
        None => task.settings.variants(),
    };
    let mut ids = Vec::new();
    for entry in task.catalog.iter() {
        let was_graded = graded
            .iter()
            .flat_map(|experiment| &experiment.runs.graded)
            .any(|run| run.competition == entry.id);
        let mut is_shown = was_graded;
        for variant in &variants {
            let directory = task.settings.data_dir_of(variant);
            // An unreadable manifest also selects the competition, because the page shows the error.
            is_shown |= !matches!(prep_app::manifest(&directory, &entry.id), Ok(None))
                || FailedRun::read(&directory, &entry.id).is_some();
        }
        if is_shown {
            ids.push(entry.id.clone());
        }
    }
    let is_prepared = |variant: &String| {
        let directory = task.settings.data_dir_of(variant);
        !prep_app::prepared_ids(&task.catalog, &directory).is_empty()
    };
    match (ids.is_empty(), variant) {
        (false, _) => Ok(ids),
        (true, None) => Err(
            CliError::usage("no competition is prepared in the data directory")
                .help("run `prep run`, or name another data directory with --data-dir"),
        ),
        (true, Some(variant)) => {
            let message =
                format!("no competition is prepared in the data directory as variant `{variant}`");
            let mut others = task.settings.variants();
            others.retain(is_prepared);
            Err(CliError::usage(message).help(match others.is_empty() {
                true => format!("run `prep run --variant {variant}`, or name another data directory with --data-dir"),
                false => format!("these variants are prepared: {}", others.join(", ")),
            }))
        }
    }
}
