//! The top of the page: totals, and a table of all competitions.

use std::fmt::Write as _;

use prep_app::{Comparability, PreparedState};
use prep_core::units;

use super::html::{count, escape, table as html_table, time};
use crate::collect::{Compared, Competition, Report};

/// Title and totals.
pub fn header(report: &Report) -> String {
    let all = &report.competitions;
    let prepared = all.iter().filter(|one| is_ready(one)).count();
    let files: u64 = all.iter().map(Competition::file_count).sum();
    let bytes: u64 = all.iter().map(Competition::bytes).sum();
    let outputs = |wanted: fn(&Compared) -> bool| {
        let files = all.iter().flat_map(|one| &one.files);
        files.filter(|file| wanted(&file.compared)).count()
    };
    let equal = outputs(|compared| matches!(compared, Compared::Equal { .. }));
    let open = [
        (outputs(|one| *one == Compared::Differs), "differ"),
        (
            outputs(|one| matches!(one, Compared::Skipped | Compared::OtherVariant)),
            "not compared",
        ),
        (
            outputs(|one| *one == Compared::NotPublished),
            "not published",
        ),
    ];
    let open = open.iter().filter(|(count, _)| *count > 0);
    let open: Vec<String> = open
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let graded: usize = all.iter().map(|one| one.scores.len()).sum();
    let mut out = String::from("<header><h1>Prepared competitions</h1>\n<p class=\"lead\">");
    let _ = write!(out, "{}</p>\n<dl class=\"cards\">\n", escape(&report.now));
    let mut card = |name: &str, value: String, note: String| {
        let _ = writeln!(
            out,
            "<div><dt>{}</dt><dd>{value}<small>{}</small></dd></div>",
            escape(name),
            escape(&note)
        );
    };
    card(
        "Competitions",
        prepared.to_string(),
        format!("of {} prepared", all.len()),
    );
    card("Files", count(files), units::bytes(bytes));
    card(
        "As published",
        equal.to_string(),
        match open.is_empty() {
            true => "outputs, all compared".to_owned(),
            false => format!("outputs; {}", open.join(", ")),
        },
    );
    card(
        "Graded",
        graded.to_string(),
        match report.experiments.all.len() {
            0 => "no grading report given".to_owned(),
            some => format!("submissions of {}", units::count(some as u64, "experiment")),
        },
    );
    out.push_str("</dl></header>\n");
    out
}

fn is_ready(competition: &Competition) -> bool {
    matches!(
        competition.state,
        PreparedState::Prepared | PreparedState::Unchecked
    )
}

/// The table of all competitions.
pub fn table(report: &Report) -> String {
    let rows: Vec<Vec<String>> = report.competitions.iter().map(row).collect();
    let headings = [
        "Competition",
        "State",
        "Variant",
        ">Files",
        ">Size",
        "Checksums",
        "Last run (UTC)",
        "Sets",
        "Category",
    ];
    format!(
        "<section class=\"all\"><h2>Competitions</h2>\n{}</section>\n",
        html_table("All competitions", &headings, &rows)
    )
}

fn row(one: &Competition) -> Vec<String> {
    vec![
        format!("<a href=\"#{id}\">{id}</a>", id = escape(&one.id)),
        state(one),
        if is_ready(one) {
            escape(&one.variant)
        } else {
            String::new()
        },
        if one.files.is_empty() {
            String::new()
        } else {
            count(one.file_count())
        },
        if one.files.is_empty() {
            String::new()
        } else {
            units::bytes(one.bytes())
        },
        checksums(one),
        one.last_run().map_or_else(String::new, time),
        escape(&one.sets.join(" ")),
        escape(&one.category),
    ]
}

/// The state as a symbol and text.
pub fn state(one: &Competition) -> String {
    let (class, text) = match one.state {
        PreparedState::Prepared => match &one.comparability {
            Some(comparability) => return prepared(comparability, !one.sets.is_empty()),
            None => ("fair", "prepared, not verified"),
        },
        PreparedState::NotPrepared if one.problem.is_some() => ("bad", "pipeline has mistakes"),
        PreparedState::NotPrepared => ("none", "not prepared"),
        state => {
            let is_unchecked = state == PreparedState::Unchecked;
            let class = if is_unchecked { "fair" } else { "bad" };
            (class, state.problem().unwrap_or_default())
        }
    };
    format!("<span class=\"state {class}\">{text}</span>")
}

/// The state of prepared data. A pipeline of your own gets a mark only if its id is that of a competition of the benchmark.
fn prepared(comparability: &Comparability, is_of_benchmark: bool) -> String {
    let Some(mark) = comparability.mark() else {
        return "<span class=\"state good\">prepared</span>".to_owned();
    };
    let class = match comparability.is_own() {
        true if is_of_benchmark => "fair",
        true => "good",
        false if comparability.differs() => "bad",
        false => "fair",
    };
    format!("<span class=\"state {class}\">prepared, {mark}</span>")
}

/// The number of outputs with their published checksum, and the number of outputs that were not compared.
pub fn checksums(one: &Competition) -> String {
    let count = |wanted: fn(&Compared) -> bool| {
        one.files
            .iter()
            .filter(|file| wanted(&file.compared))
            .count()
    };
    let equal = count(|compared| matches!(compared, Compared::Equal { .. }));
    let mut parts = Vec::new();
    if equal > 0 {
        parts.push(format!("{equal} equal"));
    }
    for (number, words) in [
        (count(|compared| *compared == Compared::Differs), "differ"),
        (
            count(|compared| *compared == Compared::Skipped),
            "not compared",
        ),
        (
            count(|compared| *compared == Compared::OtherVariant),
            "of another variant",
        ),
        (
            count(|compared| *compared == Compared::NotPublished),
            "not published",
        ),
    ] {
        if number > 0 {
            parts.push(format!("{number} {words}"));
        }
    }
    escape(&parts.join(", "))
}
