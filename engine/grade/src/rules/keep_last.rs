//! `keep_last`: keeps the last answers of each group.

use std::collections::HashMap;

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Rule, RuleKind, parse};
use crate::refusal::Refusal;
use crate::spec::definition::{Definition, column, required};
use crate::table::key::key;
use crate::table::pair::Pair;
use crate::table::sort::sort_positions;

pub(super) const KIND: RuleKind = RuleKind {
    definition: Definition {
        name: "keep_last",
        summary: "Keeps the last rows of each group of the answers, after sorting by a column.",
        details: "The answers are sorted by `by` (see `align`). A group with fewer than `count` rows is kept \
                  completely. Rows without a group are dropped. The submission is not changed (see `join`).",
        source: "pandas.DataFrame.groupby(...).tail",
        shorthand: None,
        parameters: &[
            column("groups", "The answers' column that defines the groups."),
            column("by", "The answers' column to sort by."),
            required(
                "count",
                KeyType::Natural,
                "The number of rows to keep in each group.",
            ),
        ],
    },
    parse: parse::<KeepLast>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeepLast {
    groups: String,
    by: String,
    count: usize,
}

impl Rule for KeepLast {
    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        let order = sort_positions(&pair.answers.column(&self.by)?)?;
        let groups = pair.answers.column(&self.groups)?;
        let mut counts: HashMap<_, usize> = HashMap::new();
        let mut kept: Vec<u32> = Vec::new();
        for position in order.into_iter().rev() {
            if groups.value(position as usize) == crate::table::pair::CellValue::Missing {
                continue;
            }
            let count = counts.entry(key(&groups, position as usize)).or_default();
            *count += 1;
            if *count <= self.count {
                kept.push(position);
            }
        }
        kept.reverse();
        pair.answers.select(kept);
        Ok(())
    }
}
