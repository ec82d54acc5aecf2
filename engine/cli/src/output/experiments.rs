//! Formats experiments as tables, JSON, CSV, and rows of the benchmark's leaderboard.

use std::fmt::Write as _;

use prep_experiments::{Experiment, METRICS, SetSummary};
use serde_json::{Map, Value, json};

use crate::output::table::PrintedTable;

/// Columns in order of importance: heading, and name of the metric.
const COLUMNS: [(&str, &str); 7] = [
    ("any medal %", "any_medal_percentage"),
    ("gold %", "gold_medal_percentage"),
    ("silver %", "silver_medal_percentage"),
    ("bronze %", "bronze_medal_percentage"),
    ("above median %", "above_median_percentage"),
    ("valid %", "valid_submissions_percentage"),
    ("submitted %", "submission_exists_percentage"),
];

/// Returns a table with a row per experiment and set.
pub fn by_set(experiments: &[Experiment]) -> PrintedTable {
    let figures = COLUMNS.map(|(heading, _)| format!("  >{heading}"));
    let header = format!("experiment  set  >seeds{}", figures.concat());
    let mut table = PrintedTable::with_header(&header).optional(&[
        "submitted %",
        "bronze %",
        "silver %",
        "gold %",
        "valid %",
    ]);
    for (experiment, set, figures) in rows(experiments) {
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

/// Returns a CSV with a row per experiment and competition.
pub fn by_competition(experiments: &[Experiment]) -> PrintedTable {
    let header = "competition  set  experiment  >runs  >valid  >above median  >gold  >silver  >bronze  >score";
    let mut table = PrintedTable::with_header(header).optional(&["set", "experiment"]);
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
        let counts = [
            competition.runs,
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

/// Returns a CSV with a row per experiment and set. The values are not rounded.
pub fn csv_by_set(experiments: &[Experiment]) -> String {
    let mut text = "experiment,set,competitions,seeds,padded".to_owned();
    for metric in &METRICS {
        let name = metric.name;
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

/// Returns a table with a row per experiment and competition.
pub fn csv_by_competition(experiments: &[Experiment]) -> String {
    let mut text = "experiment,competition,complexity,runs,submissions,valid,above_median,gold,silver,bronze,any_medal,\
                    mean_score,score_standard_error\n"
        .to_owned();
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    for (experiment, competition) in competitions(experiments) {
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{},{},{},{},{}",
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
            number(competition.score_standard_error)
        );
    }
    text
}

/// Returns rows for the leaderboard in the benchmark's README. Cells that only the authors of an experiment can fill in
/// are empty.
pub fn markdown(experiments: &[Experiment]) -> String {
    let mut text = "| Agent | LLM(s) used | Low == Lite (%) | Medium (%) | High (%) | All (%) | Running Time (hours) | \
                    Date | Known Leakage[^1] | Source Code Available | Grading Reports Available |\n\
                    |-------|-------------|-----------------|------------|----------|---------|----------------------|\
                    ------|---------------|----------------------|---------------------------|\n"
        .to_owned();
    for experiment in experiments {
        let cell = |names: &[&str]| {
            let mut sets = experiment.sets.iter();
            let figures = sets.find(|(set, _)| names.contains(&set.as_str()));
            match figures {
                Some((_, Ok(figures))) => {
                    let padded = if figures.padded > 0 { "[^3]" } else { "" };
                    format_figure(figures, "any_medal_percentage") + padded
                }
                _ => "-".to_owned(),
            }
        };
        let _ = writeln!(
            text,
            "| {} | | {} | {} | {} | {} | | | | | |",
            experiment.name.replace('|', "\\|"),
            cell(&["low", "lite"]),
            cell(&["medium"]),
            cell(&["high"]),
            cell(&["all", "split75"])
        );
    }
    text
}

/// Returns all values as JSON.
pub fn json(experiments: &[Experiment]) -> Value {
    let experiments = experiments.iter().map(|experiment| {
        let sets = experiment.sets.iter().map(|(set, figures)| match figures {
            Err(error) => json!({ "set": set, "error": prep_core::chain(error) }),
            Ok(figures) => json!({
                "set": set,
                "num_competitions_per_seed": figures.competitions,
                "num_seeds_averaged": figures.seeds,
                "padded_runs": figures.padded,
                "metrics": metrics(figures),
                "seeds": figures.by_seed.iter().map(|seed| {
                    let values = METRICS.iter().zip(seed);
                    let values = values.map(|(metric, value)| (metric.name.to_owned(), json!(value)));
                    Value::Object(values.collect())
                }).collect::<Vec<_>>(),
            }),
        });
        json!({
            "experiment": experiment.name,
            "sets": sets.collect::<Vec<_>>(),
            "competitions": experiment.competitions,
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

/// Formats a value, for example `62.12 ± 1.52`. A single seed has no standard error.
fn format_figure(figures: &SetSummary, metric: &str) -> String {
    match figures.estimate(metric) {
        None => "-".to_owned(),
        Some(estimate) if figures.seeds < 2 => format!("{:.2}", estimate.mean),
        Some(estimate) => format!("{:.2} ± {:.2}", estimate.mean, estimate.standard_error),
    }
}

/// Formats a cell of a CSV. Adds quotes if necessary.
fn cell(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}
