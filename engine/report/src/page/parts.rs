//! Elements that several sections share: tables, figures and legends.

use maud::{Markup, PreEscaped, html};

/// A column of a table.
#[derive(Clone, Copy)]
pub struct PageColumn {
    pub heading: &'static str,
    pub is_number: bool,
}

/// Returns a column of text.
pub const fn text(heading: &'static str) -> PageColumn {
    PageColumn {
        heading,
        is_number: false,
    }
}

/// Returns a column of numbers, which are aligned to the right.
pub const fn number(heading: &'static str) -> PageColumn {
    PageColumn {
        heading,
        is_number: true,
    }
}

/// Returns a table. It scrolls horizontally if it is too wide.
pub fn table(caption: &str, columns: &[PageColumn], rows: &[Vec<Markup>]) -> Markup {
    let headings: Vec<(&str, bool)> = columns
        .iter()
        .map(|one| (one.heading, one.is_number))
        .collect();
    table_of(caption, &headings, rows)
}

/// Same as [`table`], but the headings come from data: each has a text, and whether its column has numbers.
pub fn table_of(caption: &str, headings: &[(&str, bool)], rows: &[Vec<Markup>]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead {
                    tr { @for (heading, is_number) in headings { th scope="col" .n[*is_number] { (heading) } } }
                }
                tbody {
                    @for row in rows {
                        tr {
                            @for (at, cell) in row.iter().enumerate() {
                                td .n[headings.get(at).is_some_and(|(_, is_number)| *is_number)] { (cell) }
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
