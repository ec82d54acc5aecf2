//! The rows of a table that are graded, in order.

use crate::refusal::{Refusal, RefusalKind};

/// Row numbers in the file. If no rows were dropped or moved, no list is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Positions {
    /// This number of rows from the start of the file, in the file's order.
    First(u32),
    Listed(Vec<u32>),
}

impl Positions {
    /// Returns all rows of a table.
    ///
    /// # Errors
    /// If the table has 2^32 rows or more.
    pub fn all(rows: usize) -> Result<Self, Refusal> {
        let rows = u32::try_from(rows).map_err(|_| {
            Refusal::new(
                RefusalKind::Unreadable,
                "the table has more than 4,294,967,295 rows",
            )
        })?;
        Ok(Positions::First(rows))
    }

    pub fn len(&self) -> usize {
        match self {
            Positions::First(rows) => *rows as usize,
            Positions::Listed(rows) => rows.len(),
        }
    }

    pub fn get(&self, position: usize) -> Option<u32> {
        match self {
            Positions::First(rows) => u32::try_from(position).ok().filter(|row| row < rows),
            Positions::Listed(rows) => rows.get(position).copied(),
        }
    }

    /// Reorders or drops rows; `positions` are indices in the current order.
    pub fn select(&mut self, mut positions: Vec<u32>) {
        // Reuses the list, because it may have many millions of elements.
        positions.retain_mut(|position| match self.get(*position as usize) {
            Some(row) => {
                *position = row;
                true
            }
            None => false,
        });
        *self = Positions::Listed(positions);
    }

    /// Keeps the first `count` rows.
    pub fn truncate(&mut self, count: usize) {
        match self {
            Positions::First(rows) => {
                *rows = (*rows).min(u32::try_from(count).unwrap_or(u32::MAX));
            }
            Positions::Listed(rows) => rows.truncate(count),
        }
    }

    /// Returns how many rows have to be read from the start of the file, which has `rows` rows.
    pub fn highest(&self, rows: usize) -> usize {
        match self {
            Positions::First(first) => *first as usize,
            Positions::Listed(_) => rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_can_be_dropped_and_moved() {
        let mut positions = Positions::all(5).unwrap();
        positions.truncate(4);
        assert_eq!((positions.len(), positions.highest(5)), (4, 4));
        assert_eq!((positions.get(3), positions.get(4)), (Some(3), None));
        positions.select(vec![3, 1, 4, 0]);
        assert_eq!(positions, Positions::Listed(vec![3, 1, 0]));
        positions.select(vec![2, 0, 2]);
        assert_eq!(positions, Positions::Listed(vec![0, 3, 0]));
        positions.truncate(2);
        assert_eq!((positions.len(), positions.highest(5)), (2, 5));
        assert!(Positions::all(1 << 32).is_err());
    }
}
