//! Writes the page with templates, which the compiler checks.
//!
//! Templates escape all strings. Without them, about a hundred places would have to call `escape`. If one call were
//! missing, the name of a column could run a script in the reader's browser.

mod competition;
mod overview;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use prep_experiments::{Estimate, Experiment};

use crate::collect::{Experiments, PageContent};
use crate::draw;
use crate::text::visible;

const STYLE: &str = include_str!("style.css");

/// The content security policy: the page must not load anything or run scripts.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// If the page has more competitions than this, only the first section is open. Otherwise all sections are open.
const MAX_OPEN: usize = 3;

pub fn render(report: &PageContent) -> String {
    let all_open = report.competitions.len() <= MAX_OPEN;
    let competitions = overview::ordered(report);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                link rel="icon" href="data:,";
                title { "prep report" }
                style { (PreEscaped(STYLE)) (PreEscaped(overview::ordering_rules())) }
            }
            body {
                (overview::header(report))
                main {
                    (overview::table(&competitions))
                    (experiments(&report.experiments))
                    @for (at, (competition, _)) in competitions.iter().enumerate() {
                        (competition::section(competition, all_open || at == 0))
                    }
                }
                footer {
                    "Made by prep, " (report.now) ". Fractions of test labels come from the answers: do not show this page to agents."
                }
            }
        }
    };
    visible(&page.into_string())
}

pub type PageColumn<'a> = (&'a str, bool);

/// Parses columns from a header such as `Output  >Size`. Two spaces separate headings, and `>` marks columns of numbers.
pub fn columns(header: &str) -> Vec<PageColumn<'_>> {
    let headings = header.split("  ");
    let columns = headings.map(|one| (one.trim_start_matches('>'), one.starts_with('>')));
    columns.collect()
}

/// Returns a table, which scrolls horizontally if it is too wide.
pub fn table(caption: &str, columns: &[PageColumn<'_>], rows: &[Vec<Markup>]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead {
                    tr { @for (heading, is_number) in columns { th scope="col" .n[*is_number] { (heading) } } }
                }
                tbody {
                    @for row in rows {
                        tr {
                            @for (at, cell) in row.iter().enumerate() {
                                td .n[columns.get(at).is_some_and(|(_, is_number)| *is_number)] { (cell) }
                            }
                        }
                    }
                }
            }
        }
    }
}

pub fn figure(picture: &Markup, caption: &Markup) -> Markup {
    html! { figure { (picture) figcaption { (caption) } } }
}

/// Returns an entry of a legend. `color` is a CSS class: `train`, `test` or `third`.
pub fn legend(color: &str, words: &Markup) -> Markup {
    html! { span.keyed { span.key.(color) {} " " (words) } }
}

const MEDALS: &str = "any_medal_percentage";
const METRICS: [(&str, &str); 6] = [
    (MEDALS, "Any medal"),
    ("gold_medal_percentage", "Gold"),
    ("silver_medal_percentage", "Silver"),
    ("bronze_medal_percentage", "Bronze"),
    ("above_median_percentage", "Above median"),
    ("valid_submissions_percentage", "Valid"),
];

/// Returns a table and pictures of the experiments, or nothing if there are no grading reports.
fn experiments(experiments: &Experiments) -> Markup {
    if experiments.all.is_empty() {
        return html! {};
    }
    let medals = |set: &str| -> Vec<(&str, Option<Estimate>)> {
        let all = experiments.all.iter();
        all.map(|one| (one.name.as_str(), estimate(one, set, MEDALS)))
            .collect()
    };
    let reached = experiments.sets.iter().flat_map(|set| medals(set));
    let reached = reached.filter_map(|(_, estimate)| estimate);
    let most = reached
        .map(|one| one.mean + one.standard_error)
        .fold(5.0, f64::max);
    let mut columns = columns("Experiment  Set  >Seeds");
    columns.extend(METRICS.map(|(_, heading)| (heading, true)));
    let all = experiments.all.iter();
    let rows: Vec<Vec<Markup>> = all
        .flat_map(|experiment| experiments.sets.iter().map(move |set| row(experiment, set)))
        .collect();
    html! {
        section id="experiments" {
            h2 { "Experiments" }
            p { "Each value is a percentage of competitions: the mean over the seeds ± one standard error. A seed has one run of each competition. For example, “1 of 3” seeds means that one competition has 3 runs, but another competition has only 1. In this case, only the first run of each competition is used." }
            @for experiment in &experiments.all {
                @let copies: Vec<&str> = copied(experiment);
                @if !copies.is_empty() {
                    p { span.state.bad { (experiment.name) ": the figures include submissions that are identical to the answers of " (copies.join(", ")) } }
                }
            }
            div.figures {
                @for set in &experiments.sets {
                    (figure(
                        &draw::experiments(&format!("Any medal, {set}"), &medals(set), most),
                        &html! { "Competitions with a medal: " strong { (set) } },
                    ))
                }
            }
            (table("Experiments by set", &columns, &rows))
        }
    }
}

/// Returns the competitions in which a submission of the experiment is identical to the answers.
fn copied(experiment: &Experiment) -> Vec<&str> {
    let copied = experiment.competitions.iter().filter(|one| one.copies > 0);
    copied.map(|one| one.competition.as_str()).collect()
}

fn row(experiment: &Experiment, set: &str) -> Vec<Markup> {
    let mut cells = vec![html! { (experiment.name) }, html! { (set) }];
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
