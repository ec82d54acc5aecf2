//! Tables with the first rows of tables and JSON files.

use maud::{Markup, html};

use crate::collect::{CompetitionPage, FileSample};
use crate::page::parts::{PageColumn, table};
use crate::text::count;

pub fn samples(competition: &CompetitionPage) -> Markup {
    html! {
        @if !competition.contents.samples.is_empty() {
            h3 { "First rows" }
            @for sample in &competition.contents.samples { (table(&caption(sample), &headings(sample), &rows(sample))) }
        }
    }
}

fn caption(sample: &FileSample) -> String {
    let mut caption = sample.path.clone();
    if let Some(rows) = sample.rows {
        caption += &format!(
            ", {} {}",
            count(rows),
            if rows == 1 { "row" } else { "rows" }
        );
    }
    match sample.more_columns {
        0 => {}
        1 => caption += ", 1 more column",
        more => caption += &format!(", {more} more columns"),
    }
    if let Some(read) = sample.read_rows {
        caption += &format!("; pictures show the first {} rows", count(read));
    }
    caption
}

fn headings(sample: &FileSample) -> Vec<PageColumn<'_>> {
    let headings = sample.header.iter().zip(&sample.is_number);
    headings
        .map(|(name, is_number)| (name.as_str(), *is_number))
        .collect()
}

fn rows(sample: &FileSample) -> Vec<Vec<Markup>> {
    let cell = |cell: &Option<String>| match cell {
        Some(text) => html! { (text) },
        None => html! { span.missing { "missing" } },
    };
    let rows = sample.first.iter();
    rows.map(|row| row.iter().map(cell).collect()).collect()
}
