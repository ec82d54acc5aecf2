//! Splits whole groups: all rows of a key go to one part.

use crate::error::SplitError;
use crate::groups::Groups;
use crate::shuffle_split::{Order, Split, shuffle_split};
use crate::size::Size;

/// `train_test_split` over the distinct keys; rows follow their key. Sizes count keys.
///
/// # Errors
/// As [`shuffle_split`], and keys with holes.
pub fn group_split(
    keys: &[u32],
    test_size: Option<Size>,
    train_size: Option<Size>,
    seed: u32,
    order: Order,
) -> Result<Split, SplitError> {
    let groups = Groups::new(keys)?;
    let split = shuffle_split(groups.len(), test_size, train_size, seed)?;
    Ok(groups.lay_out(&split, order))
}
