//! Row selections: a table can consist of some rows of a stored table. Also a sort that can be cancelled.

use std::cmp::Ordering;

use prep_cache::Digest;
use prep_core::{Cancel, Context, StepError};
use serde::{Deserialize, Serialize};

/// Positions of the selected rows among the stored rows, in the order of the selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowPositions {
    /// The position of each selected row.
    Rows(Vec<u32>),
    /// Runs of consecutive rows (run-length encoding).
    Runs {
        /// First row and length of each run.
        runs: Vec<(u64, u64)>,
        /// Index in the selection of each run's first row.
        starts: Vec<u64>,
        rows: u64,
    },
}

/// Row positions in an object of the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredPositions {
    pub object: Digest,
    /// Number of selected rows.
    pub rows: u64,
    /// Whether the object contains runs instead of the position of each row.
    runs: bool,
}

impl RowPositions {
    /// Chooses the smaller representation. A run takes 24 bytes in memory, the position of a row takes 4 bytes.
    pub fn new(rows: Vec<u32>) -> RowPositions {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for &row in &rows {
            match runs.last_mut() {
                Some((first, len)) if *first + *len == u64::from(row) => *len += 1,
                _ => runs.push((u64::from(row), 1)),
            }
            if runs.len() * 6 > rows.len() {
                return RowPositions::Rows(rows);
            }
        }
        RowPositions::from_runs(runs)
    }

    fn from_runs(runs: Vec<(u64, u64)>) -> RowPositions {
        let mut rows = 0;
        let starts = runs
            .iter()
            .map(|(_, len)| {
                let start = rows;
                rows += len;
                start
            })
            .collect();
        RowPositions::Runs { runs, starts, rows }
    }

    pub fn len(&self) -> u64 {
        match self {
            RowPositions::Rows(rows) => rows.len() as u64,
            RowPositions::Runs { rows, .. } => *rows,
        }
    }

    /// Returns the position of the row with this index in the selection.
    pub fn get(&self, index: u64) -> Option<u64> {
        match self {
            RowPositions::Rows(rows) => rows
                .get(usize::try_from(index).ok()?)
                .map(|row| u64::from(*row)),
            RowPositions::Runs { runs, starts, rows } => {
                let run =
                    (index < *rows).then(|| starts.partition_point(|start| *start <= index) - 1)?;
                Some(runs[run].0 + (index - starts[run]))
            }
        }
    }

    /// Returns the positions of the rows `first..first + len` of the selection.
    pub fn range(&self, first: u64, len: usize) -> Vec<u64> {
        match self {
            RowPositions::Rows(rows) => {
                let first = usize::try_from(first).unwrap_or(usize::MAX).min(rows.len());
                let end = first.saturating_add(len).min(rows.len());
                rows[first..end].iter().map(|row| u64::from(*row)).collect()
            }
            RowPositions::Runs { .. } => (first..first + len as u64)
                .map_while(|index| self.get(index))
                .collect(),
        }
    }

    pub fn iter(&self) -> Box<dyn Iterator<Item = u64> + Send + '_> {
        match self {
            RowPositions::Rows(rows) => Box::new(rows.iter().map(|row| u64::from(*row))),
            RowPositions::Runs { runs, .. } => {
                Box::new(runs.iter().flat_map(|(first, len)| *first..first + len))
            }
        }
    }

    pub fn is_ascending(&self) -> bool {
        match self {
            RowPositions::Rows(rows) => rows.is_sorted(),
            RowPositions::Runs { runs, .. } => runs
                .windows(2)
                .all(|pair| pair[0].0 + pair[0].1 <= pair[1].0),
        }
    }

    pub(crate) fn save(&self, context: &Context) -> Result<StoredPositions, StepError> {
        let (bytes, runs): (Vec<u8>, bool) = match self {
            RowPositions::Rows(rows) => (
                rows.iter().flat_map(|row| row.to_le_bytes()).collect(),
                false,
            ),
            RowPositions::Runs { runs, .. } => (
                runs.iter()
                    .flat_map(|(first, len)| [first.to_le_bytes(), len.to_le_bytes()].concat())
                    .collect(),
                true,
            ),
        };
        Ok(StoredPositions {
            object: context.store.put(&bytes)?,
            rows: self.len(),
            runs,
        })
    }

    pub(crate) fn load(
        context: &Context,
        stored: &StoredPositions,
    ) -> Result<RowPositions, StepError> {
        let bytes = context.store.read(&stored.object)?;
        let positions = if stored.runs {
            let word = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).unwrap_or_default();
            RowPositions::from_runs(
                bytes
                    .chunks_exact(16)
                    .map(|pair| (word(&pair[..8]), word(&pair[8..])))
                    .collect(),
            )
        } else {
            let word = |bytes: &[u8]| bytes.try_into().map(u32::from_le_bytes).unwrap_or_default();
            RowPositions::Rows(bytes.chunks_exact(4).map(word).collect())
        };
        if positions.len() == stored.rows {
            Ok(positions)
        } else {
            Err(StepError::internal(
                "the stored row positions have an unexpected length",
            ))
        }
    }
}

