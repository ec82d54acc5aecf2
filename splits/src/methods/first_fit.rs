//! The first-fit split: puts entire groups into the test part as long as they fit.

use crate::error::SplitError;
use crate::methods::groups::Groups;
use crate::part_sizes::PartSizes;
use crate::parts::{Split, SplitOrder};
use crate::size::SplitSize;

/// Puts a group into the test part if it still fits into the remaining test rows, and otherwise into the train part.
///
/// Groups are visited in the order of their numbers. A group that does not fit does not stop later, smaller groups.
/// Nothing is random.
///
/// # Errors
/// Invalid sizes, as in [`PartSizes::new`]; [`SplitError::EmptyPart`] if no group fits.
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
