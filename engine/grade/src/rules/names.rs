//! Rules about the names of columns.

use prep_spec::words::KeyType;
use prep_spec::{joined, nearest};
use serde::Deserialize;

use super::kind::{Rule, RuleKind};
use crate::refusal::{Refusal, RefusalKind, RowPolicy};
use crate::spec::definition::{Definition, column, optional};
use crate::table::numbers::ColumnSelection;
use crate::table::pair::Pair;

/// Maximum number of names in a message.
const MAX_NAMES: usize = 12;

pub(super) const COLUMNS: RuleKind = RuleKind::new::<RequiredColumns>(Definition {
    name: "columns",
    summary: "The submission has these columns; other columns and any order are allowed.",
    details: "Names are compared exactly. Without parameters, all columns of the answers are required.",
    source: "MLE-bench graders",
    shorthand: Some("columns"),
    parameters: &[optional(
        "columns",
        KeyType::Selection,
        "The required columns; default: the columns of the answers.",
    )],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RequiredColumns {
    #[serde(default)]
    columns: ColumnSelection,
}

impl Rule for RequiredColumns {
    fn is_about_shape(&self) -> bool {
        true
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        require_all(pair, &self.columns.select(pair))
    }
}

/// Returns an error that names all missing columns.
fn require_all(pair: &Pair<'_>, names: &[&str]) -> Result<(), Refusal> {
    let missing = names.iter().copied();
    let missing: Vec<&str> = missing.filter(|name| !pair.submission.has(name)).collect();
    let Some((first, others)) = missing.split_first() else {
        return Ok(());
    };
    let required = pair.submission.require(first);
    required.map_err(|mut refusal| {
        // A file with a single column probably has another delimiter or is not a table. In this case, a list of missing
        // columns would not help.
        if !others.is_empty() && pair.submission.names().count() > 1 {
            let unused = |name: &&str| !names.contains(name);
            let unused: Vec<&str> = pair.submission.names().filter(unused).collect();
            let others = others.iter().map(|name| {
                let near = nearest(name, unused.iter().copied());
                let near = near.map(|near| format!(" (rename `{near}`)"));
                format!("{name}{}", near.unwrap_or_default())
            });
            let others = joined(others, MAX_NAMES);
            refusal
                .message
                .push_str(&format!("; it also lacks {others}"));
        }
        refusal
    })
}

pub(super) const EXACT_COLUMNS: RuleKind = RuleKind::new::<ExactColumns>(Definition {
    name: "exact_columns",
    summary: "The submission has these columns and no others.",
    details: "If two columns have the same name, pandas renames the second (`x.1`), which is then an additional column. A \
              saved index is also an additional column. Without parameters, the columns of the answers are required, in \
              any order.",
    source: "MLE-bench graders",
    shorthand: Some("columns"),
    parameters: &[
        optional(
            "columns",
            KeyType::Selection,
            "The allowed columns; default: the columns of the answers.",
        ),
        optional(
            "in_order",
            KeyType::Boolean,
            "Whether the submission must have the columns in the order of `columns`; default false.",
        ),
        optional(
            "first",
            KeyType::Column,
            "The column that must come first; the order of the other columns does not matter.",
        ),
    ],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExactColumns {
    #[serde(default)]
    columns: ColumnSelection,
    #[serde(default)]
    in_order: bool,
    first: Option<String>,
}

impl Rule for ExactColumns {
    fn is_about_shape(&self) -> bool {
        true
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        let expected = self.columns.select(pair);
        require_all(pair, &expected)?;
        if let Some(surplus) = pair
            .submission
            .names()
            .find(|name| !expected.contains(name))
        {
            // pandas gives this name to a column without a header, such as a saved index.
            let index = match surplus.strip_prefix("Unnamed: ") {
                Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                    " (its header is empty; if it is an index, use `to_csv(index=False)`)"
                }
                _ => "",
            };
            let message = format!(
                "unexpected column{index}; expected only: {}",
                joined(expected.iter().copied(), MAX_NAMES)
            );
            return Err(Refusal::new(RefusalKind::SurplusColumn, message).in_column(surplus));
        }
        let wanted: Vec<&str> = match (&self.first, self.in_order) {
            (_, true) => expected,
            (Some(first), false) => vec![first],
            (None, false) => Vec::new(),
        };
        for ((position, found), wanted) in pair.submission.names().enumerate().zip(&wanted) {
            if found != *wanted {
                let message = format!("expected column {} to be `{wanted}`", position + 1);
                return Err(Refusal::new(RefusalKind::SurplusColumn, message).in_column(found));
            }
        }
        Ok(())
    }
}

pub(super) const RENAME: RuleKind = RuleKind::new::<Rename>(Definition {
    name: "rename",
    summary: "Gives a column of the submission the name that the answers use.",
    details: "If the submission has only a column with the answers' name, the rule does nothing. If the submission has \
              columns with both names, it is invalid.",
    source: "pandas.DataFrame.rename",
    shorthand: None,
    parameters: &[
        column("column", "The name in the submission."),
        column("to", "The name in the answers."),
    ],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rename {
    column: String,
    to: String,
}

impl Rule for Rename {
    fn rows(&self) -> RowPolicy {
        RowPolicy::Kept
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        match (
            pair.submission.has(&self.column),
            pair.submission.has(&self.to),
        ) {
            (true, true) => {
                let message = format!(
                    "the submission has this column and also `{}`; remove one of them",
                    self.column
                );
                Err(Refusal::new(RefusalKind::SurplusColumn, message).in_column(&self.to))
            }
            (false, true) => Ok(()),
            (_, false) => {
                pair.submission.column(&self.column)?;
                pair.submission.rename(&self.column, &self.to);
                Ok(())
            }
        }
    }
}
