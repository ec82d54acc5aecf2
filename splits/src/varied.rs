//! A split whose test part shows more than one value of a rare label.

use crate::error::SplitError;
use crate::groups::Groups;
use crate::shuffle_split::{Split, shuffle_split};
use crate::size::Size;

/// A [`shuffle_split`]; if all test rows then have the same key, the first test row and the first train row with another
/// key take each other's place. Keys that are all the same stay so.
///
/// # Errors
/// As [`shuffle_split`], and keys with holes.
pub fn varied_split(
    keys: &[u32],
    test_size: Option<Size>,
    train_size: Option<Size>,
    seed: u32,
) -> Result<Split, SplitError> {
    let rows = Groups::new(keys)?.rows_total();
    let mut split = shuffle_split(rows, test_size, train_size, seed)?;
    let key = |row: u32| keys[row as usize];
    let Some(first) = split.test.first().copied() else {
        return Ok(split);
    };
    if split.test.iter().all(|&row| key(row) == key(first))
        && let Some(other) = split.train.iter().position(|&row| key(row) != key(first))
    {
        std::mem::swap(&mut split.test[0], &mut split.train[other]);
    }
    Ok(split)
}
