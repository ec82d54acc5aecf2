//! `binarize`: converts numbers to 0 and 1.

use prep_formats::pandas::ColumnData;
use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Rule, RuleKind, parse};
use crate::refusal::{Refusal, RefusalKind, RowPolicy};
use crate::spec::definition::{Definition, columns, required};
use crate::table::numbers::{ColumnSelection, number};
use crate::table::pair::{CellValue, Pair, Side};

pub(super) const KIND: RuleKind = RuleKind {
    definition: Definition {
        name: "binarize",
        summary: "Converts numbers to 1 if they reach a threshold, otherwise to 0.",
        details: "A missing cell becomes 0; booleans are treated as 0 and 1; text is invalid.",
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
    },
    parse: parse::<Binarize>,
};

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
        if let Some(position) = column.first_text() {
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
