//! The column of keys that a split uses, and the three ways of using it.

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
