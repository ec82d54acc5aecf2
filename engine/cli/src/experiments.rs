//! Experiments: their reports, the table that assigns run groups to them, and warnings about their figures. `prep summarize`
//! and `prep report` share this code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;
use prep_experiments::{Caution, Experiment, Group, Runs};
use prep_spec::joined;

use crate::error::{CliError, Exit};
use crate::global::similar_path;
use crate::session::CliSession;

/// The options of a table of run groups.
#[derive(Debug, Args)]
pub struct GroupArgs {
    /// A CSV with the columns experiment_id and run_group, in place of reports
    ///
    /// Each run group is a directory that contains its own report. `prep grade runs/GROUP -o runs/GROUP` writes this report.
    #[arg(long, value_name = "TABLE.csv")]
    pub groups: Option<PathBuf>,
    /// Directory of the run groups [default: the directory of the table]
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
    /// Only this experiment of the table
    #[arg(long, value_name = "ID")]
    experiment: Vec<String>,
}

/// Name of the experiment of reports for which the user gave no name.
pub const DEFAULT_NAME: &str = "experiment";

/// An experiment, and the paths of its reports in order.
pub type NamedReports = (String, Vec<PathBuf>);

impl GroupArgs {
    /// Returns the experiments of the table. Returns `None` without a table.
    pub fn experiments(&self, session: &CliSession) -> Result<Option<Vec<NamedReports>>, CliError> {
        let Some(table) = &self.groups else {
            return match self.runs.is_some() || !self.experiment.is_empty() {
                true => Err(CliError::usage("`--runs` and `--experiment` need --groups")),
                false => Ok(None),
            };
        };
        let groups = prep_experiments::experiments(table).map_err(CliError::of_experiments);
        let groups = groups.map_err(|error| match table.is_dir() {
            true => error.help(format!(
                "name the table, for example `--groups {}`",
                table.join("run_group_experiments.csv").display()
            )),
            false => error,
        })?;
        let directory = table.parent().unwrap_or(Path::new(""));
        let runs = self.runs.as_deref().unwrap_or(directory);
        let exists = |group: &Group| runs.join(&group.run_group).is_dir();
        if !groups.is_empty() && !groups.iter().any(exists) {
            let directory = match runs.as_os_str().is_empty() {
                true => Path::new("."),
                false => runs,
            };
            let message = format!(
                "{} contains no directory of a run group of {}",
                directory.display(),
                table.display()
            );
            return Err(CliError::new(Exit::Input, message)
                .help("name the directory of the run groups, for example `--runs runs`"));
        }
        let found = self.requested(&groups, table)?;
        let found = found
            .into_iter()
            .map(|name| {
                let run_groups = groups.iter().filter(|group| group.experiment == name);
                let run_groups = run_groups.map(|group| group.run_group.as_str());
                let mut reports = Vec::new();
                for (group, found) in prep_experiments::reports_of_groups(run_groups, runs)
                    .map_err(CliError::of_experiments)?
                {
                    match found {
                        Ok(path) => reports.push(path),
                        Err(why) => {
                            let directory = runs.join(&group);
                            let shown = directory.display();
                            let advice = match directory.is_dir() {
                                true => {
                                    format!("; `prep grade {shown} -o {shown}` writes the report")
                                }
                                false => String::new(),
                            };
                            session.printer.warning(format!(
                                "{name}: the run group {group} is left out: {why}{advice}"
                            ));
                        }
                    }
                }
                Ok((name.to_owned(), reports))
            })
            .collect::<Result<_, CliError>>()?;
        Ok(Some(found))
    }

    /// Returns the requested experiments without duplicates, in the order of the table.
    fn requested<'a>(&self, groups: &'a [Group], table: &Path) -> Result<Vec<&'a str>, CliError> {
        let mut names: Vec<&str> = Vec::new();
        for group in groups {
            if !names.contains(&group.experiment.as_str()) {
                names.push(&group.experiment);
            }
        }
        for wanted in &self.experiment {
            if !names.contains(&wanted.as_str()) {
                let message = format!("{} has no experiment `{wanted}`", table.display());
                let near = prep_spec::nearest(wanted, names.iter().copied());
                return Err(CliError::new(Exit::Input, message).suggest(near));
            }
        }
        names.retain(|name| {
            self.experiment.is_empty() || self.experiment.iter().any(|one| one == name)
        });
        Ok(names)
    }
}

