//! `align_groups`: pairs rows by their position within a group.

use std::collections::HashMap;

use serde::Deserialize;

use super::kind::{Rule, RuleKind, parse};
use crate::refusal::{Refusal, RefusalKind, count};
use crate::spec::definition::{Definition, column};
use crate::table::key::{Identifier, key};
use crate::table::pair::{GradedColumn, Pair};

pub(super) const KIND: RuleKind = RuleKind {
    definition: Definition {
        name: "align_groups",
        summary: "Pairs the n-th row of each group in both tables; both tables must have the same number of rows in \
                  each group.",
        details: "Groups are ordered by their first rows in the answers. Groups that are not in the answers are \
                  dropped.",
        source: "MLE-bench graders",
        shorthand: Some("by"),
        parameters: &[column("by", "The column that defines the groups.")],
    },
    parse: parse::<AlignGroups>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AlignGroups {
    by: String,
}

impl Rule for AlignGroups {
    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        let (left, right) = self.pairs(pair)?;
        pair.answers.select(left);
        pair.submission.select(right);
        Ok(())
    }
}

impl AlignGroups {
    fn pairs(&self, pair: &Pair<'_>) -> Result<(Vec<u32>, Vec<u32>), Refusal> {
        let (answers, submission) = pair.both(&self.by)?;
        let (order, expected) = groups(&answers);
        let (_, found) = groups(&submission);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for (group, first) in order {
            let expected = expected.get(&group).map_or(&[][..], Vec::as_slice);
            let found = found.get(&group).map_or(&[][..], Vec::as_slice);
            if expected.len() != found.len() {
                let message = format!(
                    "{} for {}, expected {}",
                    count(found.len(), "row"),
                    answers.for_message(first),
                    expected.len()
                );
                return Err(Refusal::new(RefusalKind::RowCount, message).in_column(answers.name));
            }
            left.extend(expected);
            right.extend(found);
        }
        Ok((left, right))
    }
}

type Groups<'a> = (
    Vec<(Identifier<'a>, usize)>,
    HashMap<Identifier<'a>, Vec<u32>>,
);

/// Returns the groups in order of appearance, with their first row, and the rows of each.
fn groups<'a>(column: &GradedColumn<'a>) -> Groups<'a> {
    let mut order = Vec::new();
    let mut rows: HashMap<Identifier<'a>, Vec<u32>> = HashMap::new();
    for (row, position) in (0..column.len()).zip(0u32..) {
        let group = key(column, row);
        let members = rows.entry(group).or_default();
        if members.is_empty() {
            order.push((group, row));
        }
        members.push(position);
    }
    (order, rows)
}
