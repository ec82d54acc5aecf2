//! Formats grading reports as tables and JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use prep_app::NO_SUBMISSION;
use prep_core::units;
use prep_grade::report::ListedSubmission;
use prep_grade::report::medals::{Medals, Thresholds};
use prep_grade::report::{CompetitionReport, JsonObject, JsonValue, pretty};
use prep_remote::SigningKey;
use prep_spec::joined;

use crate::error::CliError;
use crate::output::printer::Printer;
use crate::output::table::PrintedTable;

/// Returns a JSON document with the list `competitions`, followed by the members of `further`.
pub fn envelope(competitions: Vec<JsonObject>, further: JsonObject) -> String {
    let competitions = competitions.into_iter().map(JsonValue::from);
    let competitions: Vec<JsonValue> = competitions.collect();
    let mut all = JsonObject::from_iter([("competitions", competitions.into())]);
    for (key, value) in further {
        all.insert(key, value);
    }
    pretty(all) + "\n"
}

/// Converts a report to an element of `competitions`. Every element begins with the id.
pub fn entry(report: &CompetitionReport) -> JsonObject {
    let mut entry = JsonObject::from_iter([("id", report.competition_id.as_str().into())]);
    for (key, value) in report.to_json() {
        if key.as_str() != Some("competition_id") {
            entry.insert(key, value);
        }
    }
    entry
}

pub fn signed(entry: JsonObject, key: Option<&SigningKey>) -> JsonObject {
    match key {
        Some(key) => prep_app::sign(key, entry),
        None => entry,
    }
}

/// Returns the element of `competitions` for a submission that could not be graded.
pub fn not_graded(list: &Path, entry: &ListedSubmission, error: &CliError) -> JsonObject {
    let place = JsonObject::from_iter([
        ("file", (&*list.to_string_lossy()).into()),
        ("line", i64::try_from(entry.line).ok().into()),
    ]);
    let error = JsonObject::from_iter([
        ("kind", error.json()["kind"].as_str().into()),
        ("code", i64::from(error.exit as u8).into()),
        ("message", error.message.as_str().into()),
        ("help", error.help.as_deref().into()),
        ("place", place.into()),
    ]);
    JsonObject::from_iter([
        ("id", entry.competition_id.as_str().into()),
        ("submission_path", entry.submission_path.as_str().into()),
        ("error", error.into()),
    ])
}

/// Returns Harbor's reward.json, whose values must be finite numbers. The number `medal` is 0 for no medal, 1 for bronze,
/// 2 for silver and 3 for gold.
pub fn reward(report: &CompetitionReport, reward: f64) -> String {
    let medals = ["-", "bronze", "silver", "gold"].iter();
    let medal = medals
        .zip(0_i64..)
        .find(|(name, _)| **name == medal_of(report.medals));
    let medal = medal.map_or(0, |(_, rank)| rank);
    let mut numbers = JsonObject::from_iter([
        ("reward", reward.into()),
        ("medal", medal.into()),
        ("valid", i64::from(report.valid_submission()).into()),
    ]);
    if let Some(score) = report.score.filter(|score| score.is_finite()) {
        numbers.insert("score".into(), score.into());
    }
    pretty(numbers) + "\n"
}

/// Warns about missing leaderboards, copies of the answers, metrics that the pipeline's author wrote as queries, and scores
/// that are not comparable with upstream's.
pub fn remarks(printer: &Printer, reports: &[&CompetitionReport]) {
    without_leaderboard(printer, reports);
    for report in reports.iter().filter(|report| report.is_answers) {
        printer.warning(format!(
            "{} is identical to the answers of `{}`, so its score is not a result",
            report.submission_path, report.competition_id
        ));
    }
    own_metrics(printer, reports);
    not_comparable(printer, reports);
}

fn own_metrics(printer: &Printer, reports: &[&CompetitionReport]) {
    let own = reports.iter().filter(|report| report.has_own_metric);
    let ids: BTreeSet<&str> = own.map(|report| report.competition_id.as_str()).collect();
    for id in ids {
        printer.message(format!(
            "the metric of `{id}` is a query that the author of the pipeline wrote"
        ));
    }
}

fn without_leaderboard(printer: &Printer, reports: &[&CompetitionReport]) {
    let without = reports.iter().filter(|report| report.thresholds.is_none());
    let ids: BTreeSet<&str> = without
        .map(|report| report.competition_id.as_str())
        .collect();
    for id in ids {
        printer.message(format!(
            "`{id}` has no leaderboard.csv, so its scores earn no medals"
        ));
    }
}

/// Maximum number of competitions that a warning names.
const MAX_IDS: usize = 12;

