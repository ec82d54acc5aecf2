//! Whole groups, in the order of the table, as long as they fit.

use crate::error::SplitError;
use crate::groups::Groups;
use crate::shuffle_split::{Order, Split};
use crate::size::{PartSizes, Size};

/// First fit: a group goes to test if it still fits into `test_size` rows, else to train; smaller groups that come later
/// are still tried. Groups come in the order of their numbers; nothing is drawn.
///
/// # Errors
/// Sizes as [`PartSizes::new`] refuses them; [`SplitError::EmptyPart`] if no group fits.
pub fn first_fit(codes: &[u32], test_size: Size, order: Order) -> Result<Split, SplitError> {
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
    Ok(groups.lay_out(&keys, order))
}
