//! `prep summarize`: computes leaderboard figures from the grading reports of many runs.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use prep_experiments::{
    Choice, Experiment, GradedRun, GradingReport, Group, LeftOut, Set, SkipReason, Take,
    reports_in, summarise,
};

use prep_core::{chain, units};

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::experiments;
use crate::output::table::joined;
use crate::session::{CliSession, VerbResult};
use crate::values::at_least_one;

/// Aggregate grading reports into leaderboard figures
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep summarize runs/*/*grading_report*.json --name my-agent
  prep summarize --groups runs/run_group_experiments.csv
  prep summarize --groups runs/run_group_experiments.csv --experiment my-agent --format markdown
  prep summarize reports/*.json --set low --per-competition

The figures are means and standard errors over seeds, in percent. The k-th runs of all competitions of a set are seed k. \
The number of seeds is the smallest number of runs of any competition. If a competition has more runs, the first ones are \
used, as in upstream's script (--take last: the last ones). Reports are in order of their paths, run groups in order of \
their names.")]
pub struct SummarizeArgs {
    /// Grading reports of an experiment, or directories of *grading_report*.json
    #[arg(
        value_name = "REPORT.json|DIR",
        required_unless_present = "groups",
        conflicts_with = "groups"
    )]
    reports: Vec<PathBuf>,
    /// Name of the experiment
    #[arg(long, value_name = "NAME", default_value = "experiment")]
    name: String,
    /// A CSV of experiment_id,run_group, in place of reports
    #[arg(long, value_name = "TABLE.csv")]
    groups: Option<PathBuf>,
    /// Directory of the run groups [default: the directory of the table]
    #[arg(long, value_name = "DIR", requires = "groups")]
    runs: Option<PathBuf>,
    /// Only this experiment of the table
    #[arg(long, value_name = "ID", requires = "groups")]
    experiment: Vec<String>,
    /// A set, or a file with one id per line [default: low, medium, high, all]
    #[arg(long, value_name = "NAME|FILE")]
    set: Vec<String>,
    /// Number of seeds [default: all complete ones]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    seeds: Option<usize>,
    /// Which runs to use if a competition has more runs than there are seeds
    #[arg(long, value_name = "WHICH", value_enum, default_value_t)]
    take: TakeArg,
    /// Count missing runs as failed, instead of dropping incomplete seeds
    #[arg(long)]
    pad_missing: bool,
    /// Show figures per competition instead of per set
    #[arg(long)]
    per_competition: bool,
    /// Format of the result; --json prints everything
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        conflicts_with = "json"
    )]
    format: Format,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TakeArg {
    /// The first runs, as in the benchmark's script.
    #[default]
    First,
    /// The last runs, because earlier ones may have failed for technical reasons.
    Last,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    #[default]
    Text,
    Csv,
    /// A row of the benchmark's leaderboard.
    Markdown,
}

impl SummarizeArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let sets = self.sets()?;
        let choice = Choice {
            take: match self.take {
                TakeArg::Last => Take::Last,
                TakeArg::First => Take::First,
            },
            number: self.seeds,
            pad: self.pad_missing,
        };
        let mut found = Vec::new();
        for (name, reports) in self.experiments(session)? {
            let runs = runs(&reports)?;
            let mut one = summarise(&name, &runs, &sets, &choice);
            if !self.set.is_empty() {
                let is_wanted = |id: &String| sets.iter().any(|set| set.competitions.contains(id));
                one.competitions.retain(|one| is_wanted(&one.competition));
            }
            found.push(one);
        }
        let printer = &session.printer;
        match (printer.json, self.format, self.per_competition) {
            (true, _, _) => printer.json(&experiments::json(&found))?,
            (_, Format::Text, false) => printer.table(&experiments::by_set(&found))?,
            (_, Format::Text, true) => printer.table(&experiments::by_competition(&found))?,
            (_, Format::Csv, false) => printer.result(&experiments::csv_by_set(&found))?,
            (_, Format::Csv, true) => printer.result(&experiments::csv_by_competition(&found))?,
            (_, Format::Markdown, _) => printer.result(&experiments::markdown(&found))?,
        }
        Ok(self.complete(session, &found))
    }

    fn sets(&self) -> Result<Vec<Set>, CliError> {
        if self.set.is_empty() {
            return Ok(Set::leaderboard());
        }
        let set = |name: &String| match Set::by_name(name) {
            Some(set) => Ok(set),
            None if Path::new(name).extension().is_some() => {
                Set::read(Path::new(name)).map_err(CliError::of_experiments)
            }
            None => {
                let error = CliError::usage(format!("there is no set `{name}`"));
                let error = error.help("name a set, or a text file with one id per line");
                Err(error.suggest(prep_spec::nearest(name, Set::names())))
            }
        };
        self.set.iter().map(set).collect()
    }

    /// Returns the names of the experiments, and the paths of their reports in order.
    fn experiments(&self, session: &CliSession) -> Result<Vec<(String, Vec<PathBuf>)>, CliError> {
        let Some(table) = &self.groups else {
            let mut reports = Vec::new();
            for path in &self.reports {
                match path.is_dir() {
                    true => reports.extend(reports_in(path).map_err(CliError::of_experiments)?),
                    false => reports.push(path.clone()),
                }
            }
            reports.sort();
            return Ok(vec![(self.name.clone(), reports)]);
        };
        let groups = prep_experiments::experiments(table).map_err(CliError::of_experiments)?;
        let directory = table.parent().unwrap_or(Path::new(""));
        let runs = self.runs.as_deref().unwrap_or(directory);
        self.requested(&groups, table)?
            .into_iter()
            .map(|name| {
                let run_groups = groups.iter().filter(|group| group.experiment == name);
                let run_groups = run_groups.map(|group| group.run_group.as_str());
                let mut reports = Vec::new();
                for (group, found) in
                    prep_experiments::collect(run_groups, runs).map_err(CliError::of_experiments)?
                {
                    match found {
                        Ok(path) => reports.push(path),
                        Err(why) => session.printer.warning(format!(
                            "{name}: the run group {group} is left out: {}",
                            match why {
                                SkipReason::Directory => "there is no such directory",
                                SkipReason::Report => "it has no grading report",
                            }
                        )),
                    }
                }
                Ok((name.to_owned(), reports))
            })
            .collect()
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

    /// Reports sets without figures. They are an error if the user requested sets by name, or if no set has figures.
    fn complete(&self, session: &CliSession, found: &[Experiment]) -> Exit {
        let mut exit = Exit::Success;
        for experiment in found {
            let has_no_figures = experiment.sets.iter().all(|(_, figures)| figures.is_err());
            for (set, figures) in &experiment.sets {
                let error = match figures {
                    Ok(figures) => {
                        if let Some(left_out) = &figures.left_out {
                            let text = why_no_more(figures.seeds, left_out);
                            let text = format!("{}: `{set}` has {text}", experiment.name);
                            session.printer.warning(text);
                        }
                        continue;
                    }
                    Err(error) => error,
                };
                let text = format!(
                    "{}: no figures for `{set}`: {}",
                    experiment.name,
                    chain(error)
                );
                if has_no_figures || !self.set.is_empty() {
                    session.printer.error(&CliError::new(Exit::Input, text));
                    exit = Exit::Input;
                } else {
                    session.printer.message(text);
                }
            }
        }
        exit
    }
}

/// Maximum number of competitions that are named. Others are only counted.
const MAX_NAMES: usize = 3;

/// Explains why there are not more seeds: which competitions have the fewest runs.
fn why_no_more(seeds: usize, left_out: &LeftOut) -> String {
    let LeftOut { most, fewest } = left_out;
    let have = if fewest.len() == 1 { "has" } else { "have" };
    format!(
        "{}, because {} {have} only {}; others have up to {most}",
        units::count(seeds as u64, "seed"),
        joined(fewest.iter().cloned(), MAX_NAMES),
        units::count(seeds as u64, "run"),
    )
}

/// Returns the runs of all reports, in order.
fn runs(reports: &[PathBuf]) -> Result<Vec<GradedRun>, CliError> {
    let mut runs = Vec::new();
    for path in reports {
        runs.extend(
            GradingReport::read(path)
                .map_err(CliError::of_experiments)?
                .runs,
        );
    }
    Ok(runs)
}
