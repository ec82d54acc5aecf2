//! The random split of groups: all rows of a key go to the same part.

use crate::error::SplitError;
use crate::methods::groups::Groups;
use crate::methods::shuffle_split::shuffle_split;
use crate::parts::{Split, SplitOrder};
use crate::size::SplitSize;

/// Splits the distinct keys with `train_test_split`. The rows follow their keys. Sizes are numbers or fractions of
/// keys.
///
/// `keys` has one code per row, see [`Groups`].
///
/// # Errors
/// Same as [`shuffle_split`], and [`SplitError::SparseKeys`].
pub fn group_split(
    keys: &[u32],
    test_size: Option<SplitSize>,
    train_size: Option<SplitSize>,
    seed: u32,
    order: SplitOrder,
) -> Result<Split, SplitError> {
    let groups = Groups::new(keys)?;
    let split = shuffle_split(groups.len(), test_size, train_size, seed)?;
    Ok(groups.rows_of_split(&split, order))
}
