//! The tables of a competition: published outputs with their checksums, graded submissions (best first), the first rows
//! of tables and JSON files, and when and why each step last ran.

use std::cmp::Ordering;
use std::time::Duration;

use maud::{Markup, html};
use prep_core::units;

use crate::collect::{
    CompetitionPage, FileSample, OutputComparison, OutputFile, StepRow, SubmissionScore,
};
use crate::page::{PageColumn, number, table, text};
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
    let rows: Vec<Vec<Markup>> = listed.map(|file| file_row(file, has_published)).collect();
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

fn file_row(file: &OutputFile, has_published: bool) -> Vec<Markup> {
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

pub fn scores_table(scores: &[SubmissionScore]) -> Markup {
    if scores.is_empty() {
        return html! {};
    }
    let mut scores: Vec<&SubmissionScore> = scores.iter().collect();
    scores.sort_by(|a, b| order(a, b));
    let row = |score: &&SubmissionScore| {
        vec![
            html! { @if let Some(score) = score.score { (score) } @else { span.missing { "none" } } },
            html! { (score.medal) },
            html! { (score.experiment) },
            html! { @if let Some(submission) = &score.submission { code { (submission) } } },
            html! { (score.when.as_deref().unwrap_or_default()) },
        ]
    };
    let rows: Vec<Vec<Markup>> = scores.iter().map(row).collect();
    let columns = [
        number("Score"),
        text("Medal"),
        text("Experiment"),
        text("Submission"),
        text("Graded"),
    ];
    html! { h3 { "Graded" } (table("Graded submissions, best first", &columns, &rows)) }
}

/// Sorts better medals first, and better scores first within a medal. Without a leaderboard, it is unknown which scores
/// are better, so the order does not change.
fn order(a: &SubmissionScore, b: &SubmissionScore) -> Ordering {
    a.rank.cmp(&b.rank).then_with(|| match (a.score, b.score) {
        (Some(x), Some(y)) if a.is_lower_better == Some(true) => x.total_cmp(&y),
        (Some(x), Some(y)) if a.is_lower_better == Some(false) => y.total_cmp(&x),
        _ => Ordering::Equal,
    })
}

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

pub fn steps_table(steps: &[StepRow]) -> Markup {
    let rows: Vec<Vec<Markup>> = steps
        .iter()
        .filter(|step| step.why.is_some() || step.now.is_some())
        .map(step_row)
        .collect();
    if rows.is_empty() {
        return html! {};
    }
    let columns = [
        text("Step"),
        text("Kind"),
        text("Last ran (UTC)"),
        number("Took"),
        text("Why it last ran"),
        text("Now"),
    ];
    html! {
        details {
            summary { "When and why each step last ran" }
            (table("Steps", &columns, &rows))
        }
    }
}

fn step_row(step: &StepRow) -> Vec<Markup> {
    let took = step
        .millis
        .map(|millis| Duration::from_millis(millis).as_secs_f64());
    vec![
        html! { code { (step.name) } },
        html! { (step.kind) },
        html! { @if let Some(when) = step.when { (time(when)) } },
        html! { @if let Some(took) = took { (format!("{took:.2} s")) } },
        html! { (step.why.as_deref().unwrap_or_default()) },
        html! { (step.now.as_deref().unwrap_or("up to date")) },
    ]
}
