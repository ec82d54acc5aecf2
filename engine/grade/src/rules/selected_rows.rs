//! Rules that drop rows.

use std::collections::{HashMap, HashSet};

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Rule, RuleKind};
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, column, columns, optional, required};
use crate::table::column::CellValue;
use crate::table::key::{key, merge_key};
use crate::table::numbers::{ColumnSelection, number};
use crate::table::pair::Pair;
use crate::table::sort::sort_positions;

pub(super) const KEEP_ROWS: RuleKind = RuleKind::new::<KeepRows>(Definition {
    name: "keep_rows",
    summary: "Keeps the rows that the answers mark as scored.",
    details: "A row of the answers is kept if the sum of its cells in the columns `sum_of` is between `min` and \
              `max`. Missing cells are left out of the sum. Without `by` and `in_file`, the submission's rows at the \
              same positions are kept.\n\n\
              With `by`, a row of the submission is kept if a kept row of the answers has the same identifier. An \
              identifier that is not in the answers is invalid. With `in_file`, positions are those in the two \
              files, before any rule sorts the rows.",
    source: "pandas boolean indexing",
    shorthand: None,
    parameters: &[
        columns("sum_of", "The answers' columns that are summed."),
        optional("min", KeyType::Number, "The smallest sum of a kept row."),
        optional("max", KeyType::Number, "The largest sum of a kept row."),
        optional(
            "by",
            KeyType::Column,
            "The identifier by which rows of the submission are matched with rows of the answers; default: by position.",
        ),
        optional(
            "in_file",
            KeyType::Boolean,
            "Whether rows are matched by their positions in the files, before any rule sorts them.",
        ),
    ],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeepRows {
    sum_of: ColumnSelection,
    min: Option<f64>,
    max: Option<f64>,
    by: Option<String>,
    #[serde(default)]
    in_file: bool,
}

impl Rule for KeepRows {
    fn drops_answers(&self) -> bool {
        true
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        let columns = pair.answers.columns(&self.sum_of.select(pair))?;
        for column in &columns {
            if let Some(row) = column.odd_text() {
                return Err(column.refuse(RefusalKind::Answers, row, "a number in the answers"));
            }
        }
        let kept: Vec<bool> = (0..pair.answers.len())
            .map(|row| {
                let sum: f64 = columns
                    .iter()
                    .filter_map(|column| number(column.value(row)))
                    .sum();
                self.min.is_none_or(|min| sum >= min) && self.max.is_none_or(|max| sum <= max)
            })
            .collect();
        let of_submission = match &self.by {
            None if self.in_file => by_file_row(pair, &kept),
            None => kept.clone(),
            Some(by) => look_up(pair, by, &kept)?,
        };
        pair.answers.select(positions(&kept));
        pair.submission.select(positions(&of_submission));
        Ok(())
    }
}

/// Returns for each row of the submission whether `kept` is true for the row of the answers with the same identifier.
fn look_up(pair: &Pair<'_>, by: &str, kept: &[bool]) -> Result<Vec<bool>, Refusal> {
    let (answers, submission) = pair.both(by)?;
    let marks: HashMap<_, bool> = kept
        .iter()
        .enumerate()
        .map(|(row, kept)| (key(&answers, row), *kept))
        .collect();
    (0..submission.len())
        .map(|row| match marks.get(&key(&submission, row)) {
            Some(kept) => Ok(*kept),
            None => Err(submission.refuse(RefusalKind::Ids, row, "an identifier of the answers")),
        })
        .collect()
}

/// Returns for each row of the submission whether `kept` is true for the row of the answers at the same position in the
/// file.
fn by_file_row(pair: &Pair<'_>, kept: &[bool]) -> Vec<bool> {
    let rows = pair.answers.file_positions().zip(kept);
    let marked: HashSet<u32> = rows
        .filter(|(_, kept)| **kept)
        .map(|(row, _)| row)
        .collect();
    let of_submission = pair.submission.file_positions();
    of_submission.map(|row| marked.contains(&row)).collect()
}

fn positions(kept: &[bool]) -> Vec<u32> {
    (0..)
        .zip(kept)
        .filter(|(_, kept)| **kept)
        .map(|(position, _)| position)
        .collect()
}

pub(super) const KEEP_LAST: RuleKind = RuleKind::new::<KeepLast>(Definition {
    name: "keep_last",
    summary: "Keeps the last rows of each group of the answers, after sorting by a column.",
    details: "The answers are sorted by `by` (as in `align`). If a group has fewer than `count` rows, all of them are \
              kept. Rows whose group is missing are dropped.\n\n\
              The submission is not changed. To drop the submission's rows whose counterpart in the answers was \
              dropped, use the rule `join`.",
    source: "pandas.DataFrame.groupby(...).tail",
    shorthand: None,
    parameters: &[
        column("groups", "The answers' column that defines the groups."),
        column("by", "The answers' column to sort by."),
        required(
            "count",
            KeyType::Natural,
            "The number of rows to keep in each group.",
        ),
    ],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeepLast {
    groups: String,
    by: String,
    count: usize,
}

impl Rule for KeepLast {
    fn drops_answers(&self) -> bool {
        true
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        let order = sort_positions(&pair.answers.column(&self.by)?)?;
        let groups = pair.answers.column(&self.groups)?;
        let mut counts: HashMap<_, usize> = HashMap::new();
        let mut kept: Vec<u32> = Vec::new();
        for position in order.into_iter().rev() {
            if groups.value(position as usize) == crate::table::column::CellValue::Missing {
                continue;
            }
            let count = counts.entry(key(&groups, position as usize)).or_default();
            *count += 1;
            if *count <= self.count {
                kept.push(position);
            }
        }
        kept.reverse();
        pair.answers.select(kept);
        Ok(())
    }
}

pub(super) const DROP_MISSING: RuleKind = RuleKind::new::<DropMissing>(Definition {
    name: "drop_missing",
    summary: "Drops rows of the answers that have no value in one of the columns.",
    details: "The submission is not changed. To drop the submission's rows whose counterpart in the answers was \
              dropped, use the rule `join`.",
    source: "pandas.DataFrame.dropna",
    shorthand: Some("columns"),
    parameters: &[columns("columns", "The columns.")],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DropMissing {
    columns: ColumnSelection,
}

impl Rule for DropMissing {
    fn drops_answers(&self) -> bool {
        true
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        let columns = pair.answers.columns(&self.columns.select(pair))?;
        let complete = |row: &u32| {
            columns
                .iter()
                .all(|column| column.value(*row as usize) != CellValue::Missing)
        };
        let kept: Vec<u32> = (0u32..).take(pair.answers.len()).filter(complete).collect();
        pair.answers.select(kept);
        Ok(())
    }
}

pub(super) const DROP_UNKNOWN: RuleKind = RuleKind::new::<DropUnknown>(Definition {
    name: "drop_unknown",
    summary: "Drops the submission's rows whose identifier is not in the answers.",
    details: "Identifiers are compared as in `same_ids`, but missing identifiers are equal.",
    source: "pandas.Series.isin",
    shorthand: Some("column"),
    parameters: &[column("column", "The column of identifiers.")],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DropUnknown {
    column: String,
}

impl Rule for DropUnknown {
    fn identifies_rows(&self) -> bool {
        true
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        let (answers, submission) = pair.both(&self.column)?;
        let known: HashSet<_> = (0..answers.len())
            .map(|row| merge_key(&answers, row))
            .collect();
        let kept: Vec<u32> = (0u32..)
            .take(submission.len())
            .filter(|row| known.contains(&merge_key(&submission, *row as usize)))
            .collect();
        pair.submission.select(kept);
        Ok(())
    }
}
