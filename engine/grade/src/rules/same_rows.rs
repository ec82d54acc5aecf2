//! `same_rows`: requires the number of rows of the answers.

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Rule, RuleKind, parse};
use crate::refusal::{Refusal, RefusalKind, RowPolicy, count};
use crate::spec::definition::{Definition, one, optional};
use crate::table::pair::Pair;

pub(super) const KIND: RuleKind = RuleKind {
    definition: Definition {
        name: "same_rows",
        summary: "The submission has the same number of rows as the answers.",
        details: "",
        source: "MLE-bench graders",
        shorthand: Some("times"),
        parameters: &[optional(
            "times",
            KeyType::Natural,
            "The number of rows of the submission for each row of the answers; default 1.",
        )],
    },
    parse: parse::<SameRows>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SameRows {
    #[serde(default = "one")]
    times: usize,
}

impl Rule for SameRows {
    fn is_about_shape(&self) -> bool {
        true
    }

    fn rows(&self) -> RowPolicy {
        RowPolicy::Times(self.times)
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        check(
            pair.submission.len(),
            pair.answers.len().saturating_mul(self.times),
        )
    }
}

/// Returns an error if the number of rows is not the expected one.
pub(crate) fn check(found: usize, expected: usize) -> Result<(), Refusal> {
    if found == expected {
        return Ok(());
    }
    let message = match found.checked_sub(expected) {
        Some(more) => format!(
            "the submission has {}, {more} too many: expected {expected}",
            count(found, "row")
        ),
        None => format!(
            "the submission has {}, {} too few: expected {expected}",
            count(found, "row"),
            expected - found
        ),
    };
    Err(Refusal::new(RefusalKind::RowCount, message))
}
