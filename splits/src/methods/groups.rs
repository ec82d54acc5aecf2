//! Splits groups at random: all rows with the same key go to the same part. Also contains an index from keys to rows.

use super::shuffle_split::shuffle_split;
use crate::error::SplitError;
use crate::keys::{Split, SplitOrder};
use crate::size::SplitSize;

/// Maps each key to its rows, in row order. A lookup takes constant time.
///
/// Keys are codes 0, 1, 2, ... without gaps. The numbering of the keys determines the result of a split. The caller numbers
/// the keys by first appearance, like pandas' `unique()`, or in sorted order, like `groupby` and `numpy.unique`.
#[derive(Debug, Clone)]
pub struct Groups {
    /// `rows[starts[k]..starts[k + 1]]` are the rows of key k.
    starts: Vec<u32>,
    /// The rows of all keys, key by key.
    rows: Vec<u32>,
}

impl Groups {
    /// Builds the groups from one code per row, in two passes.
    ///
    /// # Errors
    /// [`SplitError::SparseKeys`] if a code has no row, and [`SplitError::TooManyRows`] above 2^32 - 1 rows.
    pub fn new(keys: &[u32]) -> Result<Self, SplitError> {
        let total =
            u32::try_from(keys.len()).map_err(|_| SplitError::TooManyRows { rows: keys.len() })?;
        let largest = keys.iter().copied().max();
        let count = largest.map_or(0, |largest| u64::from(largest) + 1);
        // If a code exceeds the number of rows n, one of the codes 0 to n has no row. So only these codes are counted.
        let counted = count.min(keys.len() as u64 + 1) as usize;
        let mut sizes = vec![0u32; counted];
        for &key in keys {
            if let Some(size) = sizes.get_mut(key as usize) {
                *size += 1;
            }
        }
        if let Some(missing) = sizes.iter().position(|&size| size == 0) {
            return Err(SplitError::SparseKeys {
                keys: count,
                missing: missing as u32,
            });
        }
        let mut starts = Vec::with_capacity(counted + 1);
        let mut at = 0;
        starts.push(at);
        for size in sizes {
            at += size;
            starts.push(at);
        }
        let mut next = starts.clone();
        let mut rows = vec![0; keys.len()];
        for (row, &key) in (0..total).zip(keys) {
            let slot = &mut next[key as usize];
            rows[*slot as usize] = row;
            *slot += 1;
        }
        Ok(Groups { starts, rows })
    }

    /// Returns the number of keys.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u32 {
        (self.starts.len() - 1) as u32
    }

    /// Returns the total number of rows.
    pub fn rows_total(&self) -> u32 {
        self.rows.len() as u32
    }

    /// Returns the rows of a key in row order, or no rows if the key does not exist.
    pub fn rows(&self, key: u32) -> &[u32] {
        match self.starts.get(key as usize..) {
            Some(&[start, end, ..]) => &self.rows[start as usize..end as usize],
            _ => &[],
        }
    }

    /// Returns the rows of each key, in the order of the codes.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len()).map(|key| self.rows(key))
    }

    /// Converts a split of keys to a split of rows. Each row goes to the part of its key.
    pub fn rows_of_split(&self, keys: &Split, order: SplitOrder) -> Split {
        let rows_of = |keys: &[u32]| {
            keys.iter()
                .flat_map(|&key| self.rows(key))
                .copied()
                .collect()
        };
        Split {
            train: rows_of(&keys.train),
            test: rows_of(&keys.test),
        }
        .ordered(order)
    }
}

/// Splits the distinct keys with `train_test_split`. Each row goes to the part of its key.
///
/// A size is a number of keys or a fraction of the keys. `keys` contains one code per row, see [`Groups`].
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
