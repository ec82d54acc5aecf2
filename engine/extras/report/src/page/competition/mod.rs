//! The section of a competition: pictures, scores, first rows, files, steps and pipeline.

mod files;
mod pictures;

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
pub fn section(competition: &CompetitionPage, open: bool) -> Result<Markup, Error> {
    let pictures = pictures::pictures(competition)?;
    let facts = competition
        .sets
        .iter()
        .copied()
        .chain([competition.category.as_str()])
        .filter(|fact| !fact.is_empty());
    Ok(html! {
        section.competition id=(competition.anchor()) {
            h2 { (competition.name) @if competition.is_other_variant() { " (" (competition.variant) ")" } }
            p.lead {
                code { (competition.id) } " " (Status::new(competition).show()) " "
                @for fact in facts { span.chip { (fact) } " " }
            }
            @if let Some(problem) = &competition.problem { p.problem { (problem) } }
            (obstacles(competition))
            details open[open] {
                summary { (summary(competition)) }
                (pictures)
                (files::scores_table(&competition.scores))
                (files::samples(competition))
                (files::files(competition))
                (files::steps_table(&competition.steps))
                (pipeline(competition))
            }
        }
    })
}

/// Shows why scores cannot be compared with published ones. Only needed for competitions of the benchmark, because
/// others have no published scores.
fn obstacles(competition: &CompetitionPage) -> Markup {
    let obstacles = match &competition.comparability {
        Some(comparability) if !competition.sets.is_empty() => comparability.obstacles(),
        _ => Vec::new(),
    };
    html! {
        @if !obstacles.is_empty() {
            p.problem { "Scores cannot be compared with published ones: " (obstacles.join("; ")) "." }
        }
    }
}

fn summary(competition: &CompetitionPage) -> String {
    let mut facts = Vec::new();
    if !competition.files.is_empty() {
        let files = competition.file_count();
        let noun = if files == 1 { "file" } else { "files" };
        facts.push(format!(
            "{} {noun}, {}",
            count(files),
            units::bytes(competition.bytes())
        ));
        facts.push(format!("variant {}", competition.variant));
        facts.push(format!("checksums: {}", checksums(competition)));
    }
    if let Some(when) = competition.prepared_at {
        facts.push(format!("last run {} UTC", time(when)));
    }
    if let Some(leaderboard) = &competition.leaderboard {
        facts.push(format!("{} teams", count(leaderboard.teams() as u64)));
    }
    facts.join(" · ")
}

fn pipeline(competition: &CompetitionPage) -> Markup {
    let Some(drawing) = &competition.drawing else {
        return html! {};
    };
    let picture = graph::svg(&format!("Steps of {}", competition.id), drawing);
    html! {
        details {
            summary { "Pipeline: " (units::count(drawing.nodes.len() as u64, "step")) }
            div.scroll.graph tabindex="0" role="img"
                aria-label="Connections between the steps; the table above lists the steps" { (PreEscaped(picture)) }
        }
    }
}
