//! The top of the page: a summary, and one row for each competition.

mod controls;
mod rows;
mod status;

use maud::{Markup, html};
use prep_core::units;

use crate::collect::{CompetitionPage, OutputComparison, PageContent};
use crate::text::count;

pub use controls::ordering_rules;
pub use rows::{checksums, table};
pub use status::Status;

/// Returns the title and the summary.
pub fn header(report: &PageContent) -> Markup {
    let all = &report.competitions;
    let prepared = all
        .iter()
        .filter(|competition| competition.state.is_complete())
        .count();
    let problems = all
        .iter()
        .filter(|competition| Status::new(competition).needs_attention())
        .count();
    let files: u64 = all.iter().map(CompetitionPage::file_count).sum();
    let bytes: u64 = all.iter().map(CompetitionPage::bytes).sum();
    let graded: usize = all.iter().map(|competition| competition.scores.len()).sum();
    html! {
        header {
            h1 { "Prepared competitions" }
            p.lead { (report.now) }
            dl.cards {
                (card("Prepared", &format!("{prepared} of {}", all.len()), &match problems {
                    0 => "no competition needs attention".to_owned(),
                    1 => "1 needs attention".to_owned(),
                    some => format!("{some} need attention"),
                }))
                (published(all))
                (card("Files", &count(files), &units::bytes(bytes)))
                @if !report.experiments.all.is_empty() {
                    (card("Graded", &graded.to_string(), &format!(
                        "{} of {}",
                        if graded == 1 { "submission" } else { "submissions" },
                        units::count(report.experiments.all.len() as u64, "experiment")
                    )))
                }
            }
        }
    }
}

/// Returns a card with the number of outputs that match their published checksum. It is empty if no output has a
/// published checksum.
fn published(all: &[CompetitionPage]) -> Markup {
    let outputs = |wanted: fn(&OutputComparison) -> bool| {
        let files = all.iter().flat_map(|competition| &competition.files);
        files.filter(|file| wanted(&file.compared)).count()
    };
    let equal = outputs(|compared| matches!(compared, OutputComparison::Equal { .. }));
    let differ = outputs(|compared| *compared == OutputComparison::Differs);
    let skipped = outputs(|compared| *compared == OutputComparison::Skipped);
    let all = equal + differ + skipped;
    if all == 0 {
        return html! {};
    }
    let note = match (differ, skipped) {
        (0, 0) => "outputs have the published checksum".to_owned(),
        (0, skipped) => format!("outputs have the published checksum; {skipped} not compared"),
        (differ, 0) => format!("outputs have the published checksum; {differ} differ"),
        (differ, skipped) => {
            format!("outputs have the published checksum; {differ} differ, {skipped} not compared")
        }
    };
    card("Checksums", &format!("{equal} of {all}"), &note)
}

fn card(name: &str, value: &str, note: &str) -> Markup {
    html! { div { dt { (name) } dd { (value) small { (note) } } } }
}
