//! The top of the page: a summary, and a table with one row for each competition.
//!
//! Radio buttons and CSS rules sort and filter the rows, so no script is needed. For each sort order, a row has a CSS
//! variable with its position, for example `--by-size: 3`. A rule sets the `order` of grid items to one of these variables.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use maud::{Markup, html};
use prep_app::PreparedState;
use prep_core::units;

use crate::collect::{CompetitionPage, OutputComparison, OutputFile, PageContent};
use crate::text::{count, time};

pub fn header(report: &PageContent) -> Markup {
    let all = &report.competitions;
    let complete = all.iter().filter(|one| one.state.is_complete());
    let prepared = complete.map(|one| &one.id).collect::<BTreeSet<_>>().len();
    let shown = all.iter().map(|one| &one.id).collect::<BTreeSet<_>>().len();
    let files: u64 = all.iter().map(CompetitionPage::file_count).sum();
    let bytes: u64 = all.iter().map(CompetitionPage::bytes).sum();
    let graded: usize = all.iter().map(|competition| competition.scores.len()).sum();
    let experiments = report.experiments.all.iter();
    let experiments = experiments.filter(|one| !one.competitions.is_empty());
    html! {
        header {
            h1 { (if graded > 0 { "Experiments and competitions" } else { "Prepared competitions" }) }
            p.lead { (report.now) @if graded > 0 { " · " a href="#experiments" { "Experiments" } } }
            dl.cards {
                (card("Prepared", &format!("{prepared} of {shown}"), &problems(all)))
                (published(all))
                (card("Files", &count(files), &units::bytes(bytes)))
                @if graded > 0 {
                    (card("Graded", &graded.to_string(), &format!(
                        "{} of {}",
                        if graded == 1 { "run" } else { "runs" },
                        units::count(experiments.count() as u64, "experiment")
                    )))
                }
            }
        }
    }
}

fn problems(all: &[CompetitionPage]) -> String {
    let problems = all
        .iter()
        .map(Status::new)
        .filter(|status| status.needs_attention());
    let problems: Vec<&str> = problems
        .map(|status| status.mark.unwrap_or(status.words))
        .collect();
    let first = problems.first().copied().unwrap_or_default();
    match problems.len() {
        0 => "no competition needs attention".to_owned(),
        all if problems.iter().all(|one| *one == first) => format!("{first} ({all})"),
        some => format!("{some} need attention"),
    }
}

/// Returns a card with the number of outputs that have their published checksum. Returns nothing if no checksum is
/// published.
fn published(all: &[CompetitionPage]) -> Markup {
    let (equal, differ, skipped) = compared(all.iter().flat_map(|one| &one.files));
    let all = equal + differ + skipped;
    if all == 0 {
        return html! {};
    }
    let mut note = "outputs have the published checksum".to_owned();
    let others = [(differ, "differ"), (skipped, "not compared")].into_iter();
    let others = others.filter(|(number, _)| *number > 0);
    for ((number, what), sign) in others.zip([';', ',']) {
        let _ = write!(note, "{sign} {number} {what}");
    }
    card("Checksums", &format!("{equal} of {all}"), &note)
}

/// Returns how many outputs have their published checksum, how many have a different checksum, and how many were not
/// compared.
fn compared<'a>(files: impl Iterator<Item = &'a OutputFile> + Clone) -> (usize, usize, usize) {
    let count = |wanted: fn(&OutputComparison) -> bool| {
        files.clone().filter(|file| wanted(&file.compared)).count()
    };
    (
        count(|compared| matches!(compared, OutputComparison::Equal { .. })),
        count(|compared| *compared == OutputComparison::Differs),
        count(|compared| *compared == OutputComparison::Skipped),
    )
}

fn card(name: &str, value: &str, note: &str) -> Markup {
    html! { div { dt { (name) } dd { (value) small { (note) } } } }
}

/// The orders of rows: id and label of each button.
pub const ORDERS: [(&str, &str); 4] = [
    ("problems", "problems first"),
    ("name", "name"),
    ("size", "size"),
    ("run", "last run"),
];

/// The filters of rows: id and label of each button.
const FILTERS: [(&str, &str); 4] = [
    ("all", "all"),
    ("problems", "problems"),
    ("prepared", "prepared"),
    ("empty", "not prepared"),
];

pub fn classes(level: CompetitionStatus, is_complete: bool) -> String {
    let problem = match level {
        CompetitionStatus::Bad | CompetitionStatus::Fair => "in-problems ",
        CompetitionStatus::Good | CompetitionStatus::Empty => "",
    };
    let state = match (level, is_complete) {
        (CompetitionStatus::Empty, _) => "in-empty",
        (_, true) => "in-prepared",
        (_, false) => "",
    };
    format!("{problem}{state}")
}

