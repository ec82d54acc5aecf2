//! `numeric`: requires columns of numbers.

use prep_formats::pandas::ColumnData;
use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Rule, RuleKind, parse};
use crate::python::python_float;
use crate::refusal::{Refusal, RefusalKind, RowPolicy};
use crate::spec::definition::{Definition, columns, optional};
use crate::table::numbers::ColumnSelection;
use crate::table::pair::{CellValue, GradedColumn, Pair};

pub(super) const KIND: RuleKind = RuleKind {
    definition: Definition {
        name: "numeric",
        summary: "The columns contain numbers.",
        details: "pandas gives each column one type: a single text makes the entire column text, and so does an \
                  integer beyond 64 bits or a number too large for a double. Missing cells and infinite numbers are \
                  valid (see `finite`, `range`).",
        source: "pandas.to_numeric, Series.astype(float), Series.dtype",
        shorthand: Some("columns"),
        parameters: &[
            columns("columns", "The columns."),
            optional(
                "text",
                KeyType::Choice(&["refuse", "convert"]),
                "`convert`: a column of text is valid if Python's `float` converts each text to a number.",
            ),
            optional(
                "booleans",
                KeyType::Choice(&["allow", "refuse", "allow_complete"]),
                "Whether True and False are valid as 1 and 0 (default) or invalid; `allow_complete`: valid only in a \
                 column without missing cells, because pandas has no boolean type for a column with missing cells.",
            ),
        ],
    },
    parse: parse::<Numeric>,
};

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Text {
    #[default]
    Refuse,
    Convert,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Booleans {
    #[default]
    Allow,
    Refuse,
    AllowComplete,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Numeric {
    columns: ColumnSelection,
    #[serde(default)]
    text: Text,
    #[serde(default)]
    booleans: Booleans,
}

impl Rule for Numeric {
    fn rows(&self) -> RowPolicy {
        RowPolicy::Kept
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        for name in self.columns.select(pair) {
            self.check(&pair.submission.column(name)?)?;
        }
        Ok(())
    }
}

impl Numeric {
    fn check(&self, column: &GradedColumn<'_>) -> Result<(), Refusal> {
        let booleans = self.booleans == Booleans::Allow;
        match column.data() {
            ColumnData::Int64(_) | ColumnData::UInt64(_) | ColumnData::Float64(_) => return Ok(()),
            ColumnData::Bool(_) if self.booleans != Booleans::Refuse => return Ok(()),
            ColumnData::Bool(_) | ColumnData::Object(_) => {}
        }
        // If booleans are invalid, the type of the column decides, because NumPy does not treat Python objects as
        // numbers.
        let is_typed = self.booleans == Booleans::Refuse && self.text == Text::Refuse;
        let passes = |value: CellValue<'_>| match value {
            CellValue::Missing | CellValue::Int(_) | CellValue::UInt(_) | CellValue::Float(_)
                if is_typed =>
            {
                false
            }
            CellValue::Text(text) => self.text == Text::Convert && python_float(text).is_some(),
            CellValue::Bool(_) => booleans,
            CellValue::Missing | CellValue::Int(_) | CellValue::UInt(_) | CellValue::Float(_) => {
                true
            }
        };
        // If text is invalid, report a text that is not a number rather than the first text of the column.
        let odd = column
            .values()
            .position(
                |value| matches!(value, CellValue::Text(text) if python_float(text).is_none()),
            )
            .or_else(|| column.values().position(|value| !passes(value)));
        match odd {
            Some(position) => Err(column.refuse(RefusalKind::Type, position, "a number")),
            None if column.is_empty() => {
                Err(Refusal::new(RefusalKind::RowCount, "there are no rows").in_column(column.name))
            }
            None => Ok(()),
        }
    }
}
