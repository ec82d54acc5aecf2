//! Rules about the values of cells.

use prep_formats::pandas::ColumnData;
use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Rule, RuleKind};
use crate::python::{python_float, python_repr, round_numpy};
use crate::refusal::{Refusal, RefusalKind, RowPolicy};
use crate::spec::definition::{Definition, columns, one, optional};
use crate::table::column::{CellValue, GradedColumn};
use crate::table::numbers::{ColumnSelection, check_numeric_type, number};
use crate::table::pair::Pair;

pub(super) const NUMERIC: RuleKind = RuleKind::new::<Numeric>(Definition {
    name: "numeric",
    summary: "The columns contain numbers.",
    details: "pandas gives each column one type. If one cell is text, the entire column has the type text. An integer \
              beyond 64 bits or a number too large for a double has the same effect. A column of text is invalid (but \
              see `text`). Missing cells and infinite numbers are valid (but see `finite`, `range`).",
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
});

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
        // NumPy does not treat a column of Python objects as numeric. Therefore, unless the rule allows booleans or text, such
        // a column is invalid even if all of its cells are numbers.
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
        match column.values().position(|value| !passes(value)) {
            Some(first) => {
                let odd = column.odd_text().unwrap_or(first);
                Err(column.refuse(RefusalKind::Type, odd, "a number"))
            }
            None if column.is_empty() => {
                Err(Refusal::new(RefusalKind::RowCount, "there are no rows").in_column(column.name))
            }
            None => Ok(()),
        }
    }
}

pub(super) const TEXT: RuleKind = RuleKind::new::<TextCells>(Definition {
    name: "text",
    summary: "Every cell of the columns is text.",
    details: "If all cells of a column are numbers or booleans, the column is invalid. A missing cell is also invalid \
              (but see `fill_missing`).",
    source: "MLE-bench graders",
    shorthand: Some("columns"),
    parameters: &[columns("columns", "The columns.")],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TextCells {
    columns: ColumnSelection,
}

impl Rule for TextCells {
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

pub(super) const FINITE: RuleKind = RuleKind::new::<Finite>(Definition {
    name: "finite",
    summary: "No cell of the columns is missing, infinite or not a number.",
    details: "",
    source: "numpy.isfinite",
    shorthand: Some("columns"),
    parameters: &[columns("columns", "The columns.")],
});

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
        check_cells(
            &self.columns,
            pair,
            "a finite number",
            |value| match number(value) {
                Some(number) if number.is_finite() => None,
                Some(_) => Some(RefusalKind::Range),
                None if value == CellValue::Missing => Some(RefusalKind::Missing),
                None => Some(RefusalKind::Type),
            },
        )
    }
}

/// Checks all cells of the submission's columns. `mistake` returns the kind of mistake in a cell, if there is one. `expected`
/// describes a valid cell in the error.
fn check_cells(
    columns: &ColumnSelection,
    pair: &Pair<'_>,
    expected: &str,
    mistake: impl Fn(CellValue<'_>) -> Option<RefusalKind>,
) -> Result<(), Refusal> {
    for name in columns.select(pair) {
        let column = pair.submission.column(name)?;
        for (position, value) in column.values().enumerate() {
            match mistake(value) {
                None => {}
                Some(RefusalKind::Type) => {
                    let odd = column.odd_text().unwrap_or(position);
                    return Err(column.refuse(RefusalKind::Type, odd, expected));
                }
                Some(kind) => return Err(column.refuse(kind, position, expected)),
            }
        }
    }
    Ok(())
}

pub(super) const RANGE: RuleKind = RuleKind::new::<Range>(Definition {
    name: "range",
    summary: "All numbers of the columns are between two bounds, inclusive.",
    details: "Booleans are treated as 0 and 1, and text is invalid. `-0.0` is not below 0.",
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
});

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
        check_cells(&self.columns, pair, &self.expected(), |value| match value {
            CellValue::Missing if self.missing == Missing::Ignore => None,
            CellValue::Missing => Some(RefusalKind::Missing),
            CellValue::Text(_) => Some(RefusalKind::Type),
            value if number(value).is_some_and(|number| self.contains(number)) => None,
            _ => Some(RefusalKind::Range),
        })
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

pub(super) const ROWS_SUM_TO: RuleKind = RuleKind::new::<RowsSumTo>(Definition {
    name: "rows_sum_to",
    summary: "In every row, the cells of the columns must sum to `total`, for example to 1 for probabilities.",
    details: "The cells of a row are added in the order in which `columns` lists them. Missing cells are left out, and \
              text is invalid.\n\n\
              The sum must not differ from `total` by more than `absolute + 1e-5 * |total|`. With `decimals`, there is \
              no tolerance: the sum is rounded to this number of decimals, and must then equal `total`.",
    source: "numpy.isclose, numpy.round",
    shorthand: None,
    parameters: &[
        columns("columns", "The columns."),
        optional("total", KeyType::Number, "The expected sum; default 1."),
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
});

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

/// Returns the absolute tolerance of `numpy.isclose`.
fn numpy_absolute() -> f64 {
    1e-8
}

/// Relative tolerance of `numpy.isclose`.
const RELATIVE: f64 = 1e-5;

impl Rule for RowsSumTo {
    fn rows(&self) -> RowPolicy {
        RowPolicy::Kept
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        let columns = pair.submission.columns(&self.columns.select(pair))?;
        // NumPy cannot compare sums of Python objects with a tolerance.
        if self.decimals.is_none() && !pair.submission.is_empty() {
            columns.iter().try_for_each(check_numeric_type)?;
        }
        for row in 0..pair.submission.len() {
            let mut sum = 0.0;
            for column in &columns {
                match column.value(row) {
                    CellValue::Missing => {}
                    CellValue::Text(_) => {
                        let odd = column.odd_text().unwrap_or(row);
                        return Err(column.refuse(RefusalKind::Type, odd, "a number"));
                    }
                    value => sum += number(value).unwrap_or_default(),
                }
            }
            if !self.is_valid(sum) {
                let (found, total) = (python_repr(sum), python_repr(self.total));
                let names: Vec<&str> = columns.iter().take(3).map(|column| column.name).collect();
                let dots = if columns.len() > 3 { ", ..." } else { "" };
                // If a cell is missing, report that cell instead of the sum.
                let empty = columns.iter().find(|column| column.is_missing(row));
                if let Some(empty) = empty {
                    let expected = format!(
                        "a number: without this cell, the row sums to {found} instead of {total}"
                    );
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
    fn is_valid(&self, sum: f64) -> bool {
        match self.decimals {
            Some(decimals) => round_numpy(sum, i32::from(decimals)) == self.total,
            None => (sum - self.total).abs() <= self.absolute + RELATIVE * self.total.abs(),
        }
    }
}
