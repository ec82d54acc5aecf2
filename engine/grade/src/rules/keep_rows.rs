//! `keep_rows`: keeps only the rows that the answers mark as scored.

use std::collections::{HashMap, HashSet};

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Rule, RuleKind, parse};
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, columns, optional};
use crate::table::key::key;
use crate::table::numbers::{ColumnSelection, number};
use crate::table::pair::Pair;

pub(super) const KIND: RuleKind = RuleKind {
    definition: Definition {
        name: "keep_rows",
        summary: "Keeps the rows that the answers mark as scored.",
        details: "A row of the answers is kept if the sum of its columns `sum_of` (without missing ones) is between \
                  `min` and `max`. In the submission, the rows at the same positions are kept. With `by`, rows are \
                  kept by identifier instead, and an identifier that is not in the answers is invalid. With `in_file`, \
                  rows of the submission are kept by their position in the file, even if the rows were sorted since.",
        source: "pandas boolean indexing",
        shorthand: None,
        parameters: &[
            columns("sum_of", "The answers' columns that are summed."),
            optional("min", KeyType::Number, "The smallest sum of a kept row."),
            optional("max", KeyType::Number, "The largest sum of a kept row."),
            optional(
                "by",
                KeyType::Column,
                "The identifier by which rows of the submission are matched; default: by position.",
            ),
            optional(
                "in_file",
                KeyType::Boolean,
                "Whether rows are matched by their position in the file, as by pandas' index after sorting.",
            ),
        ],
    },
    parse: parse::<KeepRows>,
};

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
    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        let columns = pair.answers.columns(&self.sum_of.select(pair))?;
        for column in &columns {
            if let Some(row) = column.first_text() {
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
