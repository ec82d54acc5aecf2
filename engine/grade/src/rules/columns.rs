//! `columns`: requires certain columns.

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Rule, RuleKind, parse};
use crate::refusal::Refusal;
use crate::spec::definition::{Definition, optional};
use crate::table::numbers::ColumnSelection;
use crate::table::pair::Pair;

pub(super) const KIND: RuleKind = RuleKind {
    definition: Definition {
        name: "columns",
        summary: "The submission has these columns; other columns and any order are allowed.",
        details: "Names are compared exactly. Without parameters, all columns of the answers are required.",
        source: "MLE-bench graders",
        shorthand: Some("columns"),
        parameters: &[optional(
            "columns",
            KeyType::Selection,
            "The required columns; default: the columns of the answers.",
        )],
    },
    parse: parse::<RequiredColumns>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RequiredColumns {
    #[serde(default)]
    columns: ColumnSelection,
}

impl Rule for RequiredColumns {
    fn is_about_shape(&self) -> bool {
        true
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        for name in self.columns.select(pair) {
            pair.submission.require(name)?;
        }
        Ok(())
    }
}