/// Warns about scores on upstream's competitions that are not comparable with upstream's scores.
fn not_comparable(printer: &Printer, reports: &[&CompetitionReport]) {
    let of_benchmark = reports
        .iter()
        .filter(|report| prep_app::definition(&report.competition_id).is_some());
    let mut because: BTreeMap<&[String], BTreeSet<String>> = BTreeMap::new();
    for report in of_benchmark {
        let ids = because.entry(&report.variant.not_comparable_because);
        ids.or_default()
            .insert(format!("`{}`", report.competition_id));
    }
    because.remove(&[][..]);
    for (because, ids) in because {
        printer.warning(format!(
            "scores of {} cannot be compared with those of MLE-bench: {}",
            joined(ids.into_iter(), MAX_IDS),
            because.join("; ")
        ));
    }
}

pub fn score(report: &CompetitionReport) -> String {
    let number = |score: f64| score.to_string();
    report.score.map_or_else(|| "-".to_owned(), number)
}

pub fn medal(report: &CompetitionReport) -> &'static str {
    medal_of(report.medals)
}

pub fn medal_of(medals: Medals) -> &'static str {
    match medals {
        medals if medals.gold => "gold",
        medals if medals.silver => "silver",
        medals if medals.bronze => "bronze",
        _ => "-",
    }
}

/// Returns for example `gold 0.82066, silver 0.81388, bronze 0.80967, median 0.79565 (higher is better)`.
pub fn thresholds(found: Thresholds, is_lower_better: bool) -> String {
    format!(
        "gold {}, silver {}, bronze {}, median {} ({} is better)\n",
        found.gold,
        found.silver,
        found.bronze,
        found.median,
        better(is_lower_better)
    )
}

fn better(is_lower_better: bool) -> &'static str {
    if is_lower_better { "lower" } else { "higher" }
}

/// A report, and the path of its submission. If the run has no submission, this is the directory of the run.
pub type ReportRow<'a> = (&'a CompetitionReport, &'a Path);

/// Returns a table with a row per report. If a competition has several reports, a column shows the paths, without their
/// common directory.
pub fn rows(reports: &[ReportRow]) -> PrintedTable {
    let mut ids = BTreeSet::new();
    let has_paths = !reports
        .iter()
        .all(|(report, _)| ids.insert(&report.competition_id));
    let columns = ">score  better if  medal  above median  submission";
    let header = match has_paths {
        true => format!("competition  path  {columns}"),
        false => format!("competition  {columns}"),
    };
    let common = common_directory(reports.iter().map(|(_, path)| *path));
    let mut table = PrintedTable::with_header(&header);
    for (report, path) in reports {
        let submission = match &report.reason {
            Some(refusal) if report.submission_path == NO_SUBMISSION => refusal.to_string(),
            Some(refusal) => format!("invalid: {refusal}"),
            None => "valid".to_owned(),
        };
        let mut cells = vec![report.competition_id.clone()];
        if has_paths {
            let path = path.strip_prefix(&common).unwrap_or(path);
            cells.push(path.display().to_string());
        }
        cells.extend([
            score(report),
            report.is_lower_better.map_or("-", better).to_owned(),
            medal(report).to_owned(),
            match (report.thresholds, report.medals.above_median) {
                (None, _) => "-",
                (Some(_), true) => "yes",
                (Some(_), false) => "no",
            }
            .to_owned(),
            submission,
        ]);
        table.row(cells);
    }
    table
}

/// Returns the longest directory that contains all paths, except paths without a directory. If the paths have no common
/// directory, returns an empty path.
fn common_directory<'a>(paths: impl Iterator<Item = &'a Path>) -> PathBuf {
    let directories = paths.filter_map(Path::parent);
    let directories = directories.filter(|directory| !directory.as_os_str().is_empty());
    let directories = directories.map(Path::to_owned);
    let common = directories.reduce(|one, other| {
        let pairs = one.components().zip(other.components());
        let equal = pairs.take_while(|(one, other)| one == other);
        equal.map(|(component, _)| component).collect()
    });
    common.unwrap_or_default()
}

/// Returns a table with a row per report, followed by totals.
pub fn summary(reports: &[ReportRow]) -> String {
    let count = |counts: fn(&CompetitionReport) -> bool| {
        reports.iter().filter(|(report, _)| counts(report)).count()
    };
    format!(
        "{}\n{}: {} valid, {} above the median, {} gold, {} silver, {} bronze\n",
        rows(reports).render(),
        units::count(reports.len() as u64, "run"),
        count(CompetitionReport::valid_submission),
        count(|report| report.medals.above_median),
        count(|report| report.medals.gold),
        count(|report| report.medals.silver),
        count(|report| report.medals.bronze),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_directories_ignore_paths_without_a_directory() {
        for (paths, expected) in [
            ("runs/a/s/x.csv runs/b/s/x.csv -", "runs"),
            ("runs/a/s/x.csv runs/b", "runs"),
            ("runs/a/x.csv runs/a/y.csv", "runs/a"),
            ("/r/a/x.csv /r/b/x.csv", "/r"),
            ("a/x.csv b/x.csv", ""),
            ("-", ""),
        ] {
            let found = common_directory(paths.split(' ').map(Path::new));
            assert_eq!(found, Path::new(expected), "{paths}");
        }
    }
}
