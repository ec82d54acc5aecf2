//! Row selections: the rows of a stored table that form another table, in their order.

use prep_cache::Digest;
use prep_core::{Context, StepError};
use serde::{Deserialize, Serialize};

/// Selected rows of a stored table. If many selected rows are consecutive, `Runs` needs less memory than `Rows`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowPositions {
    /// The number of each row.
    Rows(Vec<u32>),
    /// Consecutive rows.
    Runs {
        /// First row and length of each run.
        runs: Vec<(u64, u64)>,
        /// Position of the first row of each run.
        starts: Vec<u64>,
        /// Total number of rows.
        rows: u64,
    },
}

/// A reference to positions in the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredPositions {
    pub object: Digest,
    pub rows: u64,
    runs: bool,
}

impl RowPositions {
    /// Stores rows in the shorter of the two representations.
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

    /// Number of rows.
    pub fn len(&self) -> u64 {
        match self {
            RowPositions::Rows(rows) => rows.len() as u64,
            RowPositions::Runs { rows, .. } => *rows,
        }
    }

    /// Returns the stored row at position `index`.
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

    /// Returns the stored rows at `len` positions, starting at `first`.
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

    /// All stored rows, in order.
    pub fn iter(&self) -> Box<dyn Iterator<Item = u64> + Send + '_> {
        match self {
            RowPositions::Rows(rows) => Box::new(rows.iter().map(|row| u64::from(*row))),
            RowPositions::Runs { runs, .. } => {
                Box::new(runs.iter().flat_map(|(first, len)| *first..first + len))
            }
        }
    }

    /// Whether the stored rows are in ascending order.
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
        fn both_representations_have_the_same_rows(firsts in prop::collection::vec((0_u32..1000, 1_u32..60), 0..20)) {
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