/// Returns the buttons that sort and filter rows. `rows` contains the CSS classes of each row.
///
/// A filter that would select all rows or no row has no button.
pub fn buttons(rows: &[String]) -> Markup {
    let matching = |filter: &str| {
        let class = format!("in-{filter}");
        rows.iter()
            .filter(|row| row.split(' ').any(|one| one == class))
            .count()
    };
    let filters = FILTERS.iter().filter_map(|(filter, words)| match *filter {
        "all" => Some((*filter, *words, rows.len())),
        _ => {
            let count = matching(filter);
            (count > 0 && count < rows.len()).then_some((*filter, *words, count))
        }
    });
    let filters: Vec<(&str, &str, usize)> = filters.collect();
    html! {
        div.controls {
            @if filters.len() > 1 {
                fieldset {
                    legend { "Show" }
                    @for (filter, words, count) in &filters {
                        label {
                            input type="radio" name="show" id={ "show-" (filter) } checked[*filter == "all"];
                            span { (words) " " small { (count) } }
                        }
                    }
                }
            }
            fieldset {
                legend { "Sort by" }
                @for (at, (order, words)) in ORDERS.iter().enumerate() {
                    label {
                        input type="radio" name="sort" id={ "sort-" (order) } checked[at == 0];
                        span { (words) }
                    }
                }
            }
        }
    }
}

pub fn ordering_rules() -> String {
    let mut rules = String::new();
    for (order, _) in ORDERS {
        let _ = writeln!(
            rules,
            ".all:has(#sort-{order}:checked) .row {{ order: var(--by-{order}); }}"
        );
    }
    for (filter, _) in FILTERS.iter().filter(|(filter, _)| *filter != "all") {
        let _ = writeln!(
            rules,
            ".all:has(#show-{filter}:checked) .row:not(.in-{filter}) {{ display: none; }}"
        );
    }
    rules
}

/// The table has buttons if it has at least this number of rows.
const MIN_SORTED: usize = 4;

pub fn ordered(report: &PageContent) -> Vec<(&CompetitionPage, Status)> {
    let all = report.competitions.iter();
    let mut all: Vec<(&CompetitionPage, Status)> = all
        .map(|competition| (competition, Status::new(competition)))
        .collect();
    all.sort_by_key(|(competition, status)| (status.level, &competition.id));
    all
}

pub fn table(all: &[(&CompetitionPage, Status)]) -> Markup {
    let classes: Vec<String> = all
        .iter()
        .map(|(competition, status)| classes(status.level, competition.state.is_complete()))
        .collect();
    let positions = positions(all);
    html! {
        section.all {
            h2 { "Competitions" }
            @if all.len() >= MIN_SORTED { (buttons(&classes)) }
            // The roles are explicit, because a table with a grid layout loses its implicit roles.
            table.overview role="table" aria-label="All competitions" {
                thead role="rowgroup" {
                    tr role="row" {
                        @for heading in ["State", "Competition", "Checksums", "Files", "Size", "Last run (UTC)", "Category"] {
                            th role="columnheader" scope="col" .n[matches!(heading, "Files" | "Size")] { (heading) }
                        }
                    }
                }
                tbody role="rowgroup" {
                    @for (((competition, status), class), position) in all.iter().zip(&classes).zip(&positions) {
                        tr role="row" class={ "row " (class) } style=(position) { (cells(competition, *status)) }
                    }
                }
            }
        }
    }
}

fn cells(competition: &CompetitionPage, status: Status) -> Markup {
    let is_empty = competition.files.is_empty();
    html! {
        td.first role="cell" { (status.show()) }
        td.name role="cell" {
            a href={ "#" (competition.anchor()) } { (competition.id) }
            @if competition.is_other_variant() { " " span.chip { (competition.variant) } }
            @if !competition.sets.is_empty() { " " small { (competition.sets.join(", ")) } }
        }
        td.fact role="cell" data-label="checksums" { (checksums(competition)) }
        td.fact.n role="cell" data-label="files" { @if !is_empty { (count(competition.file_count())) } }
        td.fact.n role="cell" { @if !is_empty { (units::bytes(competition.bytes())) } }
        td.fact role="cell" data-label="last run" { @if let Some(when) = competition.prepared_at { (time(when)) } }
        td.fact role="cell" { (competition.category) }
    }
}

