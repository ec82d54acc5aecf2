//! The keys of the rows, the roles that keys can have in a split, and the result of a split.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The effect that the keys of the rows have on a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyRole {
    /// Rows with the same key go to the same part.
    Groups,
    /// Each key has about the same fraction of the rows in both parts (scikit-learn's `stratify`).
    Stratify,
    /// The rows of each key are split separately, each time with the same seed.
    Within,
}

impl KeyRole {
    /// Returns the name in a pipeline.
    pub fn name(self) -> &'static str {
        match self {
            KeyRole::Groups => "groups",
            KeyRole::Stratify => "stratify",
            KeyRole::Within => "within",
        }
    }

    /// Returns whether keys must be numbered in sorted order, as by `numpy.unique`, instead of by first appearance.
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
    /// The code of each row's key: 0, 1, 2, ... without gaps. See [`KeyRole::is_sorted`] for the numbering.
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
    /// The order of the rows in the table that was split.
    File,
    /// The order in which the rows were drawn. Groups are in the order drawn, and their rows in table order.
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
