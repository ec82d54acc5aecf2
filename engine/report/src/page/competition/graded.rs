//! The table of graded submissions, best first.

use std::cmp::Ordering;

use maud::{Markup, html};

use crate::collect::SubmissionScore;
use crate::page::parts::{number, table, text};

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
