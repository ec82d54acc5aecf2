//! `drop_unknown`: drops rows that are not in the answers.

use std::collections::HashSet;

use serde::Deserialize;

use super::kind::{Rule, RuleKind, parse};
use crate::refusal::Refusal;
use crate::spec::definition::{Definition, column};
use crate::table::key::key;
use crate::table::pair::Pair;

pub(super) const KIND: RuleKind = RuleKind {
    definition: Definition {
        name: "drop_unknown",
        summary: "Drops the submission's rows whose identifier is not in the answers.",
        details: "Identifiers are compared as in `same_ids`.",
        source: "pandas.Series.isin",
        shorthand: Some("column"),
        parameters: &[column("column", "The identifier.")],
    },
    parse: parse::<DropUnknown>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DropUnknown {
    column: String,
}

impl Rule for DropUnknown {
    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        let (answers, submission) = pair.both(&self.column)?;
        let known: HashSet<_> = (0..answers.len()).map(|row| key(&answers, row)).collect();
        let kept: Vec<u32> = (0u32..)
            .take(submission.len())
            .filter(|row| known.contains(&key(&submission, *row as usize)))
            .collect();
        pair.submission.select(kept);
        Ok(())
    }
}
