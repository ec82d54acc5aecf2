//! The table of all competitions. On a narrow screen, each row becomes a block.

use std::cmp::Reverse;
use std::fmt::Write as _;

use maud::{Markup, html};
use prep_core::units;

use super::controls::{ORDERS, buttons, classes};
use super::status::Status;
use crate::collect::{CompetitionPage, OutputComparison, PageContent};
use crate::text::{count, time};

/// Minimum number of competitions for which the page has buttons.
const MIN_SORTED: usize = 4;

/// Returns the table of all competitions, those with problems first.
pub fn table(report: &PageContent) -> Markup {
    let mut all: Vec<(&CompetitionPage, Status)> = report
        .competitions
        .iter()
        .map(|competition| (competition, Status::new(competition)))
        .collect();
    all.sort_by_key(|(competition, status)| (status.level, &competition.id));
    let classes: Vec<String> = all
        .iter()
        .map(|(competition, status)| classes(status.level, competition.state.is_complete()))
        .collect();
    let positions = positions(&all);
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

/// Returns the position of each row in each order, as CSS variables.
fn positions(all: &[(&CompetitionPage, Status)]) -> Vec<String> {
    let mut places = vec![String::new(); all.len()];
    for (order, _) in ORDERS {
        let mut sorted: Vec<usize> = (0..all.len()).collect();
        let competition = |at: &usize| all.get(*at).map(|(competition, _)| *competition);
        match order {
            "name" => sorted.sort_by_key(|at| competition(at).map(|competition| &competition.id)),
            "size" => sorted.sort_by_key(|at| Reverse(competition(at).map(CompetitionPage::bytes))),
            "run" => sorted.sort_by_key(|at| Reverse(competition(at).map(|one| one.prepared_at))),
            // The rows already have this order.
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

/// Describes how many outputs match their published checksum.
pub fn checksums(competition: &CompetitionPage) -> String {
    if competition.files.is_empty() {
        return String::new();
    }
    let count = |wanted: fn(&OutputComparison) -> bool| {
        let files = competition.files.iter();
        files.filter(|file| wanted(&file.compared)).count()
    };
    let equal = count(|compared| matches!(compared, OutputComparison::Equal { .. }));
    let differ = count(|compared| *compared == OutputComparison::Differs);
    let open = count(|compared| *compared == OutputComparison::Skipped);
    let published = equal + differ + open;
    if published == 0 {
        return match count(|compared| *compared == OutputComparison::OtherVariant) {
            0 => "none published".to_owned(),
            _ => format!("none published for {}", competition.variant),
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
