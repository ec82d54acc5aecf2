//! `drop_missing`: drops answers without a value.

use serde::Deserialize;

use super::{Rule, RuleKind, parse};
use crate::refusal::Refusal;
use crate::spec::definition::{Definition, Parameter, ParameterKind};
use crate::table::columns::ColumnSelection;
use crate::table::pair::{CellValue, GradedColumn, Pair};

pub(super) const KIND: RuleKind = RuleKind {
    definition: Definition {
        name: "drop_missing",
        summary: "Drops rows of the answers that have no value in one of the columns.",
        details: "The submission is not changed (see `join`).",
        source: "pandas.DataFrame.dropna",
        shorthand: Some("columns"),
        parameters: &[Parameter::required(
            "columns",
            ParameterKind::Columns,
            "The columns.",
        )],
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
        let columns = self
            .columns
            .select(pair)
            .into_iter()
            .map(|name| pair.answers.column(name))
            .collect::<Result<Vec<GradedColumn<'_>>, Refusal>>()?;
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
