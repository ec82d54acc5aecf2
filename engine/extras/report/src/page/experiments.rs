//! The section about experiments: cautions, figures by set, and results by competition.

use std::collections::BTreeMap;
use std::iter;

use maud::{Markup, html};
use prep_core::units;
use prep_experiments::{
    CompetitionSummary, Estimate, Experiment, GradedRun, summarise_competition,
};
use prep_grade::report::medals::Leaderboard;

use crate::collect::{CompetitionPage, PageContent};
use crate::draw;
use crate::page::{columns, experiment_name, figure, table, with_code};

const MEDALS: &str = "any_medal_percentage";
const METRICS: [(&str, &str); 6] = [
    (MEDALS, "Any medal"),
    ("gold_medal_percentage", "Gold"),
    ("silver_medal_percentage", "Silver"),
    ("bronze_medal_percentage", "Bronze"),
    ("above_median_percentage", "Above median"),
    ("valid_submissions_percentage", "Valid"),
];

/// Returns tables and pictures of the experiments, or nothing if there are no grading reports.
pub fn section(report: &PageContent) -> Markup {
    let (all, sets) = (&report.experiments.all, &report.experiments.sets);
    // Each caution with its experiments.
    let mut cautions: BTreeMap<String, Vec<Markup>> = BTreeMap::new();
    for (series, one) in all.iter().enumerate() {
        for caution in one.cautions() {
            let names = cautions.entry(caution.text).or_default();
            names.push(experiment_name(series, &one.name));
        }
    }
    if sets.is_empty() && cautions.is_empty() {
        return html! {};
    }
    let medals = |set: &str| -> Vec<(&str, Option<Estimate>)> {
        all.iter()
            .map(|one| (one.name.as_str(), estimate(one, set, MEDALS)))
            .collect()
    };
    let reached = sets.iter().flat_map(|set| medals(set));
    let ends = reached.filter_map(|(_, one)| Some(one?.mean + one?.standard_error));
    let most = ends.fold(5.0, f64::max);
    let mut columns = columns("Experiment  Set  >Seeds");
    columns.extend(METRICS.map(|(_, heading)| (heading, true)));
    let experiments = all.iter().enumerate();
    let rows =
        experiments.flat_map(|(series, one)| sets.iter().map(move |set| row(series, one, set)));
    let rows: Vec<Vec<Markup>> = rows.collect();
    html! {
        section id="experiments" {
            h2 { "Experiments" }
            @if !cautions.is_empty() || report.left_out > 0 {
                ul.cautions {
                    @for (caution, names) in &cautions {
                        li { @for (at, name) in names.iter().enumerate() { @if at > 0 { ", " } (name) } ": " (with_code(caution)) "." }
                    }
                    @if report.left_out > 0 {
                        li { (units::count(report.left_out as u64, "graded submission")) " left out, because the page does not show their competition or variant." }
                    }
                }
            }
            @if !sets.is_empty() {
                p { "Each value is a percentage of competitions: the mean over the seeds ± one standard error. A seed has one run of each competition. For example, “1 of 3” seeds means that one competition has 3 runs, but another competition has only 1. In this case, only the first run of each competition is used." }
                div.figures {
                    @for set in sets {
                        (figure(
                            &draw::experiments(&format!("Any medal, {set}"), &medals(set), most),
                            &html! { "Competitions with a medal: " strong { (set) } },
                        ))
                    }
                }
                (table("Experiments by set", &columns, &rows))
                (results(all, &report.competitions))
            }
        }
    }
}

