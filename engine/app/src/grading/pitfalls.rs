//! Warnings about answers and rules that are valid, but probably not what the author of the competition intended.

use std::collections::HashSet;

use prep_core::units;
use prep_formats::pandas::{ColumnData, Frame};
use prep_grade::Grader;
use prep_grade::table::submission;

use super::trial::is_worse;

/// Returns the warnings about the answers, the sample submission, and the public table of test items, if there is one.
pub(super) fn in_files(
    grader: &Grader,
    answers: &Frame,
    files: [&[u8]; 2],
    test: Option<&[u8]>,
) -> Vec<String> {
    let repeated = || {
        let place = repeated_ids(grader, answers).filter(|_| !grader.groups_rows());
        place.map(|place| format!("{place} in the answers; keep one row for each identifier"))
    };
    let found = [
        unscored_rows(grader, answers),
        rows_with_wrong_classes(grader, answers),
        repeated(),
        test.and_then(|test| ids_without_test_row(grader, answers, test)),
        rewarded_rows(grader, answers, files),
    ];
    found.into_iter().flatten().collect()
}

/// Returns a message about the first row of the answers whose identifiers occurred in an earlier row.
pub(super) fn repeated_ids(grader: &Grader, answers: &Frame) -> Option<String> {
    let mut seen = HashSet::new();
    let mut ids = ids_of(grader, answers).into_iter().enumerate();
    let (row, id) = ids.find(|(_, id)| {
        let is_known = !id.is_empty() && id.iter().all(|cell| !cell.is_empty());
        is_known && !seen.insert(id.clone())
    })?;
    let (row, id) = (row + 1, id.join(", "));
    Some(format!("row {row}: the identifier `{id}` appears twice"))
}

/// Returns the identifiers of each row of a table. A missing cell is an empty text.
fn ids_of(grader: &Grader, table: &Frame) -> Vec<Vec<String>> {
    let names: HashSet<&str> = grader.identifiers().into_iter().collect();
    let mut columns = table.columns.iter().collect::<Vec<_>>();
    columns.retain(|column| names.contains(column.name.as_str()));
    columns.sort_by(|one, other| one.name.cmp(&other.name));
    let cells = |row| {
        columns
            .iter()
            .map(move |column| column.text(row).unwrap_or_default())
    };
    (0..table.rows).map(|row| cells(row).collect()).collect()
}

/// Returns a warning if the answers have missing numbers, and no query of the metric mentions NULL. Aggregates of SQL skip
/// missing values, so the author of the query may not notice them.
fn unscored_rows(grader: &Grader, answers: &Frame) -> Option<String> {
    let queries = grader.queries();
    let mentions = |word| {
        queries
            .iter()
            .any(|query| query.text.to_ascii_lowercase().contains(word))
    };
    if queries.is_empty() || mentions("null") || mentions("coalesce") {
        return None;
    }
    let is_number = |data: &ColumnData| matches!(data, ColumnData::Float64(_));
    let mut columns = answers.columns.iter();
    let column = columns.find(|column| is_number(&column.data) && column.data.missing() > 0)?;
    let (rows, name) = (units::count(column.data.missing(), "row"), &column.name);
    Some(format!(
        "the answers have no value in {rows} of the column `{name}`, which the query of the metric may skip; leave these rows out, or \
         handle missing values in the query, for example with `IS NOT NULL`"
    ))
}