/// Returns the CSS variables of each row, which contain its position in each order.
fn positions(all: &[(&CompetitionPage, Status)]) -> Vec<String> {
    let mut places = vec![String::new(); all.len()];
    for (order, _) in ORDERS {
        let mut sorted: Vec<usize> = (0..all.len()).collect();
        let competition = |at: &usize| all.get(*at).map(|(competition, _)| *competition);
        match order {
            "name" => sorted.sort_by_key(|at| competition(at).map(|competition| &competition.id)),
            "size" => sorted.sort_by_key(|at| Reverse(competition(at).map(CompetitionPage::bytes))),
            "run" => sorted.sort_by_key(|at| Reverse(competition(at).map(|one| one.prepared_at))),
            // `all` is already in the order `problems`.
            _ => {}
        }
        for (place, at) in sorted.into_iter().enumerate() {
            if let Some(style) = places.get_mut(at) {
                let _ = write!(style, "--by-{order}:{place};");
            }
        }
    }
    places
}

pub fn checksums(competition: &CompetitionPage) -> String {
    if competition.files.is_empty() {
        return String::new();
    }
    let (equal, differ, open) = compared(competition.files.iter());
    let published = equal + differ + open;
    if published == 0 {
        let mut files = competition.files.iter();
        return match files.any(|file| file.compared == OutputComparison::OtherVariant) {
            false => "none published".to_owned(),
            true => format!("none published for {}", competition.variant),
        };
    }
    if open == published {
        return format!("{open} not compared");
    }
    let mut words = format!("{equal} of {published} equal");
    for (number, what) in [(differ, "differ"), (open, "not compared")] {
        if number > 0 {
            let _ = write!(words, ", {number} {what}");
        }
    }
    words
}

/// The urgency of a competition's state, from the most urgent to the least urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompetitionStatus {
    Bad,
    Fair,
    Good,
    Empty,
}

#[derive(Debug, Clone, Copy)]
pub struct Status {
    pub level: CompetitionStatus,
    words: &'static str,
    /// A remark on prepared data, for example `not verified`.
    mark: Option<&'static str>,
}

impl Status {
    pub fn new(competition: &CompetitionPage) -> Status {
        let (level, words) = match competition.state {
            PreparedState::Prepared => return complete_data_status(competition),
            PreparedState::NotPrepared if competition.problem.is_some() => {
                (CompetitionStatus::Bad, "pipeline has mistakes")
            }
            PreparedState::NotPrepared if competition.failed.is_some() => {
                (CompetitionStatus::Bad, "the last run published nothing")
            }
            PreparedState::NotPrepared => (CompetitionStatus::Empty, "not prepared"),
            state @ PreparedState::Unchecked => {
                (CompetitionStatus::Fair, state.problem().unwrap_or_default())
            }
            state => (CompetitionStatus::Bad, state.problem().unwrap_or_default()),
        };
        Status {
            level,
            words,
            mark: None,
        }
    }

    pub fn needs_attention(self) -> bool {
        matches!(self.level, CompetitionStatus::Bad | CompetitionStatus::Fair)
    }

    pub fn show(self) -> Markup {
        let class = match self.level {
            CompetitionStatus::Bad => "bad",
            CompetitionStatus::Fair => "fair",
            CompetitionStatus::Good => "good",
            CompetitionStatus::Empty => "none",
        };
        html! {
            span.state.(class) { (self.words) @if let Some(mark) = self.mark { ", " (mark) } }
        }
    }
}

/// Returns the status of completely prepared data.
///
/// Unverified data of a custom pipeline usually have a good status. But if the custom pipeline has the id of a benchmark
/// competition, the status is only fair, because readers could mistake these data for the data of the benchmark.
fn complete_data_status(competition: &CompetitionPage) -> Status {
    // A variant other than the base has no published checksums, so its outputs cannot be verified.
    let mut files = competition.files.iter();
    let is_other = files.all(|file| file.compared == OutputComparison::OtherVariant);
    let prepared = |level, mark| Status {
        level,
        words: "prepared",
        mark,
    };
    if competition.is_other_variant() && is_other {
        return prepared(CompetitionStatus::Good, None);
    }
    let Some(comparability) = &competition.comparability else {
        return prepared(CompetitionStatus::Fair, Some("not verified"));
    };
    let mark = comparability.mark();
    let is_own = comparability.is_own();
    let level = match mark {
        None => CompetitionStatus::Good,
        Some(_) if is_own && competition.sets.is_empty() => CompetitionStatus::Good,
        Some(_) if !is_own && comparability.differs() => CompetitionStatus::Bad,
        Some(_) => CompetitionStatus::Fair,
    };
    prepared(level, mark)
}
