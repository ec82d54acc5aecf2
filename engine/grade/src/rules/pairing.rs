//! Rules that bring the rows of both tables into one order.

use std::collections::HashMap;

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Rule, RuleKind};
use crate::refusal::{Refusal, RefusalKind, RowPolicy, count};
use crate::spec::definition::{Definition, column, optional};
use crate::table::column::GradedColumn;
use crate::table::key;
use crate::table::key::{Identifier, first_difference, key, merge_key};
use crate::table::pair::Pair;
use crate::table::sort::{sort_both, sort_positions};
use crate::table::threads::both;

pub(super) const ALIGN: RuleKind = RuleKind::new::<Align>(Definition {
    name: "align",
    summary: "Sorts both tables by an identifier and checks that the identifiers of both tables are equal row by \
              row.",
    details: "Tables are sorted like pandas' `sort_values` does: text by code point, numbers by value, missing \
              identifiers last. Rows with equal identifiers are in the order that NumPy's unstable sort produces.\n\n\
              Identifiers are compared by value: `1.0` equals `1`, but a number never equals text. A missing identifier \
              equals no identifier.",
    source: "pandas.DataFrame.sort_values, numpy.argsort",
    shorthand: Some("by"),
    parameters: &[
        column("by", "The column of identifiers."),
        optional(
            "check",
            KeyType::Choice(&["equal", "none"]),
            "`none`: rows are only sorted, and then paired by position even if their identifiers differ.",
        ),
        optional(
            "surplus",
            KeyType::Choice(&["refuse", "drop"]),
            "`drop`: after sorting, the last rows of the longer table are dropped (as by Python's `zip`). If an \
             identifier is repeated, all later rows are then paired with the wrong rows.",
        ),
    ],
});

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Check {
    #[default]
    Equal,
    None,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Surplus {
    #[default]
    Refuse,
    Drop,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Align {
    by: String,
    #[serde(default)]
    check: Check,
    #[serde(default)]
    surplus: Surplus,
}

impl Rule for Align {
    fn identifies_rows(&self) -> bool {
        true
    }

    fn rows(&self) -> RowPolicy {
        match (self.check, self.surplus) {
            (Check::Equal, Surplus::Refuse) => RowPolicy::Times(1),
            (Check::None, Surplus::Refuse) => RowPolicy::Kept,
            (_, Surplus::Drop) => RowPolicy::Any,
        }
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        let has_equal_ids = sort(pair, &self.by)?;
        if self.surplus == Surplus::Drop {
            let rows = pair.answers.len().min(pair.submission.len());
            pair.answers.truncate(rows);
            pair.submission.truncate(rows);
        }
        if self.check == Check::None || has_equal_ids {
            return Ok(());
        }
        pair.check_same_rows()?;
        let (submission, answers) = (
            pair.submission.column(&self.by)?,
            pair.answers.column(&self.by)?,
        );
        match first_difference(&submission, &answers) {
            None => Ok(()),
            Some(position) => Err(key::differ(&submission, &answers, position)),
        }
    }
}

/// Sorts both tables by the column `by`. Returns true if the sorted identifiers of both tables are known to be equal, row by
/// row. If this function returns false, the caller must compare the identifiers.
fn sort(pair: &mut Pair<'_>, by: &str) -> Result<bool, Refusal> {
    let submission = pair.submission.column(by)?;
    let answers = pair.answers.column(by)?;
    // Equal columns are sorted only once. The result is then `false`, because a missing identifier does not equal itself.
    let (of_submission, of_answers, has_equal_ids) = match submission.values().eq(answers.values())
    {
        true => {
            let order = sort_positions(&submission)?;
            (order.clone(), order, false)
        }
        false => {
            let (of_submission, of_answers) = sort_both(&submission, &answers)?;
            let has_equal_ids = of_submission.has_equal_keys(&of_answers);
            let positions = both(
                submission.len(),
                || of_submission.into_positions(),
                || of_answers.into_positions(),
            );
            (positions.0, positions.1, has_equal_ids)
        }
    };
    pair.answers.select(of_answers);
    pair.submission.select(of_submission);
    Ok(has_equal_ids)
}

pub(super) const ALIGN_GROUPS: RuleKind = RuleKind::new::<AlignGroups>(Definition {
    name: "align_groups",
    summary: "Pairs the n-th row of each group in the answers with the n-th row of this group in the submission; both \
              tables must have the same number of rows in each group.",
    details: "Groups are ordered by their first rows in the answers. Rows of the submission whose group is not in the \
              answers are dropped.",
    source: "MLE-bench graders",
    shorthand: Some("by"),
    parameters: &[column("by", "The column that defines the groups.")],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AlignGroups {
    by: String,
}

impl Rule for AlignGroups {
    fn identifies_rows(&self) -> bool {
        true
    }

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

/// Returns a list of the groups and their first rows, in order of appearance. Also returns the rows of each group.
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

pub(super) const JOIN: RuleKind = RuleKind::new::<Join>(Definition {
    name: "join",
    summary: "Pairs the rows of both tables that have the same identifier, and drops the other rows.",
    details: "The joined rows have the order of the answers. If several rows of the submission have the same \
              identifier, they keep their order. If identifiers are repeated, each pair of rows with the same \
              identifier becomes a row, so repeated rows have more weight.",
    source: "pandas.DataFrame.merge",
    shorthand: Some("by"),
    parameters: &[
        column("by", "The column of identifiers."),
        optional(
            "repeated",
            KeyType::Choice(&["allow", "allow_alone"]),
            "`allow_alone`: identifiers that the submission repeats are invalid, unless the join keeps only one row \
             of the answers, because NumPy can compare a single number with many.",
        ),
    ],
});

/// Maximum number of pairs of rows. More are an error: if an identifier is in a rows of the answers and in b rows of the
/// submission, these rows form a * b pairs.
const MAX_PAIRS: usize = 1 << 26;

/// End of a linked list of rows.
const END: u32 = u32::MAX;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Repeated {
    #[default]
    Allow,
    AllowAlone,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Join {
    by: String,
    #[serde(default)]
    repeated: Repeated,
}

impl Rule for Join {
    fn identifies_rows(&self) -> bool {
        true
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        let (of_answers, of_submission) = self.pairs(pair)?;
        pair.answers.select(of_answers);
        pair.submission.select(of_submission);
        Ok(())
    }
}

impl Join {
    /// Returns the positions of the paired rows in the answers and in the submission, pair by pair.
    fn pairs(&self, pair: &Pair<'_>) -> Result<(Vec<u32>, Vec<u32>), Refusal> {
        let (answers, submission) = pair.both(&self.by)?;
        // Build a linked list of rows for each identifier: `places` contains the first and last row of an identifier. `next`
        // contains, for each row, the next row with the same identifier. All lists together need only one vector.
        let mut places: HashMap<_, (u32, u32)> = HashMap::new();
        let mut next = vec![END; submission.len()];
        for (row, position) in (0..submission.len()).zip(0u32..) {
            let (_, last) = places
                .entry(merge_key(&submission, row))
                .or_insert((position, position));
            if *last != position
                && let Some(next) = next.get_mut(*last as usize)
            {
                *next = position;
                *last = position;
            }
        }
        let after = |position: u32| {
            let after = next.get(position as usize).copied();
            after.filter(|after| *after != END)
        };
        let rows_of = |row: usize| {
            let first = places
                .get(&merge_key(&answers, row))
                .map(|(first, _)| *first);
            std::iter::successors(first, |position| after(*position))
        };
        let mut pairs = 0;
        for row in 0..answers.len() {
            pairs += rows_of(row).count();
            if pairs > MAX_PAIRS {
                let message =
                    format!("too many pairs of rows with equal identifiers: at most {MAX_PAIRS}");
                return Err(Refusal::new(RefusalKind::Ids, message).in_column(&self.by));
            }
        }
        let (mut left, mut right) = (Vec::with_capacity(pairs), Vec::with_capacity(pairs));
        let (mut matched, mut repeated) = (0, None);
        for (row, position) in (0..answers.len()).zip(0u32..) {
            let before = right.len();
            right.extend(rows_of(row));
            left.resize(right.len(), position);
            matched += usize::from(right.len() > before);
            repeated = repeated.or(right.get(before + 1).copied());
        }
        let refused = match self.repeated {
            Repeated::Allow => false,
            Repeated::AllowAlone => matched > 1,
        };
        match repeated {
            Some(position) if refused => {
                let expected = "each identifier once";
                Err(submission.refuse(RefusalKind::Ids, position as usize, expected))
            }
            _ => Ok((left, right)),
        }
    }
}
