//! scikit-learn's random split, and [`Split`], the result of every split.

use serde::{Deserialize, Serialize};

use crate::error::SplitError;
use crate::numpy_legacy::RandomState;
use crate::size::{PartSizes, SplitSize};

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

/// `train_test_split(range(rows), test_size=.., train_size=.., random_state=seed)`.
///
/// The first positions of a random permutation are the test part, the following positions the train part.
///
/// # Errors
/// Sizes that scikit-learn rejects; see [`PartSizes::new`].
pub fn shuffle_split(
    rows: u32,
    test_size: Option<SplitSize>,
    train_size: Option<SplitSize>,
    seed: u32,
) -> Result<Split, SplitError> {
    let sizes = PartSizes::new(rows, test_size, train_size)?;
    let mut test = RandomState::new(seed).permutation(rows);
    let mut train = test.split_off(sizes.test as usize);
    train.truncate(sizes.train as usize);
    Ok(Split { train, test })
}
