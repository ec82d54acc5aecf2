//! `align`: sorts both tables by their identifiers.

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Rule, RuleKind, parse};
use crate::refusal::{Refusal, RowPolicy};
use crate::spec::definition::{Definition, column, optional};
use crate::table::key;
use crate::table::key::first_difference;
use crate::table::pair::Pair;
use crate::table::sort::sort_positions;

pub(super) const KIND: RuleKind = RuleKind {
    definition: Definition {
        name: "align",
        summary: "Sorts both tables by an identifier and checks that the identifiers of both tables are equal row by \
                  row.",
        details: "Tables are sorted like pandas' `sort_values` does: text by code point, numbers by value, missing \
                  identifiers last. Rows with equal identifiers are in the order that NumPy's unstable sort produces. \
                  Identifiers are compared by value: `1.0` equals `1`, a number never equals a text, and a missing \
                  identifier equals no identifier.",
        source: "pandas.DataFrame.sort_values, numpy.argsort",
        shorthand: Some("by"),
        parameters: &[
            column("by", "The identifier."),
            optional(
                "check",
                KeyType::Choice(&["equal", "none"]),
                "`none`: only sort, so that rows are paired by rank, even if their identifiers differ.",
            ),
            optional(
                "surplus",
                KeyType::Choice(&["refuse", "drop"]),
                "`drop`: after sorting, the last rows of the longer table are dropped (as by Python's `zip`). If an \
                 identifier is repeated, all later rows are then paired with the wrong rows.",
            ),
        ],
    },
    parse: parse::<Align>,
};

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
    fn rows(&self) -> RowPolicy {
        match (self.check, self.surplus) {
            (Check::Equal, Surplus::Refuse) => RowPolicy::Times(1),
            (Check::None, Surplus::Refuse) => RowPolicy::Kept,
            (_, Surplus::Drop) => RowPolicy::Any,
        }
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        sort(pair, &self.by)?;
        if self.surplus == Surplus::Drop {
            let rows = pair.answers.len().min(pair.submission.len());
            pair.answers.truncate(rows);
            pair.submission.truncate(rows);
        }
        if self.check == Check::None {
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

/// Sorts both tables. The order depends only on the identifiers, so equal columns of identifiers get the same order.
fn sort(pair: &mut Pair<'_>, by: &str) -> Result<(), Refusal> {
    let submission = pair.submission.column(by)?;
    let order = sort_positions(&submission)?;
    let answers = pair.answers.column(by)?;
    let is_same = submission.values().eq(answers.values());
    let of_answers = match is_same {
        true => order.clone(),
        false => sort_positions(&answers)?,
    };
    pair.answers.select(of_answers);
    pair.submission.select(order);
    Ok(())
}
