//! `columns`: columns that must be there.

use serde::Deserialize;

use super::{Rule, RuleKind, parse};
use crate::columns::Columns;
use crate::definition::{Definition, Parameter, ParameterKind};
use crate::pair::Pair;
use crate::refusal::Refusal;

pub(super) static KIND: RuleKind = RuleKind {
    definition: Definition {
        name: "columns",
        summary: "The submission has these columns; further ones and any order are fine.",
        details: "Names are compared to the letter. Without parameters: all columns of the answers.",
        source: "MLE-bench graders",
        shorthand: Some("columns"),
        parameters: &[Parameter {
            name: "columns",
            kind: ParameterKind::Columns,
            required: false,
            doc: "The columns that must be there; default: those of the answers.",
        }],
    },
    parse: parse::<RequiredColumns>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RequiredColumns {
    #[serde(default)]
    columns: Columns,
}

impl Rule for RequiredColumns {
    fn is_about_shape(&self) -> bool {
        true
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        for name in self.columns.of(pair) {
            pair.submission.require(name)?;
        }
        Ok(())
    }

    fn columns(&self) -> Vec<&str> {
        self.columns.named()
    }
}
