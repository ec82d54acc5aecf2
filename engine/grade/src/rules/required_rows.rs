//! Rules about the rows that a submission must have.

use std::collections::HashMap;

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Rule, RuleKind};
use crate::refusal::{Refusal, RefusalKind, RowPolicy, count};
use crate::spec::definition::{Definition, column, one, optional};
use crate::table::column::GradedColumn;
use crate::table::key::key;
use crate::table::pair::Pair;

pub(super) const NOT_EMPTY: RuleKind = RuleKind::new::<NotEmpty>(Definition {
    name: "not_empty",
    summary: "The submission has at least one row and one column.",
    details: "",
    source: "pandas.DataFrame.empty",
    shorthand: None,
    parameters: &[],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NotEmpty {}

impl Rule for NotEmpty {
    fn is_about_shape(&self) -> bool {
        true
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        if pair.submission.is_empty() {
            let expected = pair.answers.len();
            return Err(Refusal::new(
                RefusalKind::RowCount,
                format!("the submission has no rows, expected {expected}"),
            ));
        }
        Ok(())
    }
}

pub(super) const SAME_ROWS: RuleKind = RuleKind::new::<SameRows>(Definition {
    name: "same_rows",
    summary: "The submission has the same number of rows as the answers.",
    details: "",
    source: "MLE-bench graders",
    shorthand: Some("times"),
    parameters: &[optional(
        "times",
        KeyType::Natural,
        "The number of rows of the submission for each row of the answers; default 1.",
    )],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SameRows {
    #[serde(default = "one")]
    times: usize,
}

impl Rule for SameRows {
    fn is_about_shape(&self) -> bool {
        true
    }

    fn rows(&self) -> RowPolicy {
        RowPolicy::Times(self.times)
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        check(
            pair.submission.len(),
            pair.answers.len().saturating_mul(self.times),
        )
    }
}

/// Returns an error unless the submission has the expected number of rows.
pub(crate) fn check(found: usize, expected: usize) -> Result<(), Refusal> {
    if found == expected {
        return Ok(());
    }
    let message = match found.checked_sub(expected) {
        Some(more) => format!(
            "the submission has {}, {more} too many: expected {expected}",
            count(found, "row")
        ),
        None => format!(
            "the submission has {}, {} too few: expected {expected}",
            count(found, "row"),
            expected - found
        ),
    };
    Err(Refusal::new(RefusalKind::RowCount, message))
}

pub(super) const SAME_IDS: RuleKind = RuleKind::new::<SameIds>(Definition {
    name: "same_ids",
    summary: "The submission has the same identifiers as the answers, in any order.",
    details: "Identifiers are compared as sets, so a repeated identifier is valid (but see `same_rows`). Numbers are \
              compared by value (`1.0` equals `1`). A number never equals text.",
    source: "MLE-bench graders",
    shorthand: Some("column"),
    parameters: &[
        column("column", "The column of identifiers."),
        optional(
            "relation",
            KeyType::Choice(&["equal", "subset", "superset"]),
            "`subset`: the submission may omit identifiers; `superset`: the submission may have additional identifiers.",
        ),
    ],
});

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Relation {
    #[default]
    Equal,
    Subset,
    Superset,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SameIds {
    column: String,
    #[serde(default)]
    relation: Relation,
}

impl Rule for SameIds {
    fn identifies_rows(&self) -> bool {
        true
    }

    fn rows(&self) -> RowPolicy {
        RowPolicy::Kept
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        let (submission, answers) = (
            pair.submission.column(&self.column)?,
            pair.answers.column(&self.column)?,
        );
        let mut seen: HashMap<_, bool> = (0..answers.len())
            .map(|row| (key(&answers, row), false))
            .collect();
        for row in 0..submission.len() {
            match seen.get_mut(&key(&submission, row)) {
                Some(found) => *found = true,
                None if self.relation == Relation::Superset => {}
                None => {
                    return Err(submission.refuse(
                        RefusalKind::Ids,
                        row,
                        "an identifier of the answers",
                    ));
                }
            }
        }
        if self.relation == Relation::Subset {
            return Ok(());
        }
        missing(&answers, &seen)
    }
}

/// Reports the first missing identifier. Identifiers are public, so this reveals no answers.
fn missing(
    answers: &GradedColumn<'_>,
    seen: &HashMap<crate::table::key::Identifier<'_>, bool>,
) -> Result<(), Refusal> {
    let lacks = |row: &usize| seen.get(&key(answers, *row)) == Some(&false);
    let Some(first) = (0..answers.len()).find(lacks) else {
        return Ok(());
    };
    let more = (0..answers.len()).filter(lacks).count() - 1;
    let shown = answers.for_message(first);
    let message = match more {
        0 => format!("the submission has no row for {shown}"),
        more => format!("the submission has no row for {shown} and {more} more"),
    };
    Err(Refusal::new(RefusalKind::Ids, message).in_column(answers.name))
}
