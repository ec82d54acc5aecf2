//! The section of experiments: a table, and a picture for each set.

use maud::{Markup, html};
use prep_app::Error;
use prep_experiments::Experiment;

use super::{figure, number, table, text};
use crate::collect::Experiments;
use crate::draw;

const MEDALS: &str = "any_medal_percentage";
const METRICS: [(&str, &str); 6] = [
    (MEDALS, "Any medal"),
    ("gold_medal_percentage", "Gold"),
    ("silver_medal_percentage", "Silver"),
    ("bronze_medal_percentage", "Bronze"),
    ("above_median_percentage", "Above median"),
    ("valid_submissions_percentage", "Valid"),
];

/// Returns the section of experiments. It is empty if there are no grading reports.
///
/// # Errors
/// Returns an error if a picture cannot be drawn.
pub fn section(experiments: &Experiments) -> Result<Markup, Error> {
    if experiments.all.is_empty() {
        return Ok(html! {});
    }
    // All pictures have the same scale, so that sets can be compared.
    let reached = experiments.all.iter().flat_map(|experiment| {
        let sets = experiments.sets.iter();
        sets.filter_map(|set| estimate(experiment, set, MEDALS))
    });
    let most = reached
        .map(|experiment| experiment.mean + experiment.standard_error)
        .fold(5.0, f64::max);
    let mut figures = Vec::new();
    for set in &experiments.sets {
        let all = experiments.all.iter();
        let rows: Vec<_> = all
            .map(|experiment| (experiment.name.clone(), estimate(experiment, set, MEDALS)))
            .collect();
        let picture = draw::experiments(&format!("Any medal, {set}"), &rows, most)?;
        figures.push(figure(
            &picture,
            &html! { "Competitions with a medal: " strong { (set) } },
        ));
    }
    let mut columns = vec![text("Experiment"), text("Set"), number("Seeds")];
    columns.extend(METRICS.map(|(_, heading)| number(heading)));
    let all = experiments.all.iter();
    let rows: Vec<Vec<Markup>> = all
        .flat_map(|experiment| experiments.sets.iter().map(move |set| row(experiment, set)))
        .collect();
    Ok(html! {
        section id="experiments" {
            h2 { "Experiments" }
            p { "Percent of competitions, mean over seeds ± one standard error." }
            div.figures { @for figure in &figures { (figure) } }
            (table("Experiments by set", &columns, &rows))
        }
    })
}

fn row(experiment: &Experiment, set: &str) -> Vec<Markup> {
    let mut cells = vec![html! { (experiment.name) }, html! { (set) }];
    let found = experiment.sets.iter().find(|(name, _)| name == set);
    match found.map(|(_, summary)| summary) {
        Some(Ok(summary)) => {
            cells.push(html! { (summary.seeds) });
            cells.extend(METRICS.iter().map(|(metric, _)| match summary.estimate(metric) {
                // A single seed has no standard error.
                Some(estimate) if summary.seeds > 1 => html! {
                    (format!("{:.1}", estimate.mean)) " " small { (format!("± {:.1}", estimate.standard_error)) }
                },
                Some(estimate) => html! { (format!("{:.1}", estimate.mean)) },
                None => html! {},
            }));
        }
        Some(Err(error)) => cells.extend([html! { "0" }, html! { (error) }]),
        None => {}
    }
    cells.resize_with(3 + METRICS.len(), || html! {});
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
