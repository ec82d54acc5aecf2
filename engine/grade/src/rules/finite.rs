//! `finite`: requires finite numbers.

use serde::Deserialize;

use super::kind::{Rule, RuleKind, parse};
use crate::refusal::{Refusal, RefusalKind, RowPolicy};
use crate::spec::definition::{Definition, columns};
use crate::table::numbers::{ColumnSelection, number};
use crate::table::pair::{CellValue, Pair};

pub(super) const KIND: RuleKind = RuleKind {
    definition: Definition {
        name: "finite",
        summary: "No cell of the columns is missing, infinite or not a number.",
        details: "",
        source: "numpy.isfinite",
        shorthand: Some("columns"),
        parameters: &[columns("columns", "The columns.")],
    },
    parse: parse::<Finite>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Finite {
    columns: ColumnSelection,
}

impl Rule for Finite {
    fn rows(&self) -> RowPolicy {
        RowPolicy::Kept
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        for name in self.columns.select(pair) {
            let column = pair.submission.column(name)?;
            for (position, value) in column.values().enumerate() {
                let kind = match number(value) {
                    Some(number) if number.is_finite() => continue,
                    Some(_) => RefusalKind::Range,
                    None if value == CellValue::Missing => RefusalKind::Missing,
                    None => RefusalKind::Type,
                };
                return Err(column.refuse(kind, position, "a finite number"));
            }
        }
        Ok(())
    }
}
