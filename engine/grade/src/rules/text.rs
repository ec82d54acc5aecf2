//! `text`: requires columns of text.

use serde::Deserialize;

use super::{RowPolicy, Rule, RuleKind, parse};
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, Parameter, ParameterKind};
use crate::table::columns::ColumnSelection;
use crate::table::pair::{CellValue, Pair};

pub(super) const KIND: RuleKind = RuleKind {
    definition: Definition {
        name: "text",
        summary: "Every cell of the columns is text.",
        details: "A column is invalid if all its cells are numbers or booleans, or if a cell is missing (see \
                  `fill_missing`).",
        source: "MLE-bench graders",
        shorthand: Some("columns"),
        parameters: &[Parameter::required(
            "columns",
            ParameterKind::Columns,
            "The columns.",
        )],
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
            let column = pair.submission.column(name)?;
            for (position, value) in column.values().enumerate() {
                let kind = match value {
                    CellValue::Text(_) => continue,
                    CellValue::Missing => RefusalKind::Missing,
                    _ => RefusalKind::Type,
                };
                return Err(column.refuse(kind, position, "text"));
            }
        }
        Ok(())
    }
}
