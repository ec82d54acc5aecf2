//! The table of published outputs and their checksums.

use maud::{Markup, html};
use prep_core::units;

use crate::collect::{CompetitionPage, OutputComparison, OutputFile};
use crate::page::parts::{number, table, text};
use crate::text::{count, time};

/// Maximum number of outputs in the table.
const MAX_LISTED: usize = 60;
/// Number of characters of a digest that are shown.
const DIGEST_CHARACTERS: usize = 12;

pub fn files(competition: &CompetitionPage) -> Markup {
    if competition.files.is_empty() {
        return html! {};
    }
    // If no output has a published checksum, the columns for checksums are omitted.
    let has_published = competition
        .files
        .iter()
        .any(|file| file.compared != OutputComparison::NotPublished);
    let mut columns = vec![
        text("Output"),
        number("Files"),
        number("Size"),
        number("Rows × columns"),
    ];
    if has_published {
        columns.extend([text("Checksum"), text("Published MD5")]);
    }
    columns.push(text("BLAKE3"));
    let listed = competition.files.iter().take(MAX_LISTED);
    let rows: Vec<Vec<Markup>> = listed.map(|file| row(file, has_published)).collect();
    let more = competition.files.len().saturating_sub(MAX_LISTED);
    html! {
        h3 { "Files" }
        (table("Outputs", &columns, &rows))
        @if more > 0 { p { (more) " more outputs are not listed." } }
        @if let Some(md5) = &competition.bundle_md5 {
            p { "The published MD5 of the bundle is " code { (md5) } "." }
        }
    }
}

fn row(file: &OutputFile, has_published: bool) -> Vec<Markup> {
    let mut cells = vec![
        html! { code { (file.path) } },
        html! { (count(file.files)) },
        html! { (units::bytes(file.bytes)) },
        html! {
            @if let Some(rows) = file.rows {
                (count(rows)) @if file.columns > 0 { " × " (file.columns) }
            }
        },
    ];
    if has_published {
        cells.extend([comparison(file.compared), digest(file.md5.as_deref())]);
    }
    cells.push(digest(file.digest.as_deref()));
    cells
}

fn comparison(compared: OutputComparison) -> Markup {
    let (class, words) = match compared {
        OutputComparison::Equal { .. } => ("good", "as published"),
        OutputComparison::Differs => ("bad", "differs"),
        OutputComparison::Skipped => ("fair", "not compared"),
        OutputComparison::NotPublished => ("none", "none published"),
        OutputComparison::OtherVariant => ("none", "none for this variant"),
    };
    html! {
        span.state.(class) { (words) }
        @if let OutputComparison::Equal { when: Some(when) } = compared { " " small { (time(when)) } }
    }
}

fn digest(digest: Option<&str>) -> Markup {
    let Some(digest) = digest else {
        return html! {};
    };
    let short: String = digest.chars().take(DIGEST_CHARACTERS).collect();
    html! { code title=(digest) { (short) } }
}
