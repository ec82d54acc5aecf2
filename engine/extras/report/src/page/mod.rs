//! Writes the page with templates, which are checked when the program is compiled and which escape all texts.
//!
//! Only pictures and the style sheet are inserted without escaping (`PreEscaped`). Without templates, about a hundred
//! places would have to call `escape`. If one were forgotten, the name of a column could run a script in the reader's
//! browser.

mod competition;
mod experiments;
mod overview;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use prep_app::Error;

use crate::collect::PageContent;
use crate::text::visible;

const STYLE: &str = include_str!("style.css");

/// The page must not load anything or run scripts.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// If a page has more competitions, only the first section is open.
const MAX_OPEN: usize = 3;

/// Returns the page as HTML.
///
/// # Errors
/// Returns an error if a picture cannot be drawn.
pub fn render(report: &PageContent) -> Result<String, Error> {
    let experiments = experiments::section(&report.experiments)?;
    let all_open = report.competitions.len() <= MAX_OPEN;
    let mut sections = Vec::with_capacity(report.competitions.len());
    for (at, competition) in report.competitions.iter().enumerate() {
        sections.push(competition::section(competition, all_open || at == 0)?);
    }
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
                    (overview::table(report))
                    (experiments)
                    @for section in &sections { (section) }
                }
                footer {
                    "Made by prep, " (report.now) ". Fractions of test labels come from the answers: do not show this page to agents."
                }
            }
        }
    };
    Ok(visible(&page.into_string()))
}

/// A column of a table: its heading, and whether it has numbers.
pub type PageColumn<'a> = (&'a str, bool);

/// Returns a column of text.
pub const fn text(heading: &str) -> PageColumn<'_> {
    (heading, false)
}

/// Returns a column of numbers, which are aligned to the right.
pub const fn number(heading: &str) -> PageColumn<'_> {
    (heading, true)
}

/// Returns a table. It scrolls horizontally if it is too wide.
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

/// Returns a picture with a caption.
pub fn figure(svg: &str, caption: &Markup) -> Markup {
    html! { figure { (PreEscaped(svg)) figcaption { (caption) } } }
}

/// Returns an entry of a legend. `color` is `train`, `test` or `third`.
pub fn legend(color: &str, words: &Markup) -> Markup {
    html! { span.keyed { span.key.(color) {} " " (words) } }
}