/// Length of the sorted parts that [`sorted`] merges, and number of merged items between two checks for cancellation.
const RUN_LENGTH: usize = 1 << 16;

/// Returns the smallest index for which `is_before` is false, or `count`. `is_before` must be true for all smaller indices,
/// and false for all larger indices.
pub(crate) fn partition_point(count: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        match is_before(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

/// Returns the indices below `count`, sorted by `compare`. The sort is stable, and fast for indices that are already
/// sorted. Fails if the run is cancelled.
pub(crate) fn sorted(
    count: u32,
    cancel: &Cancel,
    compare: impl Fn(u32, u32) -> Ordering,
) -> Result<Vec<u32>, StepError> {
    let mut order: Vec<u32> = (0..count).collect();
    for run in order.chunks_mut(RUN_LENGTH) {
        cancel.check()?;
        run.sort_by(|a, b| compare(*a, *b));
    }
    let mut merged = Vec::new();
    let mut length = RUN_LENGTH;
    while length < order.len() {
        merged.reserve_exact(order.len());
        for pair in order.chunks(2 * length) {
            let (left, right) = pair.split_at(length.min(pair.len()));
            merge(left, right, &mut merged, cancel, &compare)?;
        }
        std::mem::swap(&mut order, &mut merged);
        merged.clear();
        length *= 2;
    }
    Ok(order)
}

/// Appends the sorted indices `left` and `right` to `out`, in sorted order.
fn merge(
    mut left: &[u32],
    mut right: &[u32],
    out: &mut Vec<u32>,
    cancel: &Cancel,
    compare: &impl Fn(u32, u32) -> Ordering,
) -> Result<(), StepError> {
    cancel.check()?;
    if let (Some(last), Some(first)) = (left.last(), right.first())
        && compare(*last, *first).is_gt()
    {
        while let ([a, left_rest @ ..], [b, right_rest @ ..]) = (left, right) {
            if compare(*a, *b).is_le() {
                out.push(*a);
                left = left_rest;
            } else {
                out.push(*b);
                right = right_rest;
            }
            if out.len().is_multiple_of(RUN_LENGTH) {
                cancel.check()?;
            }
        }
    }
    out.extend_from_slice(left);
    out.extend_from_slice(right);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn adjacent_rows_become_runs() {
        assert!(matches!(
            RowPositions::new((5..500).collect()),
            RowPositions::Runs { .. }
        ));
        assert!(matches!(
            RowPositions::new(vec![3, 1, 2, 9, 0]),
            RowPositions::Rows(_)
        ));
    }

    proptest! {
        #[test]
        fn positions_are_the_selected_rows_in_either_representation(firsts in prop::collection::vec((0_u32..1000, 1_u32..60), 0..20)) {
            let rows: Vec<u32> = firsts.iter().flat_map(|(first, len)| *first..first + len).collect();
            let positions = RowPositions::new(rows.clone());
            let wide: Vec<u64> = rows.iter().map(|row| u64::from(*row)).collect();
            prop_assert_eq!(positions.len(), wide.len() as u64);
            prop_assert_eq!(positions.iter().collect::<Vec<_>>(), wide.clone());
            prop_assert_eq!(positions.range(0, wide.len()), wide.clone());
            for (index, row) in wide.iter().enumerate() {
                prop_assert_eq!(positions.get(index as u64), Some(*row));
            }
            prop_assert_eq!(positions.get(wide.len() as u64), None);
            prop_assert!(!positions.is_ascending() || wide.is_sorted());
        }
    }
}

#[cfg(test)]
mod sort_tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn sorted_is_a_stable_sort(
            keys in prop::collection::vec(0_u8..20, 0..5),
            repeat in prop::sample::select(vec![1_usize, 1000, 70_000]),
            sorted_already: bool,
        ) {
            let mut keys: Vec<u8> = (0..repeat).flat_map(|_| keys.clone()).collect();
            if sorted_already {
                keys.sort_unstable();
            }
            let key = |number: u32| keys[number as usize];
            let count = u32::try_from(keys.len())?;
            let found = sorted(count, &Cancel::default(), |a, b| key(a).cmp(&key(b)))?;
            let mut expected: Vec<u32> = (0..count).collect();
            expected.sort_by_key(|number| key(*number));
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn cancelling_the_run_stops_the_sort() {
        let cancel = Cancel::default();
        let compared = std::cell::Cell::new(0_u32);
        let found = sorted(1 << 20, &cancel, |a, b| {
            compared.set(compared.get() + 1);
            if compared.get() == 2 << 20 {
                cancel.cancel();
            }
            b.cmp(&a)
        });
        assert!(matches!(found, Err(StepError::Cancelled)));
        let more = compared.get() - (2 << 20);
        assert!(more < 2 << 16, "{more} further comparisons");
    }
}
