//! `prep summarize`: computes leaderboard figures from the grading reports of many runs.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use prep_app::reasons::StatedReason;
use prep_core::units;
use prep_experiments::{
    Budget, Budgets, Choice, CompetitionSummary, Experiment, GRADED, METRICS, OWN, Runs, Set,
    SetSummary, summarise,
};
use prep_report::GradedExperiment;
use prep_spec::joined;
use serde_json::{Map, Value, json};

use crate::error::{CliError, Exit};
use crate::experiments::{DEFAULT_NAME, GroupArgs};
use crate::forms;
use crate::global::at_least_one;
use crate::output::table::PrintedTable;
use crate::select;
use crate::session::{CliSession, VerbResult};

/// Aggregate grading reports into leaderboard figures
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep summarize runs/*/*grading_report*.json --name my-agent
  prep summarize --groups runs/run_group_experiments.csv
  prep summarize --groups runs/run_group_experiments.csv --experiment my-agent --format markdown
  prep summarize reports/*.json --set low --per-competition
  prep summarize mine=reports/mine theirs=reports/theirs
  prep summarize reports --ids-from mine.txt

The figures are means and standard errors over seeds, in percent. The k-th runs of all competitions of a set are seed k. \
The number of seeds is the smallest number of runs of any competition. If a competition has more runs, its first ones are \
used, as in upstream's script (--take last: the last ones). Figures of --per-competition use all runs or, with --seeds N, \
the first N runs of each competition. Reports are in order of their paths, run groups in order of \
their names.")]
pub struct SummarizeArgs {
    /// Grading reports, or directories of *grading_report*.json
    #[arg(
        value_name = "[NAME=]REPORT.json|DIR",
        required_unless_present = "groups",
        conflicts_with = "groups"
    )]
    reports: Vec<PathBuf>,
    /// Name of the experiment of reports without NAME
    #[arg(long, value_name = "NAME", default_value = DEFAULT_NAME)]
    name: String,
    #[command(flatten)]
    table: GroupArgs,
    /// A named set [default: each of low, medium, high, all, own]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    set: Vec<String>,
    /// A text file with one id per line, as a set
    ///
    /// Empty lines and lines that start with # are skipped. The name of the file is the name of the set.
    #[arg(long, value_name = "FILE")]
    ids_from: Vec<PathBuf>,
    /// Number of seeds, and of runs of each competition [default: all]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    seeds: Option<usize>,
    /// Which runs to use if a competition has more runs than there are seeds
    #[arg(long, value_name = "WHICH", value_enum, default_value_t)]
    take: TakeArg,
    /// Count missing runs as failed, instead of dropping incomplete seeds
    #[arg(long)]
    pad_missing: bool,
    /// YAML or JSON file with hours, hardware, model and cutoff of each experiment
    ///
    /// The fields are agent, model, cutoff, hours, hardware, date, leakage, source and reports. Fields below the name of an
    /// experiment apply only to this experiment. Other fields apply to all experiments.
    #[arg(long, value_name = "FILE.yaml")]
    budget: Option<PathBuf>,
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

/// Help for reports on fewer competitions than a set contains.
const HELP_INCOMPLETE: &str = "--pad-missing counts missing runs as failed, and --ids-from FILE uses your own list of competitions";
/// The same if the user has already requested padding, which adds no seeds beyond the competition with the most runs.
const HELP_PADDED: &str = "--seeds can be at most the number of runs of the competition with the most runs, and --ids-from FILE uses your own list of competitions";

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
        let reports = match self.table.groups {
            Some(_) => forms::GROUPS,
            None => forms::REPORTS,
        };
        let format = match self.format {
            _ if session.printer.json => forms::JSON,
            Format::Text => forms::TEXT,
            Format::Csv => forms::CSV,
            Format::Markdown => forms::MARKDOWN,
        };
        forms::check("summarize", &[reports, format])?;
        let mut sets = self.sets()?;
        let budgets = self.budget.as_deref().map(Budgets::read).transpose();
        let budgets = budgets
            .map_err(CliError::of_experiments)?
            .unwrap_or_default();
        let choice = Choice {
            last: self.take == TakeArg::Last,
            number: self.seeds,
            pad: self.pad_missing,
        };
        let experiments = self.table.read(session, &self.reports, &self.name)?;
        self.check_ids(session, &sets, &experiments)?;
        if !self.names_sets() {
            let runs = experiments.iter().flat_map(|one| &one.runs.graded);
            let own = Set::own(runs.clone());
            // If all competitions are of the set `own`, this set has the same figures.
            sets.extend(Set::graded(runs).filter(|set| set.competitions != own.competitions));
        }
        let all = experiments.iter().flat_map(|one| &one.runs.graded);
        let all = Runs {
            graded: all.cloned().collect(),
            ..Runs::default()
        };
        let mut found = Vec::new();
        for GradedExperiment { name, runs } in experiments {
            let mut sets = sets.clone();
            let is_named = self.set.iter().any(|name| name == OWN);
            let own = Set::own(&runs.graded);
            if is_named || !self.names_sets() && !own.competitions.is_empty() {
                sets.push(own);
            }
            let mut one = summarise(&name, &runs, &sets, &choice);
            if self.names_sets() {
                let is_wanted = |id: &String| sets.iter().any(|set| set.competitions.contains(id));
                one.competitions.retain(|one| is_wanted(&one.competition));
                // The set `own` contains only graded competitions, so it does not decide which ungraded runs matter.
                one.ungraded_runs
                    .retain(|run| is_named || is_wanted(&run.competition));
            }
            found.push(one);
        }
        let printer = &session.printer;
        if let Some(warning) = differences(&all, &found, &choice) {
            printer.warning(warning);
        }
        let unknown = budgets.experiments();
        let unknown = unknown.filter(|name| found.iter().all(|one| one.name != *name));
        let unknown: Vec<String> = unknown.map(|name| format!("`{name}`")).collect();
        if !unknown.is_empty() {
            let names = joined(unknown.into_iter(), MAX_NAMES);
            printer.warning(format!(
                "the budget file contains experiments without runs: {names}"
            ));
        }
        // A few runs rarely form a complete seed of any set. If no set has figures, show single competitions instead.
        let is_partial = !self.names_sets() && !found.iter().any(has_figures);
        let per_competition = self.per_competition || is_partial && self.format == Format::Text;
        match (printer.json, self.format, per_competition) {
            (true, _, _) => printer.json(&json(&found, &budgets))?,
            (_, Format::Text, false) => printer.table(&by_set(&found, self.names_sets()))?,
            (_, Format::Text, true) => printer.table(&by_competition(&found))?,
            (_, Format::Csv, false) => printer.result(&csv_by_set(&found))?,
            (_, Format::Csv, true) => printer.result(&csv_by_competition(&found))?,
            (_, Format::Markdown, _) => printer.result(&markdown(&found, &budgets))?,
        }
        let shows_sets = printer.json || !per_competition || self.format == Format::Markdown;
        for experiment in &found {
            self.remarks(session, experiment, shows_sets);
        }
        let shown = (shows_sets, per_competition || printer.json);
        Ok(self.report_sets_without_figures(session, &found, shown))
    }

    /// Prints from how many logged gradings the runs were chosen. Warns about reasons why the figures may mislead.
    fn remarks(&self, session: &CliSession, experiment: &Experiment, shows_sets: bool) {
        let competitions = &experiment.competitions;
        let counted = competitions.iter().filter(|one| one.looks.is_some());
        let runs: usize = counted.clone().map(|one| one.logged).sum();
        let looks: u64 = counted.filter_map(|one| one.looks).sum();
        if looks > 0 {
            let label = self.table.label(&experiment.name);
            session.printer.message(format!(
                "{label}the logs contain {} of these competitions, including those of other experiments; the figures use \
                 {runs} of the gradings",
                units::count(looks, "grading")
            ));
        }
        let separation = "to summarize each agent, grade each run group into its own directory, and assign the run groups to \
                          experiments with --groups";
        self.table.warn(session, experiment, separation, shows_sets);
    }

    fn help_incomplete(&self) -> &'static str {
        match self.pad_missing {
            true => HELP_PADDED,
            false => HELP_INCOMPLETE,
        }
    }

    fn names_sets(&self) -> bool {
        !self.set.is_empty() || !self.ids_from.is_empty()
    }

    /// Returns the sets, except `own`, which depends on the reports.
    fn sets(&self) -> Result<Vec<Set>, CliError> {
        if !self.names_sets() {
            return Ok(Set::leaderboard());
        }
        let named = self.set.iter().filter(|name| *name != OWN);
        let named = named.map(|name| {
            let unknown = || {
                let error = CliError::usage(format!("there is no set `{name}`"));
                let names: Vec<&str> = prep_app::set_names().collect();
                let error = error.help(format!("the sets are {}", names.join(", ")));
                let error = error.suggest(prep_spec::nearest(name, names));
                select::suggest_file(error, name)
            };
            Set::by_name(name).ok_or_else(unknown)
        });
        let listed = self.ids_from.iter().map(|path| {
            let name = path.file_stem().unwrap_or(path.as_os_str());
            Ok(Set {
                name: name.to_string_lossy().into_owned(),
                competitions: select::read_list(path)?,
            })
        });
        named.chain(listed).collect()
    }

    /// Returns an error if the files of `--ids-from` contain an unknown id, which would be a competition whose runs are all
    /// missing. The ids in the reports are known, because they may be competitions of other harnesses.
    fn check_ids(
        &self,
        session: &CliSession,
        sets: &[Set],
        experiments: &[GradedExperiment],
    ) -> Result<(), CliError> {
        if self.ids_from.is_empty() {
            return Ok(());
        }
        let catalog = session.catalog()?;
        let ids = experiments.iter().flat_map(|one| {
            let graded = one.runs.graded.iter().map(|run| run.competition.as_str());
            let ungraded = one.runs.ungraded.iter();
            graded.chain(ungraded.map(|run| run.competition.as_str()))
        });
        let mut known: BTreeSet<&str> = ids.collect();
        known.extend(catalog.iter().map(|entry| entry.id.as_str()));
        let listed = sets.iter().flat_map(|set| &set.competitions);
        let unknown = listed.filter(|id| !known.contains(id.as_str()));
        let unknown: Vec<&String> = unknown.collect();
        let Some(first) = unknown.first() else {
            return Ok(());
        };
        let names = unknown.iter().map(|id| format!("`{id}`"));
        let mut paths = self.ids_from.iter();
        let place = paths.find_map(|path| select::place_in_list(path, first));
        let error = CliError::usage(format!(
            "{}there is no competition {}",
            place.map_or(String::new(), |place| format!("{place}: ")),
            joined(names, MAX_NAMES)
        ));
        Err(error.suggest(prep_spec::nearest(first, known)))
    }

    /// Reports sets without figures, and returns the exit code. If the user named the set, missing figures are an error.
    /// For other sets, they are an error only if the experiment has no figures at all.
    fn report_sets_without_figures(
        &self,
        session: &CliSession,
        found: &[Experiment],
        (shows_sets, shows_competitions): (bool, bool),
    ) -> Exit {
        let mut exit = Exit::Success;
        let mut incomplete_sets: Vec<(String, Vec<&str>)> = Vec::new();
        for experiment in found {
            let label = self.table.label(&experiment.name);
            let is_empty = match shows_competitions {
                true => experiment.competitions.is_empty(),
                false => !has_figures(experiment),
            };
            let mut without: Vec<(&str, Vec<String>)> = Vec::new();
            let mut incomplete = Vec::new();
            for (set, figures) in &experiment.sets {
                match figures {
                    Ok(figures) => {
                        if figures.padded > 0 && shows_sets {
                            let runs = units::count(figures.padded as u64, "missing run");
                            let text = format!("the figures of `{set}` treat {runs} as failed");
                            session.printer.message(format!("{label}{text}"));
                        }
                    }
                    Err(_) if !is_empty && !self.names_sets() => {
                        incomplete.push(format!("`{set}`"))
                    }
                    Err(error) => match without.iter_mut().find(|(other, _)| other == error) {
                        Some((_, sets)) => sets.push(format!("`{set}`")),
                        None => without.push((error, vec![format!("`{set}`")])),
                    },
                }
            }
            for (error, sets) in without {
                let text = format!("{label}no figures for {}: {error}", sets.join(", "));
                let error = CliError::new(Exit::Input, text);
                // The help applies to all sets, so only the first error gets it. If there are ungraded runs, or run groups
                // without a report, the warning about them has already shown it.
                let error = match exit {
                    _ if !experiment.ungraded_runs.is_empty()
                        || experiment.competitions.is_empty() =>
                    {
                        error
                    }
                    Exit::Success if shows_competitions => error.help(self.help_incomplete()),
                    Exit::Success => error.help(format!(
                        "--per-competition shows the figures of the competitions that have runs, {}",
                        self.help_incomplete()
                    )),
                    _ => error,
                };
                session.printer.error(&error);
                exit = Exit::Input;
            }
            if !incomplete.is_empty() {
                let text = format!(
                    "no figures for {}, because competitions of these sets lack graded runs",
                    incomplete.join(", ")
                );
                match incomplete_sets.iter_mut().find(|(other, _)| *other == text) {
                    Some((_, names)) => names.push(&experiment.name),
                    None => incomplete_sets.push((text, vec![&experiment.name])),
                }
            }
        }
        for (text, names) in incomplete_sets {
            let label = match found {
                [one] => self.table.label(&one.name),
                _ => format!("{}: ", joined(names.into_iter(), MAX_NAMES)),
            };
            session.printer.message(format!("{label}{text}"));
        }
        // The set of all graded competitions is not comparable with the leaderboard.
        let is_incomplete = |one: &Experiment| {
            let mut sets = one.sets.iter();
            one.ungraded_runs.is_empty()
                && sets.all(|(set, figures)| set == GRADED || figures.is_err())
        };
        if exit == Exit::Success && found.iter().all(is_incomplete) {
            session.printer.message(self.help_incomplete());
        }
        exit
    }
}

fn has_figures(experiment: &Experiment) -> bool {
    experiment.sets.iter().any(|(_, figures)| figures.is_ok())
}

/// Maximum number of competition names. Messages only count the others.
const MAX_NAMES: usize = 3;

/// Columns of figures: the heading, and the metric.
const COLUMNS: [(&str, &str); 7] = [
    ("any medal %", "any_medal_percentage"),
    ("gold %", "gold_medal_percentage"),
    ("silver %", "silver_medal_percentage"),
    ("bronze %", "bronze_medal_percentage"),
    ("above median %", "above_median_percentage"),
    ("valid %", "valid_submissions_percentage"),
    ("submitted %", "submission_exists_percentage"),
];

/// Returns a row per experiment and set. Without `all_sets`, leaves out sets for which no experiment has figures.
pub fn by_set(experiments: &[Experiment], all_sets: bool) -> PrintedTable {
    let with_figures: BTreeSet<&str> = rows(experiments)
        .filter(|(.., figures)| all_sets || figures.is_some())
        .map(|(_, set, _)| set)
        .collect();
    let figures = COLUMNS.map(|(heading, _)| format!("  >{heading}"));
    let header = format!("experiment  set  >seeds{}", figures.concat());
    let mut table = PrintedTable::with_header(&header).optional(&[
        "submitted %",
        "bronze %",
        "silver %",
        "gold %",
        "valid %",
    ]);
    let rows = rows(experiments).filter(|(_, set, _)| with_figures.contains(set));
    for (experiment, set, figures) in rows {
        let mut cells = vec![experiment.to_owned(), set.to_owned()];
        match figures {
            None => cells.push("-".to_owned()),
            Some(figures) => {
                cells.push(figures.seeds.to_string());
                cells.extend(
                    COLUMNS
                        .iter()
                        .map(|(_, metric)| format_figure(figures, metric)),
                );
            }
        }
        table.row(cells);
    }
    table
}

pub fn by_competition(experiments: &[Experiment]) -> PrintedTable {
    let header = "competition  set  experiment  >runs  >logged gradings  >copies  >valid  >above median  >gold  >silver  >bronze  >score";
    let mut table = PrintedTable::with_header(header).optional(&[
        "set",
        "copies",
        "logged gradings",
        "bronze",
        "silver",
    ]);
    for (experiment, competition) in competitions(experiments) {
        let score = match (competition.mean_score, competition.score_standard_error) {
            (Some(mean), Some(error)) => format!("{mean:.5} ± {error:.5}"),
            (Some(mean), None) => format!("{mean:.5}"),
            _ => "-".to_owned(),
        };
        let mut cells = vec![
            competition.competition.clone(),
            competition.complexity.unwrap_or("").to_owned(),
            experiment.to_owned(),
        ];
        let looks = competition.looks.map(|looks| looks.to_string());
        cells.push(competition.runs.to_string());
        cells.push(looks.unwrap_or_else(|| "-".to_owned()));
        let counts = [
            competition.copies,
            competition.valid,
            competition.above_median,
            competition.gold,
            competition.silver,
            competition.bronze,
        ];
        cells.extend(counts.iter().map(ToString::to_string));
        cells.push(score);
        table.row(cells);
    }
    table
}

/// Returns a row per experiment and set, with exact values.
pub fn csv_by_set(experiments: &[Experiment]) -> String {
    let mut text = "experiment,set,competitions,seeds,padded".to_owned();
    for (name, _) in &METRICS {
        let _ = write!(text, ",{name},{name}_standard_error");
    }
    text.push('\n');
    for (experiment, set, figures) in rows(experiments) {
        let Some(figures) = figures else { continue };
        let _ = write!(
            text,
            "{},{},{},{},{}",
            cell(experiment),
            cell(set),
            figures.competitions,
            figures.seeds,
            figures.padded
        );
        for (_, estimate) in &figures.estimates {
            let _ = write!(text, ",{},{}", estimate.mean, estimate.standard_error);
        }
        text.push('\n');
    }
    text
}

/// Returns a row per experiment and competition, with exact values.
pub fn csv_by_competition(experiments: &[Experiment]) -> String {
    let mut text = "experiment,competition,complexity,runs,submissions,valid,above_median,gold,silver,bronze,any_medal,\
                    mean_score,score_standard_error,copies,looks,not_comparable\n"
        .to_owned();
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    for (experiment, competition) in competitions(experiments) {
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            cell(experiment),
            cell(&competition.competition),
            competition.complexity.unwrap_or(""),
            competition.runs,
            competition.submissions,
            competition.valid,
            competition.above_median,
            competition.gold,
            competition.silver,
            competition.bronze,
            competition.any_medal,
            number(competition.mean_score),
            number(competition.score_standard_error),
            competition.copies,
            competition
                .looks
                .map(|looks| looks.to_string())
                .unwrap_or_default(),
            competition.not_comparable,
        );
    }
    text
}

/// Returns the heading of a set on the leaderboard in the benchmark's README.
fn heading(set: &str) -> String {
    match set {
        "low" | "lite" => "Low == Lite (%)".to_owned(),
        "medium" => "Medium (%)".to_owned(),
        "high" => "High (%)".to_owned(),
        "all" | "scored" | "split75" => "All (%)".to_owned(),
        other => format!("{other} (%)"),
    }
}

/// Returns rows for the leaderboard in the benchmark's README, with more columns for other sets.
/// Cells that only an experiment's authors know come from the budget file.
pub fn markdown(experiments: &[Experiment], budgets: &Budgets) -> String {
    let mut columns: Vec<String> = ["low", "medium", "high", "all"].map(heading).to_vec();
    for (set, _) in experiments.iter().flat_map(|one| &one.sets) {
        if !columns.contains(&heading(set)) {
            columns.push(heading(set));
        }
    }
    let header = format!(
        "Agent | LLM(s) used | {} | Running Time (hours) | Date | Known Leakage[^1] | Source Code Available | Grading Reports Available",
        columns.join(" | ")
    );
    let cells = header.split(" | ");
    let lines: String = cells.map(|cell| "-".repeat(cell.len() + 2) + "|").collect();
    let mut text = format!("| {header} |\n|{lines}\n");
    let mut is_padded = false;
    for experiment in experiments {
        let budget = budgets.of(&experiment.name);
        let mut figure = |column: &String| {
            let mut sets = experiment.sets.iter();
            match sets.find(|(set, _)| heading(set) == *column) {
                Some((_, Ok(figures))) => {
                    is_padded |= figures.padded > 0;
                    let padded = if figures.padded > 0 { "[^3]" } else { "" };
                    format_figure(figures, "any_medal_percentage") + padded
                }
                _ => "-".to_owned(),
            }
        };
        let mut cells = vec![
            budget.get("agent").unwrap_or(&experiment.name).clone(),
            with_detail(&budget, "model", "cutoff", "cut-off "),
        ];
        cells.extend(columns.iter().map(&mut figure));
        cells.push(with_detail(&budget, "hours", "hardware", ""));
        let fields = ["date", "leakage", "source", "reports"];
        cells.extend(fields.map(|field| match (field, budget.get(field)) {
            ("leakage", None) => copies_of(experiment),
            _ => with_detail(&budget, field, "", ""),
        }));
        text.push('|');
        for cell in cells {
            let space = if cell.is_empty() { "" } else { " " };
            let _ = write!(text, "{space}{} |", cell.replace('|', "\\|"));
        }
        text.push('\n');
    }
    if is_padded {
        text.push_str("\n[^3]: Missing runs are treated as failed.\n");
    }
    text
}

/// Returns a warning about competitions that were graded with different answers or rules in different experiments. Each
/// experiment has warnings about its own runs.
fn differences(all: &Runs, found: &[Experiment], choice: &Choice) -> Option<String> {
    let is_mixed = |one: &CompetitionSummary| one.has_mixed_answers || one.has_mixed_rules;
    let together = summarise("", all, &[], choice).competitions;
    let ids = together
        .into_iter()
        .filter(is_mixed)
        .map(|one| one.competition);
    let own = found.iter().flat_map(|one| &one.competitions);
    let own: Vec<&String> = own
        .filter(|one| is_mixed(one))
        .map(|one| &one.competition)
        .collect();
    let ids: Vec<String> = ids.filter(|id| !own.contains(&id)).collect();
    (!ids.is_empty()).then(|| {
        format!(
            "the experiments were graded with different answers, rules or metrics, so their scores cannot be compared: {}",
            joined(ids.into_iter(), MAX_NAMES)
        )
    })
}

/// Returns a text that lists the competitions of which a submission is identical to the answers, if there are any.
fn copies_of(experiment: &Experiment) -> String {
    let copied = experiment.competitions.iter().filter(|one| one.copies > 0);
    let ids: Vec<&str> = copied.map(|one| one.competition.as_str()).collect();
    match ids.is_empty() {
        true => String::new(),
        false => format!("copies of the answers: {}", ids.join(", ")),
    }
}

/// Returns a field with a second one in parentheses, for example `24 (1x A10)`.
fn with_detail(budget: &Budget, field: &str, detail: &str, prefix: &str) -> String {
    let value = budget.get(field).cloned().unwrap_or_default();
    let detail = budget
        .get(detail)
        .map(|detail| format!(" ({prefix}{detail})"));
    (value + &detail.unwrap_or_default())
        .trim_start()
        .to_owned()
}

pub fn json(experiments: &[Experiment], budgets: &Budgets) -> Value {
    let experiments = experiments.iter().map(|experiment| {
        let sets = experiment.sets.iter().map(|(set, figures)| match figures {
            Err(error) => json!({ "set": set, "error": StatedReason::new("incomplete", error) }),
            Ok(figures) => json!({
                "set": set,
                "num_competitions_per_seed": figures.competitions,
                "num_seeds_averaged": figures.seeds,
                "padded_runs": figures.padded,
                "metrics": metrics(figures),
                "seeds": figures.by_seed.iter().map(|seed| {
                    let values = METRICS.iter().zip(seed);
                    let values = values.map(|((name, _), value)| ((*name).to_owned(), json!(value)));
                    Value::Object(values.collect())
                }).collect::<Vec<_>>(),
            }),
        });
        json!({
            "experiment": experiment.name,
            "budget": budgets.of(&experiment.name),
            "sets": sets.collect::<Vec<_>>(),
            "competitions": experiment.competitions,
            "repeated_runs": experiment.repeated_runs,
            "ungraded_runs": experiment.ungraded_runs,
        })
    });
    json!({ "experiments": experiments.collect::<Vec<_>>() })
}

fn metrics(figures: &SetSummary) -> Map<String, Value> {
    let estimates = figures.estimates.iter();
    estimates
        .map(|(name, estimate)| ((*name).to_owned(), json!(estimate)))
        .collect()
}

fn rows(experiments: &[Experiment]) -> impl Iterator<Item = (&str, &str, Option<&SetSummary>)> {
    experiments.iter().flat_map(|experiment| {
        let sets = experiment.sets.iter();
        sets.map(|(set, figures)| {
            (
                experiment.name.as_str(),
                set.as_str(),
                figures.as_ref().ok(),
            )
        })
    })
}

fn competitions(
    experiments: &[Experiment],
) -> impl Iterator<Item = (&str, &prep_experiments::CompetitionSummary)> {
    experiments.iter().flat_map(|experiment| {
        let competitions = experiment.competitions.iter();
        competitions.map(|competition| (experiment.name.as_str(), competition))
    })
}

/// Returns for example `62.12 ± 1.52`. A single seed has no standard error.
fn format_figure(figures: &SetSummary, metric: &str) -> String {
    match figures.estimate(metric) {
        None => "-".to_owned(),
        Some(estimate) if figures.seeds < 2 => format!("{:.2}", estimate.mean),
        Some(estimate) => format!("{:.2} ± {:.2}", estimate.mean, estimate.standard_error),
    }
}

/// Formats a CSV cell, in quotes if necessary.
fn cell(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use prep_experiments::{GradedRun, Runs};

    use super::*;

    /// The column `experiment` distinguishes the rows of a competition.
    #[test]
    fn narrow_tables_show_the_experiment_of_each_row() {
        let experiment = |name| {
            let run = GradedRun {
                competition: "a-competition-with-a-name".to_owned(),
                ..GradedRun::default()
            };
            let runs = Runs {
                graded: vec![run],
                ..Runs::default()
            };
            summarise(name, &runs, &[], &Choice::default())
        };
        let table = by_competition(&[experiment("mine"), experiment("theirs")]);
        let wide = table.format_within(140);
        assert!(wide.contains("logged gradings"), "{wide}");
        for width in [140, 100, 80, 1] {
            let text = table.format_within(width);
            assert!(
                text.contains("  mine") && text.contains("  theirs"),
                "{text}"
            );
        }
    }
}
