//! The section of a competition: pictures, scores, first rows, files, steps and pipeline.

mod files;
mod graded;
mod pictures;
mod samples;
mod steps;

use maud::{Markup, PreEscaped, html};
use prep_app::Error;
use prep_core::units;

use super::overview::{Status, checksums};
use crate::collect::CompetitionPage;
use crate::graph;
use crate::text::{count, time};

/// Returns the section of a competition.
///
/// # Errors
/// Returns an error if a picture cannot be drawn.
pub fn section(one: &CompetitionPage, open: bool) -> Result<Markup, Error> {
    let pictures = pictures::pictures(one)?;
    let facts = one
        .sets
        .iter()
        .copied()
        .chain([one.category.as_str()])
        .filter(|fact| !fact.is_empty());
    Ok(html! {
        section.competition id=(one.anchor()) {
            h2 { (one.name) @if one.is_other_variant() { " (" (one.variant) ")" } }
            p.lead {
                code { (one.id) } " " (Status::new(one).show()) " "
                @for fact in facts { span.chip { (fact) } " " }
            }
            @if let Some(problem) = &one.problem { p.problem { (problem) } }
            (obstacles(one))
            details open[open] {
                summary { (summary(one)) }
                (pictures)
                (graded::scores_table(&one.scores))
                (samples::samples(one))
                (files::files(one))
                (steps::steps(&one.steps))
                (pipeline(one))
            }
        }
    })
}

/// Shows why scores cannot be compared with published ones. Only needed for competitions of the benchmark, because
/// others have no published scores.
fn obstacles(one: &CompetitionPage) -> Markup {
    let obstacles = match &one.comparability {
        Some(comparability) if !one.sets.is_empty() => comparability.obstacles(),
        _ => Vec::new(),
    };
    html! {
        @if !obstacles.is_empty() {
            p.problem { "Scores cannot be compared with published ones: " (obstacles.join("; ")) "." }
        }
    }
}

fn summary(one: &CompetitionPage) -> String {
    let mut facts = Vec::new();
    if !one.files.is_empty() {
        let files = one.file_count();
        let noun = if files == 1 { "file" } else { "files" };
        facts.push(format!(
            "{} {noun}, {}",
            count(files),
            units::bytes(one.bytes())
        ));
        facts.push(format!("variant {}", one.variant));
        facts.push(format!("checksums: {}", checksums(one)));
    }
    if let Some(when) = one.last_run() {
        facts.push(format!("last run {} UTC", time(when)));
    }
    if let Some(leaderboard) = &one.leaderboard {
        facts.push(format!("{} teams", count(leaderboard.teams() as u64)));
    }
    facts.join(" · ")
}

fn pipeline(one: &CompetitionPage) -> Markup {
    let Some(drawing) = &one.drawing else {
        return html! {};
    };
    let picture = graph::svg(&format!("Steps of {}", one.id), drawing);
    html! {
        details {
            summary { "Pipeline: " (units::count(drawing.nodes.len() as u64, "step")) }
            div.scroll.graph tabindex="0" role="img"
                aria-label="Connections between the steps; the table above lists the steps" { (PreEscaped(picture)) }
        }
    }
}
