//! `text`: requires columns of text.

use serde::Deserialize;

use super::kind::{Rule, RuleKind, parse};
use crate::refusal::{Refusal, RowPolicy};
use crate::spec::definition::{Definition, columns};
use crate::table::numbers::ColumnSelection;
use crate::table::pair::Pair;

pub(super) const KIND: RuleKind = RuleKind {
    definition: Definition {
        name: "text",
        summary: "Every cell of the columns is text.",
        details: "A column is invalid if all its cells are numbers or booleans, or if a cell is missing (see \
                  `fill_missing`).",
        source: "MLE-bench graders",
        shorthand: Some("columns"),
        parameters: &[columns("columns", "The columns.")],
    },
    parse: parse::<Text>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    columns: ColumnSelection,
}

impl Rule for Text {
    fn rows(&self) -> RowPolicy {
        RowPolicy::Kept
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        for name in self.columns.select(pair) {
            pair.submission.column(name)?.check_text()?;
        }
        Ok(())
    }
}
