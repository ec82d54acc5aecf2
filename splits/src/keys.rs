//! A column whose values a split works with, and in which of three ways it does.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::SplitError;
use crate::groups::Groups;
use crate::shuffle_split::Split;

/// What equal keys mean to a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Rows of one key stay together.
    Groups,
    /// Both parts keep the shares of the keys (scikit-learn's `stratify`).
    Stratify,
    /// The rows of each key are split for themselves, with the generator seeded anew.
    Within,
}

impl Role {
    /// The name in a pipeline.
    pub fn name(self) -> &'static str {
        match self {
            Role::Groups => "groups",
            Role::Stratify => "stratify",
            Role::Within => "within",
        }
    }

    /// Whether keys are numbered in sorted order (scikit-learn calls `numpy.unique`), not by first appearance.
    pub fn is_sorted(self) -> bool {
        self == Role::Stratify
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A key for every row.
#[derive(Debug, Clone, Copy)]
pub struct Keys<'a> {
    /// What the keys are for.
    pub role: Role,
    /// Numbers 0, 1, 2, ... in row order, without holes. Groups and the groups of `within` are split in the order of
    /// their numbers (by first appearance, as a rule); classes must be numbered in sorted order.
    pub codes: &'a [u32],
}

/// Splits the rows of every key for themselves; the parts follow one another in the order of the keys' numbers.
///
/// # Errors
/// [`SplitError::InGroup`] with the group that cannot be split; keys with holes.
pub(crate) fn within(
    codes: &[u32],
    split_rows: impl Fn(u32) -> Result<Split, SplitError>,
) -> Result<Split, SplitError> {
    let groups = Groups::new(codes)?;
    let mut split = Split::default();
    for (group, rows) in (0u32..).zip(groups.iter()) {
        let count = rows.len() as u32;
        let drawn = split_rows(count).map_err(|source| SplitError::InGroup {
            group,
            rows: count,
            source: Box::new(source),
        })?;
        let place = |at: &u32| rows[*at as usize];
        split.train.extend(drawn.train.iter().map(place));
        split.test.extend(drawn.test.iter().map(place));
    }
    Ok(split)
}
