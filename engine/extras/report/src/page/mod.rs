//! Writes the page with templates, which the compiler checks.
//!
//! Templates escape all strings. Without them, about a hundred places would have to call `escape`. If one call were
//! missing, the name of a column could run a script in the reader's browser.

mod competition;
mod experiments;
mod overview;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::collect::PageContent;
use crate::draw::series_class;
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
                    (experiments::section(report))
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

/// Formats the parts of a text that are in backticks as code.
pub fn with_code(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// Returns the name of an experiment with its mark. `series` is the position of the experiment.
pub fn experiment_name(series: usize, name: &str) -> Markup {
    html! { span.experiment { span class={ "key " (series_class(series)) } {} " " (name) } }
}
