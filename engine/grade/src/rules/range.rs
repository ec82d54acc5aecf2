//! `range`: requires numbers between two bounds.

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Rule, RuleKind, parse};
use crate::python::python_repr;
use crate::refusal::{Refusal, RefusalKind, RowPolicy};
use crate::spec::definition::{Definition, columns, optional};
use crate::table::numbers::{ColumnSelection, number};
use crate::table::pair::{CellValue, Pair};

pub(super) const KIND: RuleKind = RuleKind {
    definition: Definition {
        name: "range",
        summary: "All numbers of the columns are between two bounds, inclusive.",
        details: "Booleans are treated as 0 and 1; text is invalid. `-0.0` is not below 0.",
        source: "MLE-bench graders",
        shorthand: None,
        parameters: &[
            columns("columns", "The columns."),
            optional("min", KeyType::Number, "The smallest number allowed."),
            optional("max", KeyType::Number, "The largest number allowed."),
            optional(
                "missing",
                KeyType::Choice(&["refuse", "ignore"]),
                "Whether a missing cell is invalid (default) or valid.",
            ),
        ],
    },
    parse: parse::<Range>,
};

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Missing {
    #[default]
    Refuse,
    Ignore,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    columns: ColumnSelection,
    min: Option<f64>,
    max: Option<f64>,
    #[serde(default)]
    missing: Missing,
}

impl Rule for Range {
    fn rows(&self) -> RowPolicy {
        RowPolicy::Kept
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        for name in self.columns.select(pair) {
            let column = pair.submission.column(name)?;
            for (position, value) in column.values().enumerate() {
                let kind = match value {
                    CellValue::Missing if self.missing == Missing::Ignore => continue,
                    CellValue::Missing => RefusalKind::Missing,
                    CellValue::Text(_) => RefusalKind::Type,
                    value if number(value).is_some_and(|number| self.contains(number)) => continue,
                    _ => RefusalKind::Range,
                };
                return Err(column.refuse(kind, position, &self.expected()));
            }
        }
        Ok(())
    }
}

impl Range {
    fn contains(&self, number: f64) -> bool {
        self.min.is_none_or(|min| number >= min) && self.max.is_none_or(|max| number <= max)
    }

    fn expected(&self) -> String {
        match (self.min, self.max) {
            (Some(min), Some(max)) => {
                format!("a number from {} to {}", python_repr(min), python_repr(max))
            }
            (Some(min), None) => format!("a number not below {}", python_repr(min)),
            (None, Some(max)) => format!("a number not above {}", python_repr(max)),
            (None, None) => "a number".to_owned(),
        }
    }
}
