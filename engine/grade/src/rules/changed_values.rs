//! Rules that change the values of cells.

use std::borrow::Cow;

use prep_formats::pandas::{CellValue, ColumnData};
use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Rule, RuleKind};
use crate::refusal::{Refusal, RefusalKind, RowPolicy};
use crate::spec::definition::{Definition, columns, optional, required};
use crate::table::column::{Role, text};
use crate::table::numbers::{ColumnSelection, number};
use crate::table::pair::{Pair, Side};

pub(super) const FILL_MISSING: RuleKind = RuleKind::new::<FillMissing>(Definition {
    name: "fill_missing",
    summary: "Replaces missing cells of the submission with a value.",
    details: "If the value is text and the column contains numbers, the column becomes a column of mixed cells, as in \
              pandas.",
    source: "pandas.Series.fillna",
    shorthand: None,
    parameters: &[
        columns("columns", "The columns."),
        required(
            "with",
            KeyType::Text,
            "The value: text, a number, or true or false.",
        ),
        optional(
            "answers",
            KeyType::Boolean,
            "Whether the answers' columns are filled as well; default false.",
        ),
    ],
});

#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number, a string, or `true` or `false`"
)]
enum Filling {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

impl Filling {
    fn cell(&self) -> CellValue<'_> {
        match self {
            Filling::Bool(value) => CellValue::Bool(*value),
            Filling::Int(value) => CellValue::Int(*value),
            Filling::Float(value) => CellValue::Float(*value),
            Filling::Text(text) => CellValue::Text(text),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FillMissing {
    columns: ColumnSelection,
    with: Filling,
    #[serde(default)]
    answers: bool,
}

impl Rule for FillMissing {
    fn rows(&self) -> RowPolicy {
        RowPolicy::CellByCell
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        for name in self.columns.resolve_owned(pair) {
            self.fill(pair, Role::Submission, &name)?;
            if self.answers {
                self.fill(pair, Role::Answers, &name)?;
            }
        }
        Ok(())
    }
}

impl FillMissing {
    fn fill(&self, pair: &mut Pair<'_>, role: Role, name: &str) -> Result<(), Refusal> {
        let side = match role {
            Role::Answers => &mut pair.answers,
            Role::Submission => &mut pair.submission,
        };
        let filled = self.filled(side.column(name)?.data());
        if let Some(data) = filled {
            side.replace(name, data);
        }
        Ok(())
    }

    /// Returns the column with its missing cells filled, or `None` if no cell is missing.
    fn filled(&self, data: &ColumnData) -> Option<ColumnData> {
        match data {
            ColumnData::Float64(values) if values.iter().any(|value| value.is_nan()) => {
                let number = match self.with {
                    Filling::Int(value) => Some(value as f64),
                    Filling::Float(value) => Some(value),
                    Filling::Bool(_) | Filling::Text(_) => None,
                };
                Some(match number {
                    Some(number) => ColumnData::Float64(
                        values
                            .iter()
                            .map(|v| if v.is_nan() { number } else { v })
                            .collect(),
                    ),
                    None => ColumnData::Object(
                        values
                            .iter()
                            .map(|v| {
                                if v.is_nan() {
                                    self.with.cell()
                                } else {
                                    CellValue::Float(v)
                                }
                            })
                            .collect(),
                    ),
                })
            }
            ColumnData::Object(cells) if cells.contains(CellValue::Missing) => {
                let filled = cells.iter().map(|cell| match cell {
                    CellValue::Missing => self.with.cell(),
                    cell => cell,
                });
                Some(ColumnData::Object(filled.collect()))
            }
            _ => None,
        }
    }
}

pub(super) const AS_TEXT: RuleKind = RuleKind::new::<AsText>(Definition {
    name: "as_text",
    summary: "Converts the columns of both tables to text.",
    details: "Cells become the strings that Python prints: `1`, `1.0`, `True`, and `nan` for a missing cell. If the \
              rule `align` follows, it sorts and compares these strings, for which `1.0` differs from `1`.",
    source: "pandas.Series.astype(str)",
    shorthand: Some("columns"),
    parameters: &[columns("columns", "The columns.")],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AsText {
    columns: ColumnSelection,
}

impl Rule for AsText {
    fn rows(&self) -> RowPolicy {
        RowPolicy::Kept
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        for name in self.columns.resolve_owned(pair) {
            for side in [&mut pair.submission, &mut pair.answers] {
                let cells = side.column(&name)?.file_values().map(text);
                let cells: Vec<Cow<'_, str>> = cells.collect();
                let cells = cells.iter().map(|cell| CellValue::Text(cell));
                let data = ColumnData::Object(cells.collect());
                side.replace(&name, data);
            }
        }
        Ok(())
    }
}

pub(super) const BINARIZE: RuleKind = RuleKind::new::<Binarize>(Definition {
    name: "binarize",
    summary: "Converts numbers to 1 if they reach a threshold, otherwise to 0.",
    details: "A missing cell becomes 0. Booleans are treated as 0 and 1. Text is invalid.",
    source: "MLE-bench graders",
    shorthand: None,
    parameters: &[
        columns("columns", "The columns."),
        required(
            "from",
            KeyType::Number,
            "The smallest number that becomes 1.",
        ),
        required(
            "of",
            KeyType::Choice(&["answers", "both"]),
            "The table to change.",
        ),
    ],
});

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Of {
    Answers,
    Both,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Binarize {
    columns: ColumnSelection,
    from: f64,
    of: Of,
}

impl Rule for Binarize {
    fn rows(&self) -> RowPolicy {
        RowPolicy::Kept
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        for name in self.columns.resolve_owned(pair) {
            if self.of == Of::Both {
                self.binarize(&mut pair.submission, &name)?;
            }
            self.binarize(&mut pair.answers, &name)?;
        }
        Ok(())
    }
}

impl Binarize {
    fn binarize(&self, side: &mut Side<'_>, name: &str) -> Result<(), Refusal> {
        let column = side.column(name)?;
        if let Some(position) = column.odd_text() {
            return Err(column.refuse(RefusalKind::Type, position, "a number"));
        }
        let digit = |value: CellValue<'_>| {
            i64::from(number(value).is_some_and(|number| number >= self.from))
        };
        let data = column.file_values().map(digit).collect();
        side.replace(name, ColumnData::Int64(data));
        Ok(())
    }
}
