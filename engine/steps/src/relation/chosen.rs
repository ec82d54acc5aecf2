//! The rows of a relation: all stored ones, or a choice of them.

use std::sync::Arc;

use crate::value::Positions;

/// Which stored rows, in which order.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    stored: u64,
    positions: Option<Arc<Positions>>,
}

impl Chosen {
    /// The rows at `positions` of `stored` rows; all of them without.
    pub fn new(stored: u64, positions: Option<Arc<Positions>>) -> Chosen {
        Chosen { stored, positions }
    }

    pub fn positions(&self) -> Option<&Arc<Positions>> {
        self.positions.as_ref()
    }

    pub fn len(&self) -> u64 {
        self.positions
            .as_ref()
            .map_or(self.stored, |positions| positions.len())
    }

    /// The stored rows behind `len` rows from `first`.
    pub fn origins(&self, first: u64, len: usize) -> Vec<u64> {
        match &self.positions {
            None => (first..first + len as u64).collect(),
            Some(positions) => positions.range(first, len),
        }
    }

    /// All rows in stretches of `batch`, each by its first row and its length.
    pub fn stretches(&self, batch: usize) -> impl Iterator<Item = (u64, usize)> + Send + use<> {
        let rows = self.len();
        (0..rows).step_by(batch.max(1)).map(move |first| {
            let len = (rows - first).min(batch as u64);
            (first, usize::try_from(len).unwrap_or(batch))
        })
    }
}
