//! Methods that select the test rows. The other rows are the train part.
//!
//! - pandas' `DataFrame.sample` and Python's `random.sample` draw a random sample without replacement.
//! - The first-fit method puts an entire group into the test part if the group still fits.

use super::groups::Groups;
use crate::error::SplitError;
use crate::generators::numpy_legacy::RandomState;
use crate::generators::python_random::PythonRandom;
use crate::keys::{Split, SplitOrder};
use crate::part_sizes::PartSizes;
use crate::size::SplitSize;

/// Draws the test part like `frame.sample(n=.. or frac=.., random_state=seed)`. The train part is in table order.
///
/// # Errors
/// An error if the fraction is outside 0..=1, or if the table has fewer rows than requested.
pub fn sample(rows: u32, test_size: SplitSize, seed: u32) -> Result<Split, SplitError> {
    let wanted = test_size.sampled(rows)?;
    let test = RandomState::new(seed).choice(rows, wanted)?;
    let train = complement(rows, &test);
    Ok(Split { train, test })
}

/// Returns the rows below `rows` that are not in `drawn`, in table order.
pub(crate) fn complement(rows: u32, drawn: &[u32]) -> Vec<u32> {
    let mut is_drawn = vec![false; rows as usize];
    for &row in drawn {
        is_drawn[row as usize] = true;
    }
    (0..rows)
        .zip(is_drawn)
        .filter(|(_, drawn)| !drawn)
        .map(|(row, _)| row)
        .collect()
}

/// Draws the test part like `generator.sample(range(rows), k)`. The train part is in table order.
///
/// A fraction of the rows is rounded like Python's `round`: to the nearest integer, halves to even.
///
/// # Errors
/// An error if the fraction is outside 0..=1, or if the table has fewer rows than requested.
pub fn python_sample(
    rows: u32,
    test_size: SplitSize,
    generator: &mut PythonRandom,
) -> Result<Split, SplitError> {
    let test = generator.sample(rows, test_size.sampled(rows)?)?;
    let train = complement(rows, &test);
    Ok(Split { train, test })
}

/// Puts each group into the test part if the rows of the group still fit, otherwise into the train part.
///
/// Groups are visited in the order of their codes. After a group that does not fit, a smaller group may still fit. The
/// method uses no random numbers.
///
/// # Errors
/// Invalid sizes, as in [`PartSizes::new`], and [`SplitError::EmptyPart`] if no group fits.
pub fn first_fit(
    codes: &[u32],
    test_size: SplitSize,
    order: SplitOrder,
) -> Result<Split, SplitError> {
    let groups = Groups::new(codes)?;
    let rows = groups.rows_total();
    let mut room = PartSizes::new(rows, Some(test_size), None)?.test as usize;
    let mut keys = Split::default();
    for (key, members) in (0u32..).zip(groups.iter()) {
        if members.len() <= room {
            room -= members.len();
            keys.test.push(key);
        } else {
            keys.train.push(key);
        }
    }
    if keys.test.is_empty() {
        return Err(SplitError::EmptyPart { part: "test", rows });
    }
    Ok(groups.rows_of_split(&keys, order))
}