/// Returns a warning if rows of the answers are 0 in the columns of all classes, or have more classes than the metric
/// permits. Possible causes: the query that writes the answers lacks the column of a class, or the columns are
/// independent labels. A row may have none of several independent labels, unless nearly all rows have exactly one.
fn rows_with_wrong_classes(grader: &Grader, answers: &Frame) -> Option<String> {
    let (counts, max) = grader.classes_of_rows(answers)?;
    let example = |is_wrong: &dyn Fn(usize) -> bool| {
        let first = counts.iter().position(|count| is_wrong(*count))?;
        let rows = counts.iter().filter(|count| is_wrong(**count)).count();
        Some((units::count(rows, "row"), first + 1))
    };
    let metric = grader.metric().definition.name;
    let without = counts.iter().filter(|count| **count == 0).count();
    let max = match max {
        None if without * 4 >= counts.len() || counts.iter().any(|count| *count > 1) => {
            return None;
        }
        max => max.unwrap_or(1),
    };
    let several = example(&|count| count > max).map(|(rows, row)| format!(
        "the answers have {rows} with several classes, for example row {row}, but each row has exactly one class in the metric `{metric}`; \
         for independent labels, choose a metric such as `roc_auc` or `f1`"
    ));
    several.or_else(|| example(&|count| count == 0).map(|(rows, row)| format!(
        "the answers have {rows} without a class, for example row {row}; check that the query of the answers names all classes"
    )))
}

/// Returns the identifiers of the answers that `file`, a CSV file, lacks. `None` if one of the tables lacks a column.
pub(super) fn ids_without_row(
    grader: &Grader,
    answers: &Frame,
    file: &[u8],
) -> Option<Vec<Vec<String>>> {
    let table = submission::parse(file).ok()?;
    let mut names = grader.identifiers().into_iter();
    if names.any(|name| table.column(name).is_none() || answers.column(name).is_none()) {
        return None;
    }
    let known: HashSet<Vec<String>> = ids_of(grader, &table).into_iter().collect();
    let mut unknown = ids_of(grader, answers);
    unknown.retain(|id| !known.contains(id));
    Some(unknown)
}

fn ids_without_test_row(grader: &Grader, answers: &Frame, test: &[u8]) -> Option<String> {
    let unknown = ids_without_row(grader, answers, test)?;
    let example = unknown.first()?.join(", ");
    Some(format!(
        "{} of {} of the answers are not in `public/test.csv`, for example `{example}`; check the queries of both files",
        unknown.len(),
        units::count(answers.rows, "identifier"),
    ))
}

/// Grades the sample submission after changes to its rows: every second row is repeated, every second row is left out,
/// or both (for example, rows at even positions are repeated and rows at odd positions are left out).
///
/// Returns a warning if a change improves the score of the sample submission, unless the same change makes the score of
/// the answers worse. With such a metric, participants could repeat or leave out rows to get a better score.
fn rewarded_rows(grader: &Grader, answers: &Frame, files: [&[u8]; 2]) -> Option<String> {
    if grader.queries().is_empty() || grader.identifiers().is_empty() {
        return None;
    }
    let [perfect, sample] = files.map(|file| submission::parse(file).ok());
    let sample = sample?;
    let score = |file: &Frame, repeats: [u32; 2]| {
        let rows = (0..u32::try_from(file.rows).ok()?)
            .flat_map(|row| (0..repeats[row as usize % 2]).map(move |_| row));
        let score = grader.grade_rows(answers, file, rows.collect()).rounded();
        score.filter(|score| score.is_finite())
    };
    let complete = score(&sample, [1, 1])?;
    let best = perfect.as_ref().and_then(|perfect| score(perfect, [1, 1]));
    // Each pair contains the number of copies of a row at an even position, and of a row at an odd position.
    let ways = [
        ("repeated", [2, 1]),
        ("repeated", [1, 2]),
        ("missing", [0, 1]),
        ("missing", [1, 0]),
        ("repeated in place of the others", [2, 0]),
        ("repeated in place of the others", [0, 2]),
    ];
    ways.into_iter().find_map(|(way, repeats)| {
        let other = score(&sample, repeats).filter(|other| is_worse(complete, *other, grader.direction()))?;
        let is_harmless = perfect.as_ref().zip(best).is_some_and(|(perfect, best)| {
            score(perfect, repeats).is_none_or(|score| is_worse(score, best, grader.direction()))
        });
        (!is_harmless).then(|| format!(
            "participants can improve scores with repeated or missing rows: if every second row of the sample submission is {way}, \
             its score is {other} instead of {complete}; require each identifier once, for example with the rule `align`"
        ))
    })
}
