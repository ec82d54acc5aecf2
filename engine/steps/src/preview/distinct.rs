//! Counts different values of several columns in limited memory.
//!
//! A column's values are counted by their hashes of 64 bits. With a million different values, the probability of a wrong
//! count is below one in ten million. All columns share one limit. When it is reached, the column with the most
//! different values is no longer counted. So columns with few values are always counted.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::row::{RowConverter, SortField};
use prep_core::StepError;

/// Maximum number of hashes.
const MAX_HASHES: usize = 4 << 20;
/// Maximum memory of the hashes in bytes: a set may be half empty, and is copied while it grows.
pub(super) const MAX_BYTES: u64 = MAX_HASHES as u64 * 9 * 3;

/// The counts of several columns.
pub(super) struct DistinctCounts {
    /// `None` for a column that is no longer counted.
    columns: Vec<Option<HashSet<u64>>>,
    hashes: usize,
    max_hashes: usize,
}

impl DistinctCounts {
    pub(super) fn new(columns: usize) -> DistinctCounts {
        DistinctCounts {
            columns: vec![Some(HashSet::new()); columns],
            hashes: 0,
            max_hashes: MAX_HASHES,
        }
    }

    /// Counts further cells of a column. Missing cells are not counted.
    pub(super) fn add(&mut self, column: usize, cells: &ArrayRef) -> Result<(), StepError> {
        let Some(Some(seen)) = self.columns.get_mut(column) else {
            return Ok(());
        };
        let fields = vec![SortField::new(cells.data_type().clone())];
        let converter = RowConverter::new(fields).map_err(StepError::internal)?;
        let rows = converter.convert_columns(&[Arc::clone(cells)]);
        let rows = rows.map_err(StepError::internal)?;
        let before = seen.len();
        let nulls = cells.logical_nulls();
        let is_missing = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        for (_, row) in rows.iter().enumerate().filter(|(row, _)| !is_missing(*row)) {
            let mut hasher = DefaultHasher::new();
            hasher.write(row.as_ref());
            seen.insert(hasher.finish());
        }
        self.hashes += seen.len() - before;
        while self.hashes > self.max_hashes {
            self.give_up_largest();
        }
        Ok(())
    }

    fn give_up_largest(&mut self) {
        let sizes = self.columns.iter_mut();
        let largest = sizes.max_by_key(|column| column.as_ref().map_or(0, HashSet::len));
        if let Some(freed) = largest.and_then(Option::take) {
            self.hashes -= freed.len();
        }
    }

    /// The numbers of different values; `None` for a column that is no longer counted.
    pub(super) fn finish(self) -> impl Iterator<Item = Option<u64>> {
        let columns = self.columns.into_iter();
        columns.map(|column| column.map(|seen| seen.len() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int64Array, StringArray};

    #[test]
    fn values_of_all_batches_are_counted_except_in_dropped_columns() {
        let mut counts = DistinctCounts::new(3);
        counts.max_hashes = 10;
        for batch in 0..3_i64 {
            let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(batch * 4..batch * 4 + 4));
            let labels: ArrayRef = Arc::new(StringArray::from(vec![
                Some("a"),
                None,
                Some("b"),
                Some("a"),
            ]));
            let missing: ArrayRef = Arc::new(Int64Array::from(vec![None; 4]));
            for (column, cells) in [ids, labels, missing].iter().enumerate() {
                counts.add(column, cells).unwrap();
            }
        }
        assert_eq!(
            counts.finish().collect::<Vec<_>>(),
            [None, Some(2), Some(0)]
        );
    }
}
