//! The column of keys that a split uses, and the three ways of using it.
//!
//! The result of a split: the rows of both parts.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The meaning of equal keys for a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyRole {
    /// Rows with the same key go to the same part.
    Groups,
    /// Both parts have the same proportions of keys (scikit-learn's `stratify`).
    Stratify,
    /// The rows of each key are split separately, each time with a newly seeded generator.
    Within,
}

impl KeyRole {
    /// The name in a pipeline.
    pub fn name(self) -> &'static str {
        match self {
            KeyRole::Groups => "groups",
            KeyRole::Stratify => "stratify",
            KeyRole::Within => "within",
        }
    }

    /// Whether keys must be numbered in sorted order, as `numpy.unique` does for scikit-learn. Otherwise they are
    /// numbered by first appearance.
    pub fn is_sorted(self) -> bool {
        self == KeyRole::Stratify
    }
}

impl fmt::Display for KeyRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One key per row, and the role of the keys.
#[derive(Debug, Clone, Copy)]
pub struct SplitKeys<'a> {
    /// The role of the keys.
    pub role: KeyRole,
    /// A code 0, 1, 2, ... for each row, without gaps; see [`KeyRole::is_sorted`] for the numbering.
    pub codes: &'a [u32],
}

/// The positions of the rows of both parts, in output order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Split {
    /// Positions of the train rows, from 0.
    pub train: Vec<u32>,
    /// Positions of the test rows, from 0.
    pub test: Vec<u32>,
}

/// The order of the rows in a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SplitOrder {
    /// The order in the table that was split.
    File,
    /// The order of the draw. For groups: the groups in drawn order, the rows of each group in table order.
    Split,
}

impl Split {
    /// Sorts the rows for [`SplitOrder::File`]; [`SplitOrder::Split`] changes nothing.
    pub fn ordered(mut self, order: SplitOrder) -> Self {
        if order == SplitOrder::File {
            self.train.sort_unstable();
            self.test.sort_unstable();
        }
        self
    }
}
