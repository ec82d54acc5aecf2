//! Rows by key: the index that all group-wise methods share.

use crate::error::SplitError;
use crate::shuffle_split::{Order, Split};

/// The rows of every key, each list in row order, found in O(1).
///
/// Keys are codes 0, 1, 2, ... in row order, without holes. The order of the numbers is the order in which the keys are
/// split: number them by first appearance as `unique()` does in pandas, or in sorted order as `groupby` and
/// `numpy.unique` do.
#[derive(Debug, Clone)]
pub struct Groups {
    /// `rows[starts[k]..starts[k + 1]]` are the rows of key k.
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl Groups {
    /// Sorts the rows by key (one counting pass).
    ///
    /// # Errors
    /// [`SplitError::SparseKeys`] if a number has no row; [`SplitError::TooManyRows`] above 2^32 - 1 rows.
    pub fn new(keys: &[u32]) -> Result<Self, SplitError> {
        let total =
            u32::try_from(keys.len()).map_err(|_| SplitError::TooManyRows { rows: keys.len() })?;
        let largest = keys.iter().copied().max();
        let count = largest.map_or(0, |largest| u64::from(largest) + 1);
        // A number that is too large for the rows proves a hole below it, and is not worth memory.
        let listed = count.min(keys.len() as u64 + 1) as usize;
        let mut sizes = vec![0u32; listed];
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
        let mut starts = Vec::with_capacity(listed + 1);
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

    /// Number of keys.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u32 {
        (self.starts.len() - 1) as u32
    }

    /// Number of rows of all keys.
    pub fn rows_total(&self) -> u32 {
        self.rows.len() as u32
    }

    /// The rows of a key, in row order; none for a number that is not a key.
    pub fn rows(&self, key: u32) -> &[u32] {
        match self.starts.get(key as usize..) {
            Some(&[start, end, ..]) => &self.rows[start as usize..end as usize],
            _ => &[],
        }
    }

    /// The rows of every key, by number.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len()).map(|key| self.rows(key))
    }

    /// Turns a split of keys into one of rows: a row goes where its key went.
    pub fn lay_out(&self, keys: &Split, order: Order) -> Split {
        let lay = |keys: &[u32]| {
            keys.iter()
                .flat_map(|&key| self.rows(key))
                .copied()
                .collect()
        };
        Split {
            train: lay(&keys.train),
            test: lay(&keys.test),
        }
        .ordered(order)
    }
}
