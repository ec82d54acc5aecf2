//! Splits whole groups: all rows of a key go to one part.

use crate::error::SplitError;
use crate::groups::Groups;
use crate::numpy_legacy::RandomState;
use crate::shuffle_split::{Order, Split, shuffle_split};
use crate::size::{PartSizes, Size};

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

/// A [`group_split`] whose share of *rows* is then repaired.
///
/// The ratio is `t / (n + t)` for t test rows of n rows in all (t counts twice below the line). While it is below
/// `ratio`, the last train key moves to the end of the test keys; then, while it is above, the last test key moves back.
/// So the test part ends as the largest that is not above the ratio.
///
/// # Errors
/// As [`group_split`]; [`SplitError::OutOfRange`] for a ratio outside 0..=0.5, [`SplitError::RatioOutOfReach`] if the
/// keys run out.
pub fn ratio_repair(
    keys: &[u32],
    test_size: Option<Size>,
    seed: u32,
    ratio: f64,
    order: Order,
) -> Result<Split, SplitError> {
    if !(0.0..=0.5).contains(&ratio) {
        return Err(SplitError::OutOfRange {
            name: "ratio",
            value: ratio,
            low: 0.0,
            high: 0.5,
        });
    }
    let groups = Groups::new(keys)?;
    let mut split = shuffle_split(groups.len(), test_size, None, seed)?;
    let rows = f64::from(groups.rows_total());
    let share = |test: u64| test as f64 / (rows + test as f64);
    let size = |key: u32| groups.rows(key).len() as u64;
    let mut test: u64 = split.test.iter().map(|&key| size(key)).sum();
    while share(test) < ratio {
        let key = split
            .train
            .pop()
            .ok_or(SplitError::RatioOutOfReach { ratio })?;
        split.test.push(key);
        test += size(key);
    }
    while share(test) > ratio {
        let key = split
            .test
            .pop()
            .ok_or(SplitError::RatioOutOfReach { ratio })?;
        split.train.push(key);
        test -= size(key);
    }
    Ok(groups.lay_out(&split, order))
}

/// Fills the test part with whole groups up to an exact number of rows.
///
/// All rows are shuffled (`sample(frac=1)` in pandas). Keys follow in order of first appearance in the shuffled table: a
/// group that still fits goes to test, any other to train; later, smaller groups are still tried.
/// [`Order::Split`] is the order of the shuffled table on both sides.
///
/// # Errors
/// [`SplitError::NotFilled`] if the groups do not add up to the size; as [`PartSizes::new`] otherwise.
pub fn fill_groups(
    keys: &[u32],
    test_size: Size,
    seed: u32,
    order: Order,
) -> Result<Split, SplitError> {
    let groups = Groups::new(keys)?;
    let wanted = PartSizes::new(groups.rows_total(), Some(test_size), None)?.test;
    let shuffled = RandomState::new(seed).permutation(groups.rows_total());
    let mut reached = 0;
    let mut in_test = vec![None; groups.len() as usize];
    let mut split = Split::default();
    for row in shuffled {
        let key = keys[row as usize];
        let fits = *in_test[key as usize].get_or_insert_with(|| {
            let size = groups.rows(key).len() as u32;
            let fits = size <= wanted - reached;
            reached += if fits { size } else { 0 };
            fits
        });
        let part = if fits {
            &mut split.test
        } else {
            &mut split.train
        };
        part.push(row);
    }
    if reached != wanted {
        return Err(SplitError::NotFilled { wanted, reached });
    }
    Ok(split.ordered(order))
}