/// Returns the reports of each experiment, in the order of each experiment's first report. A value is `PATH` or `NAME=PATH`.
/// Without `NAME`, the experiment has the name `default`.
pub fn named_reports(values: &[PathBuf], default: &str) -> Result<Vec<NamedReports>, CliError> {
    let mut experiments: Vec<NamedReports> = Vec::new();
    for value in values {
        // A value with `=` is a path if such a file exists.
        let pair = value.to_str().and_then(|text| text.split_once('='));
        let (name, path) = match pair {
            Some((name, path)) if !value.exists() => (name, Path::new(path)),
            _ => (default, value.as_path()),
        };
        let paths = reports_at(path)?;
        match experiments.iter_mut().find(|(other, _)| other == name) {
            Some((_, all)) => all.extend(paths),
            None => experiments.push((name.to_owned(), paths)),
        }
    }
    Ok(experiments)
}

/// Returns the reports at a path. The error for another file suggests the option or the path that was probably meant.
fn reports_at(path: &Path) -> Result<Vec<PathBuf>, CliError> {
    let shown = path.display();
    if path.extension().is_some_and(|end| end == "csv") {
        let error = CliError::usage(format!("{shown} is a CSV file, not a grading report"));
        return Err(error.help(format!(
            "if the file assigns run groups to experiments, write `--groups {shown}`"
        )));
    }
    if path.exists() {
        return prep_experiments::reports_at(path).map_err(CliError::of_experiments);
    }
    let error = CliError::new(
        Exit::Input,
        format!("there is no file or directory `{shown}`"),
    );
    Err(error.suggest(similar_path(path).as_deref()))
}

/// Warns about reports that belong to several experiments, because the experiments then contain the same runs.
pub fn warn_shared(session: &CliSession, experiments: &[NamedReports]) {
    let mut names: BTreeMap<PathBuf, BTreeSet<&str>> = BTreeMap::new();
    for (name, path) in experiments
        .iter()
        .flat_map(|(name, paths)| paths.iter().map(move |path| (name, path)))
    {
        let file = path.canonicalize().unwrap_or_else(|_| path.clone());
        names.entry(file).or_default().insert(name);
    }
    let shared: BTreeSet<&BTreeSet<&str>> =
        names.values().filter(|names| names.len() > 1).collect();
    for names in shared {
        let names = joined(names.iter().map(|name| format!("`{name}`")), MAX_NAMES);
        session.printer.warning(format!(
            "these experiments contain the same reports, so they share runs: {names}"
        ));
    }
}

/// Maximum number of paths or names in a message.
const MAX_NAMES: usize = 3;

/// Reads the reports of an experiment, each report once. Warns about reports that the user named several times.
pub fn read_reports(
    session: &CliSession,
    label: &str,
    reports: &[PathBuf],
) -> Result<Runs, CliError> {
    let runs = prep_experiments::read_reports(reports).map_err(CliError::of_experiments)?;
    let repeated = runs.repeated_reports.iter();
    let repeated = repeated.map(|path| path.display().to_string());
    let is = match repeated.len() {
        0 => return Ok(runs),
        1 => "1 report is",
        _ => "some reports are",
    };
    session.printer.warning(format!(
        "{label}{is} named several times, but counted once: {}",
        joined(repeated, MAX_NAMES)
    ));
    Ok(runs)
}

/// Warns about reasons why the figures of an experiment may mislead. `separation` states how to separate several agents.
pub fn warn(session: &CliSession, label: &str, experiment: &Experiment, separation: &str) {
    for caution in experiment.cautions() {
        session.printer.warning(match &caution {
            Caution::Agents(_) => format!("{label}{caution}; {separation}"),
            _ => format!("{label}{caution}"),
        });
    }
}
