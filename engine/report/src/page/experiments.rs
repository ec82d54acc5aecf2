//! The section of experiments: a table and a picture for each set.

use std::fmt::Write as _;

use prep_app::Error;
use prep_experiments::Experiment;

use super::html::{escape, figure, table};
use crate::collect::Experiments;
use crate::draw;

const MEDALS: &str = "any_medal_percentage";
const COLUMNS: [(&str, &str); 6] = [
    (MEDALS, ">Any medal"),
    ("gold_medal_percentage", ">Gold"),
    ("silver_medal_percentage", ">Silver"),
    ("bronze_medal_percentage", ">Bronze"),
    ("above_median_percentage", ">Above median"),
    ("valid_submissions_percentage", ">Valid"),
];

/// Returns the section. It is empty without grading reports.
///
/// # Errors
/// When a picture cannot be drawn.
pub fn section(experiments: &Experiments) -> Result<String, Error> {
    if experiments.all.is_empty() {
        return Ok(String::new());
    }
    let mut out = String::from(
        "<section id=\"experiments\"><h2>Experiments</h2>\n<p>Percent of competitions, mean over seeds ± one standard error.</p>\n<div class=\"figures\">\n",
    );
    // All sets have the same scale, so that they can be compared.
    let reached = experiments.all.iter().flat_map(|one| {
        let sets = experiments.sets.iter();
        sets.filter_map(|set| estimate(one, set, MEDALS))
    });
    let most = reached
        .map(|one| one.mean + one.standard_error)
        .fold(5.0, f64::max);
    for set in &experiments.sets {
        let rows: Vec<_> = experiments
            .all
            .iter()
            .map(|one| (one.name.clone(), estimate(one, set, MEDALS)))
            .collect();
        let picture = draw::experiments(&format!("Any medal, {set}"), &rows, most)?;
        out += &figure(
            &picture,
            &format!("Any medal: <strong>{}</strong>", escape(set)),
        );
    }
    out.push_str("</div>\n");
    let mut headings = vec!["Experiment", "Set", ">Seeds"];
    headings.extend(COLUMNS.map(|(_, heading)| heading));
    let rows: Vec<Vec<String>> = experiments
        .all
        .iter()
        .flat_map(|one| experiments.sets.iter().map(move |set| row(one, set)))
        .collect();
    out += &table("Experiments by set", &headings, &rows);
    out.push_str("</section>\n");
    Ok(out)
}

fn row(experiment: &Experiment, set: &str) -> Vec<String> {
    let mut cells = vec![escape(&experiment.name), escape(set)];
    let found = experiment.sets.iter().find(|(name, _)| name == set);
    match found.map(|(_, summary)| summary) {
        Some(Ok(summary)) => {
            cells.push(summary.seeds.to_string());
            cells.extend(COLUMNS.iter().map(|(metric, _)| {
                let mut cell = String::new();
                if let Some(one) = summary.estimate(metric) {
                    let _ = write!(cell, "{:.1}", one.mean);
                    // The difference of seeds is unknown if there is only one.
                    if summary.seeds > 1 {
                        let _ = write!(cell, " <small>± {:.1}</small>", one.standard_error);
                    }
                }
                cell
            }));
        }
        Some(Err(error)) => {
            cells.push("0".to_owned());
            cells.push(escape(&error.to_string()));
            cells.resize(3 + COLUMNS.len(), String::new());
        }
        None => cells.resize(3 + COLUMNS.len(), String::new()),
    }
    cells
}

fn estimate(
    experiment: &Experiment,
    set: &str,
    metric: &str,
) -> Option<prep_experiments::Estimate> {
    let (_, summary) = experiment.sets.iter().find(|(name, _)| name == set)?;
    summary.as_ref().ok()?.estimate(metric)
}
