//! `rename`: renames a column whose name differs from the one in the answers.

use serde::Deserialize;

use super::kind::{Rule, RuleKind, parse};
use crate::refusal::{Refusal, RefusalKind, RowPolicy};
use crate::spec::definition::{Definition, column};
use crate::table::pair::Pair;

pub(super) const KIND: RuleKind = RuleKind {
    definition: Definition {
        name: "rename",
        summary: "Gives a column of the submission the name that the answers use.",
        details: "If the submission already uses the answers' name, it is not changed. If it has both names, it is \
                  invalid.",
        source: "pandas.DataFrame.rename",
        shorthand: None,
        parameters: &[
            column("column", "The name in the submission."),
            column("to", "The name in the answers."),
        ],
    },
    parse: parse::<Rename>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rename {
    column: String,
    to: String,
}

impl Rule for Rename {
    fn rows(&self) -> RowPolicy {
        RowPolicy::Kept
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        match (
            pair.submission.has(&self.column),
            pair.submission.has(&self.to),
        ) {
            (true, true) => {
                let message = format!(
                    "this column and `{}` both exist; remove one of them",
                    self.column
                );
                Err(Refusal::new(RefusalKind::SurplusColumn, message).in_column(&self.to))
            }
            (false, true) => Ok(()),
            (_, false) => {
                pair.submission.column(&self.column)?;
                pair.submission.rename(&self.column, &self.to);
                Ok(())
            }
        }
    }
}
