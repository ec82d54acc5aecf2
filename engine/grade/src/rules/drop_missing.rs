//! `drop_missing`: drops answers without a value.

use serde::Deserialize;

use super::kind::{Rule, RuleKind, parse};
use crate::refusal::Refusal;
use crate::spec::definition::{Definition, columns};
use crate::table::numbers::ColumnSelection;
use crate::table::pair::{CellValue, Pair};

pub(super) const KIND: RuleKind = RuleKind {
    definition: Definition {
        name: "drop_missing",
        summary: "Drops rows of the answers that have no value in one of the columns.",
        details: "The submission is not changed (see `join`).",
        source: "pandas.DataFrame.dropna",
        shorthand: Some("columns"),
        parameters: &[columns("columns", "The columns.")],
    },
    parse: parse::<DropMissing>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DropMissing {
    columns: ColumnSelection,
}

impl Rule for DropMissing {
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
