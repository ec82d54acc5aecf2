//! Elements that several sections share: tables, figures and legends.

use maud::{Markup, PreEscaped, html};

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
