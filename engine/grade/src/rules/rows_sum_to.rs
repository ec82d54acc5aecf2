//! `rows_sum_to`: requires that the cells of each row sum to a number.

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Rule, RuleKind, parse};
use crate::python::{python_repr, round_numpy};
use crate::refusal::{Refusal, RefusalKind, RowPolicy};
use crate::spec::definition::{Definition, columns, one, optional};
use crate::table::numbers::{ColumnSelection, check_numeric_type, number};
use crate::table::pair::{CellValue, Pair};

pub(super) const KIND: RuleKind = RuleKind {
    definition: Definition {
        name: "rows_sum_to",
        summary: "In every row, the columns sum to a given number, for example 1 for probabilities.",
        details: "The columns are added from left to right as listed; missing cells are left out, and text is \
                  invalid. The sum must not differ from the total by more than `absolute + 1e-5 * |total|`. With \
                  `decimals`, the sum rounded to this number of decimals must equal the total instead.",
        source: "numpy.isclose, numpy.round",
        shorthand: None,
        parameters: &[
            columns("columns", "The columns."),
            optional("total", KeyType::Number, "The sum; default 1."),
            optional(
                "absolute",
                KeyType::Number,
                "Absolute tolerance; default 1e-8.",
            ),
            optional(
                "decimals",
                KeyType::Natural,
                "Round the sum to this number of decimals and require that it equals the total.",
            ),
        ],
    },
    parse: parse::<RowsSumTo>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowsSumTo {
    columns: ColumnSelection,
    #[serde(default = "one")]
    total: f64,
    #[serde(default = "numpy_absolute")]
    absolute: f64,
    decimals: Option<u8>,
}

fn numpy_absolute() -> f64 {
    1e-8
}

/// The tolerance relative to the total, as in `numpy.isclose`.
const RELATIVE: f64 = 1e-5;

impl Rule for RowsSumTo {
    fn rows(&self) -> RowPolicy {
        RowPolicy::Kept
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        let columns = pair.submission.columns(&self.columns.select(pair))?;
        // NumPy cannot compare sums of Python objects with a tolerance, even if the objects are numbers.
        if self.decimals.is_none() && !pair.submission.is_empty() {
            columns.iter().try_for_each(check_numeric_type)?;
        }
        for row in 0..pair.submission.len() {
            let mut sum = 0.0;
            for column in &columns {
                match column.value(row) {
                    CellValue::Missing => {}
                    CellValue::Text(_) => {
                        return Err(column.refuse(RefusalKind::Type, row, "a number"));
                    }
                    value => sum += number(value).unwrap_or_default(),
                }
            }
            if !self.holds(sum) {
                let (found, total) = (python_repr(sum), python_repr(self.total));
                let names: Vec<&str> = columns.iter().take(3).map(|column| column.name).collect();
                let dots = if columns.len() > 3 { ", ..." } else { "" };
                // If a cell is missing, report that cell, because the author has to correct it.
                let empty = columns.iter().find(|column| column.is_missing(row));
                if let Some(empty) = empty {
                    let expected =
                        format!("a number: without it the row sums to {found} instead of {total}");
                    return Err(empty.refuse(RefusalKind::Missing, row, &expected));
                }
                let message = format!(
                    "{}{dots} sum to {found}, expected {total}",
                    names.join(", ")
                );
                let row = columns.first().map_or(0, |column| column.file_row(row));
                return Err(Refusal::new(RefusalKind::Range, message).in_row(row));
            }
        }
        Ok(())
    }
}

impl RowsSumTo {
    fn holds(&self, sum: f64) -> bool {
        match self.decimals {
            Some(decimals) => round_numpy(sum, i32::from(decimals)) == self.total,
            None => (sum - self.total).abs() <= self.absolute + RELATIVE * self.total.abs(),
        }
    }
}
