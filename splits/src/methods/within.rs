//! Splits the rows of each key separately.

use crate::error::SplitError;
use crate::methods::groups::Groups;
use crate::parts::Split;

/// Splits the rows of each key separately and concatenates the parts in the order of the keys' codes.
///
/// # Errors
/// [`SplitError::InGroup`] if a group cannot be split; [`SplitError::SparseKeys`] if a code has no row.
pub(crate) fn split_each_key(
    codes: &[u32],
    split_rows: impl Fn(u32) -> Result<Split, SplitError>,
) -> Result<Split, SplitError> {
    let groups = Groups::new(codes)?;
    let mut split = Split::default();
    for (group, rows) in (0u32..).zip(groups.iter()) {
        let count = rows.len() as u32;
        let drawn = split_rows(count).map_err(|source| SplitError::InGroup {
            group,
            rows: count,
            source: Box::new(source),
        })?;
        let row = |position: &u32| rows[*position as usize];
        split.train.extend(drawn.train.iter().map(row));
        split.test.extend(drawn.test.iter().map(row));
    }
    Ok(split)
}
