//! Experiments: their reports, the table that assigns run groups to them, and warnings about their figures. `prep summarize`
//! and `prep report` share this code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;
use prep_experiments::{CautionKind, Experiment, Group, LeftOutGroup, Runs};
use prep_report::GradedExperiment;
use prep_spec::joined;

use crate::error::{CliError, Exit};
use crate::global::{file_names, similar_path};
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

/// The reports of an experiment in order.
#[derive(Default)]
struct NamedReports {
    name: String,
    reports: Vec<PathBuf>,
    left_out_groups: Vec<LeftOutGroup>,
}

impl GroupArgs {
    /// Reads the runs of the experiments: those of the table or, without a table, those of `values`, which are `PATH` or
    /// `NAME=PATH`. Without `NAME`, the experiment has the name `default`. Warns about reports that are named several times.
    pub fn read(
        &self,
        session: &CliSession,
        values: &[PathBuf],
        default: &str,
    ) -> Result<Vec<GradedExperiment>, CliError> {
        let experiments = match &self.groups {
            Some(table) => self.experiments(table)?,
            None if self.runs.is_some() || !self.experiment.is_empty() => {
                return Err(CliError::usage("`--runs` and `--experiment` need --groups"));
            }
            None => named_reports(values, default)?,
        };
        warn_shared(session, &experiments);
        let experiments = experiments.into_iter().map(|one| {
            let mut runs = read_reports(session, &self.label(&one.name), &one.reports)?;
            if self.groups.is_some() {
                runs.agents.clear();
            }
            runs.left_out_groups = one.left_out_groups;
            let name = one.name;
            Ok(GradedExperiment { name, runs })
        });
        experiments.collect()
    }

    /// Returns the prefix of messages about an experiment. The prefix contains the experiment's name. If it is the
    /// default name, the prefix is empty, because this name means nothing to users.
    pub fn label(&self, experiment: &str) -> String {
        match self.groups.is_none() && experiment == DEFAULT_NAME {
            true => String::new(),
            false => format!("{experiment}: "),
        }
    }

    /// Returns the directory of the run groups.
    fn directory(&self, table: &Path) -> PathBuf {
        let directory = self.runs.as_deref().or(table.parent());
        let directory = directory.filter(|one| !one.as_os_str().is_empty());
        directory.unwrap_or(Path::new(".")).to_owned()
    }

    /// Returns the experiments of the table.
    fn experiments(&self, table: &Path) -> Result<Vec<NamedReports>, CliError> {
        let groups = prep_experiments::experiments(table).map_err(CliError::of_experiments);
        let groups = groups.map_err(|error| match table.is_dir() {
            true => error.help(format!(
                "name the table, for example `--groups {}`",
                table.join("run_group_experiments.csv").display()
            )),
            false => error,
        })?;
        let directory = self.directory(table);
        let found = self.requested(&groups, table)?.into_iter().map(|name| {
            let run_groups = groups.iter().filter(|group| group.experiment == name);
            let run_groups = run_groups.map(|group| group.run_group.as_str());
            let found = prep_experiments::reports_of_groups(run_groups, &directory);
            let (reports, left_out_groups) = found.map_err(CliError::of_experiments)?;
            Ok(NamedReports {
                name: name.to_owned(),
                reports,
                left_out_groups,
            })
        });
        let found = found.collect::<Result<Vec<_>, CliError>>()?;
        match found.iter().all(|one| one.reports.is_empty()) {
            true => Err(self.no_report(table, &found)),
            false => Ok(found),
        }
    }

    /// Returns the error that no run group of the requested experiments has a report.
    fn no_report(&self, table: &Path, experiments: &[NamedReports]) -> CliError {
        let directory = self.directory(table);
        let (shown, table) = (directory.display(), table.display());
        let mut groups = experiments.iter().flat_map(|one| &one.left_out_groups);
        if let Some(group) = groups.clone().find(|group| group.has_directory) {
            let message = format!("the run groups of {table} contain no grading report");
            let group = directory.join(&group.name);
            let group = group.display();
            return CliError::new(Exit::Input, message).help(format!(
                "write a report for each run group, for example with `prep grade {group} -o {group}`"
            ));
        }
        let names = groups.clone().map(|group| format!("`{}`", group.name));
        let names: Vec<String> = names.collect();
        let names = joined(names.into_iter(), MAX_NAMES);
        let message = format!("{shown} contains no directory of a run group of {table}: {names}");
        let error = CliError::new(Exit::Input, message);
        match groups.find_map(|group| similar_path(&directory.join(&group.name))) {
            Some(near) => error.suggest(Some(&near)),
            None => error.help("name the directory of the run groups with `--runs DIR`"),
        }
    }

