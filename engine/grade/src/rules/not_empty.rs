//! `not_empty`: requires at least one row.

use serde::Deserialize;

use super::kind::{Rule, RuleKind, parse};
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::Definition;
use crate::table::pair::Pair;

pub(super) const KIND: RuleKind = RuleKind {
    definition: Definition {
        name: "not_empty",
        summary: "The submission has at least one row and one column.",
        details: "",
        source: "pandas.DataFrame.empty",
        shorthand: None,
        parameters: &[],
    },
    parse: parse::<NotEmpty>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NotEmpty {}

impl Rule for NotEmpty {
    fn is_about_shape(&self) -> bool {
        true
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        if pair.submission.is_empty() {
            let expected = pair.answers.len();
            return Err(Refusal::new(
                RefusalKind::RowCount,
                format!("the submission has no rows, expected {expected}"),
            ));
        }
        Ok(())
    }
}
