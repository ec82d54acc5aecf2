//! The rows of a relation: all stored rows of a table, or a selection of them in any order.

use std::sync::Arc;

use prep_formats::pandas::RowSelection;

use crate::value::RowPositions;

#[derive(Debug, Clone)]
pub(super) struct SelectedRows {
    stored: u64,
    positions: Option<Arc<RowPositions>>,
}

impl SelectedRows {
    /// Selects the rows at `positions` of a table with `stored` rows. `None` selects all rows.
    pub fn new(stored: u64, positions: Option<Arc<RowPositions>>) -> SelectedRows {
        SelectedRows { stored, positions }
    }

    pub fn positions(&self) -> Option<&Arc<RowPositions>> {
        self.positions.as_ref()
    }

    pub fn len(&self) -> u64 {
        self.positions
            .as_ref()
            .map_or(self.stored, |positions| positions.len())
    }

    /// Returns the indices of the stored rows at `first..first + len` of the selection.
    pub fn origins(&self, first: u64, len: usize) -> Vec<u64> {
        match &self.positions {
            None => (first..first + len as u64).collect(),
            Some(positions) => positions.range(first, len),
        }
    }

    /// Splits the selection into ranges of at most `batch` rows: index of the first row, and number of rows.
    pub fn ranges(&self, batch: usize) -> impl Iterator<Item = (u64, usize)> + Send + use<> {
        let rows = self.len();
        (0..rows).step_by(batch.max(1)).map(move |first| {
            let len = (rows - first).min(batch as u64);
            (first, usize::try_from(len).unwrap_or(batch))
        })
    }
}

/// The selected rows in stored order: a bitmap with one bit per stored row.
#[derive(Debug)]
pub(super) struct StoredRows {
    chosen: Vec<u64>,
    /// The stored row from which [`next`](Self::next) continues.
    at: u64,
    /// The rows that the last call of [`next`](Self::next) returned.
    last: Arc<[u64]>,
}

impl SelectedRows {
    /// Returns the selected rows in stored order. `None` if the selection has this order already, or contains a row twice.
    pub fn stored_rows(&self) -> Option<StoredRows> {
        let positions = self.positions.as_ref()?;
        if positions.is_ascending() {
            return None;
        }
        let words = usize::try_from(self.stored.div_ceil(64)).ok()?;
        let mut chosen = vec![0_u64; words];
        for row in positions.iter() {
            let word = chosen.get_mut(usize::try_from(row / 64).ok()?)?;
            let bit = 1 << (row % 64);
            if *word & bit != 0 {
                return None;
            }
            *word |= bit;
        }
        Some(StoredRows {
            chosen,
            at: 0,
            last: Arc::from([]),
        })
    }
}

impl StoredRows {
    /// Returns up to `count` further rows, as a range if they are consecutive.
    pub fn next(&mut self, count: usize) -> Option<RowSelection> {
        let mut rows = Vec::with_capacity(count);
        let mut at = self.at;
        while rows.len() < count {
            let word = usize::try_from(at / 64).ok();
            let Some(word) = word.and_then(|word| self.chosen.get(word)) else {
                break;
            };
            let rest = word >> (at % 64);
            if rest == 0 {
                at = (at / 64 + 1) * 64;
                continue;
            }
            at += u64::from(rest.trailing_zeros());
            rows.push(at);
            at += 1;
        }
        let (first, last) = (*rows.first()?, *rows.last()?);
        let are_consecutive = last - first + 1 == rows.len() as u64;
        self.last = rows.into();
        Some(if are_consecutive {
            RowSelection::Range(first..last + 1)
        } else {
            RowSelection::Rows(self.last.clone())
        })
    }

    /// Records that only the first `count` rows of the last call of [`next`](Self::next) were read. Therefore the next
    /// call continues after these rows.
    pub fn read(&mut self, count: usize) {
        let read = count.checked_sub(1).and_then(|index| self.last.get(index));
        self.at = read.or(self.last.last()).map_or(self.at, |row| row + 1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn in_stored_order(stored: u64, rows: Vec<u32>, batch: usize) -> Option<Vec<u64>> {
        let chosen = SelectedRows::new(stored, Some(Arc::new(RowPositions::new(rows))));
        let mut stored = chosen.stored_rows()?;
        let mut found = Vec::new();
        while let Some(rows) = stored.next(batch) {
            let rows: Vec<u64> = match rows {
                RowSelection::Range(range) => range.collect(),
                RowSelection::Rows(rows) => rows.to_vec(),
                RowSelection::All => Vec::new(),
            };
            // Like a caller, sometimes read fewer rows than `next` returned.
            let count = rows.len().min(1 + found.len() % batch);
            stored.read(count);
            found.extend(&rows[..count]);
        }
        Some(found)
    }

    proptest! {
        #[test]
        fn every_selected_row_occurs_once(mut rows in prop::collection::vec(0_u32..300, 2..200), batch in 1_usize..70) {
            let found = in_stored_order(300, rows.clone(), batch);
            let mut sorted: Vec<u64> = rows.iter().map(|row| u64::from(*row)).collect();
            sorted.sort_unstable();
            let repeats = sorted.windows(2).any(|pair| pair[0] == pair[1]);
            if rows.is_sorted() || repeats {
                prop_assert_eq!(found, None);
            } else {
                prop_assert_eq!(found, Some(sorted.clone()));
            }
            rows.sort_unstable();
            rows.dedup();
            rows.reverse();
            sorted.dedup();
            if rows.len() > 1 {
                prop_assert_eq!(in_stored_order(300, rows, batch), Some(sorted));
            }
        }
    }
}