    /// Warns about reasons why the figures of an experiment may mislead. `separation` states how to separate several agents.
    /// Without `shows_sets`, only figures of competitions are shown.
    pub fn warn(
        &self,
        session: &CliSession,
        experiment: &Experiment,
        separation: &str,
        shows_sets: bool,
    ) {
        let label = self.label(&experiment.name);
        let directory = self.directory(self.groups.as_deref().unwrap_or(Path::new("")));
        let mut groups = experiment.left_out_groups.iter();
        let group = groups.find(|one| one.has_directory);
        for caution in experiment.cautions() {
            let remedy = match caution.kind {
                CautionKind::GroupsWithoutReport => group.map(|group| {
                    let path = directory.join(&group.name);
                    let path = path.display();
                    format!("`prep grade {path} -o {path}` writes the report")
                }),
                CautionKind::Agents => Some(separation.to_owned()),
                CautionKind::Sets if !shows_sets => continue,
                CautionKind::Sets | CautionKind::Other => None,
            };
            let remedy = remedy.map(|remedy| format!("; {remedy}"));
            let text = format!("{label}{}{}", caution.text, remedy.unwrap_or_default());
            session.printer.warning(text);
        }
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
                let all = joined(names.iter().copied(), MAX_NAMES);
                let error = CliError::new(Exit::Input, message);
                return Err(error
                    .help(format!("the experiments are {all}"))
                    .suggest(near));
            }
        }
        names.retain(|name| {
            self.experiment.is_empty() || self.experiment.iter().any(|one| one == name)
        });
        Ok(names)
    }
}

/// Splits `NAME=PATH`. A value with `=` is a path if such a file exists.
fn split_name(value: &Path) -> (Option<&str>, &Path) {
    match value.to_str().and_then(|text| text.split_once('=')) {
        Some((name, path)) if !value.exists() => {
            let exists = Path::new(path).exists();
            let path = if exists { path } else { path.trim() };
            (Some(name.trim()), Path::new(path))
        }
        _ => (None, value),
    }
}

/// Returns an error if there are spaces around the `=` of `NAME=PATH`.
fn check_spaces(values: &[PathBuf]) -> Result<(), CliError> {
    let text = |at: Option<usize>| values.get(at?)?.to_str();
    for (at, value) in values.iter().enumerate() {
        let Some(part) = value.to_str().filter(|_| !value.exists()) else {
            continue;
        };
        let before = part
            .starts_with('=')
            .then(|| text(at.checked_sub(1)).unwrap_or("NAME"));
        let after = part
            .ends_with('=')
            .then(|| text(Some(at + 1)).unwrap_or("PATH"));
        if before.or(after).is_some() {
            let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
            let error = CliError::usage(format!("`{part}` is not a grading report"));
            return Err(error.help(format!("write `{before}{part}{after}`")));
        }
    }
    Ok(())
}

/// Returns the existing paths that match a glob, sorted. Shells do not expand a glob after `NAME=`.
fn matching(glob: &Path) -> Vec<PathBuf> {
    glob.components().fold(vec![PathBuf::new()], |found, part| {
        let glob = part
            .as_os_str()
            .to_str()
            .filter(|part| part.contains(['*', '?', '[', '{']));
        let glob = glob.and_then(|part| prep_spec::path_glob(part).ok());
        let Some(matcher) = glob.map(|glob| glob.compile_matcher()) else {
            return found
                .iter()
                .map(|path| path.join(part))
                .filter(|path| path.exists())
                .collect();
        };
        let inner = found.iter().flat_map(|path| {
            let names = file_names(path).into_iter();
            let names = names.filter(|name| !name.starts_with('.') && matcher.is_match(name));
            names.map(|name| path.join(name))
        });
        inner.collect()
    })
}

/// Returns the reports of each experiment, in the order of each experiment's first report. The reports of an experiment are
/// sorted by path.
fn named_reports(values: &[PathBuf], default: &str) -> Result<Vec<NamedReports>, CliError> {
    check_spaces(values)?;
    let mut experiments: Vec<NamedReports> = Vec::new();
    for value in values {
        let (name, path) = split_name(value);
        let name = name.unwrap_or(default);
        let paths = reports_at(path)?;
        match experiments.iter_mut().find(|one| one.name == name) {
            Some(one) => one.reports.extend(paths),
            None => experiments.push(NamedReports {
                name: name.to_owned(),
                reports: paths,
                ..NamedReports::default()
            }),
        }
    }
    for one in &mut experiments {
        one.reports.sort();
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
        let found = prep_experiments::reports_at(path).map_err(CliError::of_experiments);
        let help = format!("if it contains runs, grade them first: `prep grade {shown} -o DIR`");
        return found.map_err(|error| error.help(help));
    }
    let matching = matching(path);
    if !matching.is_empty() {
        let reports = matching
            .iter()
            .map(|path| prep_experiments::reports_at(path));
        let reports = reports.collect::<Result<Vec<_>, _>>();
        return Ok(reports.map_err(CliError::of_experiments)?.concat());
    }
    let error = CliError::new(
        Exit::Input,
        format!("there is no file or directory `{shown}`"),
    );
    Err(error.suggest(similar_path(path).as_deref()))
}

/// Warns about reports that belong to several experiments, because the experiments then contain the same runs.
fn warn_shared(session: &CliSession, experiments: &[NamedReports]) {
    let mut names: BTreeMap<PathBuf, BTreeSet<&str>> = BTreeMap::new();
    for (name, path) in experiments
        .iter()
        .flat_map(|one| one.reports.iter().map(|path| (&one.name, path)))
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
fn read_reports(session: &CliSession, label: &str, reports: &[PathBuf]) -> Result<Runs, CliError> {
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
