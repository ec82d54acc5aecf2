//! Decisions drawn row by row from one stream, for tables that are read once and never held.

use crate::error::{RandomError, SplitError};
use crate::numpy_legacy::RandomState;

/// Picks rows with a fixed probability and a position inside each picked one, from one `RandomState`.
#[derive(Clone)]
pub struct SequentialDraw {
    generator: RandomState,
    share: f64,
}

impl SequentialDraw {
    /// A stream that picks a row when its draw is at most `share`.
    ///
    /// # Errors
    /// [`SplitError::OutOfRange`] for a share outside 0..=1.
    pub fn new(share: f64, seed: u32) -> Result<Self, SplitError> {
        if !(0.0..=1.0).contains(&share) {
            return Err(SplitError::OutOfRange {
                name: "share",
                value: share,
                low: 0.0,
                high: 1.0,
            });
        }
        Ok(SequentialDraw {
            generator: RandomState::new(seed),
            share,
        })
    }

    /// Decides about the next row: `uniform()` is drawn for every row; if it is at most the share, and the row has
    /// `positions` (low..high) to choose from, `randint(low, high)` gives one. `None`: not picked.
    ///
    /// # Errors
    /// [`RandomError::EmptyRange`] if a picked row's range is empty.
    pub fn next(
        &mut self,
        positions: Option<std::ops::Range<i64>>,
    ) -> Result<Option<i64>, RandomError> {
        let picked = self.generator.random_sample() <= self.share;
        match positions {
            Some(range) if picked => self.generator.randint(range.start, range.end).map(Some),
            _ => Ok(None),
        }
    }
}