/// Returns a table with a row for each graded competition and a column for each experiment.
fn results(all: &[Experiment], pages: &[CompetitionPage]) -> Markup {
    let graded = pages.iter().filter(|page| !page.scores.is_empty());
    let rows: Vec<Vec<Markup>> = graded.map(|page| results_row(page, all.len())).collect();
    if all.len() < 2 && rows.len() < 2 {
        return html! {};
    }
    let mut columns = columns("Competition");
    columns.extend(all.iter().map(|one| (one.name.as_str(), false)));
    html! {
        p { "The next table shows the mean score of the valid runs ± one standard error, and the results of all runs, also of those that belong to no seed." @if all.len() > 1 { " The best mean is bold, and so are means equal to it, unless all means are equal. Experiments with copies of the answers are not compared." } }
        (table("Results by competition", &columns, &rows))
    }
}

fn results_row(page: &CompetitionPage, experiments: usize) -> Vec<Markup> {
    let runs = |series| page.scores.iter().filter(move |one| one.series == series);
    let summaries = (0..experiments).map(|series| {
        let runs: Vec<&GradedRun> = runs(series).map(|one| &one.run).collect();
        summarise_competition(&page.id, &runs)
    });
    let summaries: Vec<CompetitionSummary> = summaries.collect();
    // A mean that includes a copy of the answers must not be marked as the best.
    let honest_mean = |one: &CompetitionSummary| one.mean_score.filter(|_| one.copies == 0);
    let mut scores: Vec<f64> = summaries.iter().filter_map(honest_mean).collect();
    scores.sort_by(f64::total_cmp);
    let is_lower_better = page.leaderboard.as_ref().map(Leaderboard::is_lower_better);
    let (best, better) = match is_lower_better {
        Some(true) => (scores.first(), "lower is better"),
        Some(false) => (scores.last(), "higher is better"),
        None => (None, ""),
    };
    let best = best.filter(|_| scores.first() != scores.last());
    let name = html! {
        a href={ "#" (page.anchor()) } { (page.id) }
        @if page.is_other_variant() { " " span.chip { (page.variant) } }
        div { small { (better) } }
    };
    let cells = summaries.iter().enumerate().map(|(series, summary)| {
        let mut counts: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        for one in runs(series) {
            *counts.entry((one.rank, one.medal)).or_default() += 1;
        }
        let total: usize = counts.values().sum();
        html! {
            @if let Some(mean) = summary.mean_score {
                span.best[best.is_some() && honest_mean(summary).as_ref() == best] { (format!("{mean:.5}")) }
                @if let Some(error) = summary.score_standard_error { " " small { (format!("± {error:.5}")) } }
            }
            div {
                @for ((rank, medal), count) in &counts {
                    span class={ "result r" (rank) } { @if total > 1 { (count) " " } (medal) @if *count > 1 && medal.ends_with("medal") { "s" } } " "
                }
            }
        }
    });
    iter::once(name).chain(cells).collect()
}

fn row(series: usize, experiment: &Experiment, set: &str) -> Vec<Markup> {
    let name = experiment_name(series, &experiment.name);
    let mut cells = vec![name, html! { (set) }];
    let found = experiment.sets.iter().find(|(name, _)| name == set);
    match found.map(|(_, summary)| summary) {
        Some(Ok(summary)) => {
            cells.push(html! { (summary.seeds) @if let Some(left_out) = &summary.left_out { " of " (left_out.most) } });
            cells.extend(METRICS.iter().map(|(metric, _)| match summary.estimate(metric) {
                Some(estimate) if summary.seeds > 1 => html! {
                    (format!("{:.1}", estimate.mean)) " " small { (format!("± {:.1}", estimate.standard_error)) }
                },
                Some(estimate) => html! { (format!("{:.1}", estimate.mean)) },
                None => html! {},
            }));
        }
        Some(Err(error)) => cells.extend([html! { "0" }, html! { span.long { (error) } }]),
        None => {}
    }
    cells.resize_with(3 + METRICS.len(), || html! {});
    cells
}

fn estimate(experiment: &Experiment, set: &str, metric: &str) -> Option<Estimate> {
    let (_, summary) = experiment.sets.iter().find(|(name, _)| name == set)?;
    summary.as_ref().ok()?.estimate(metric)
}
