//! The result of a split: the rows of both parts.

use serde::{Deserialize, Serialize};

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
