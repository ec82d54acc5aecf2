//! Defines rows and the trait for reading them one by one.

use prep_formats::limits::{DecodingLimits, Limit};

use crate::error::{ContentsError, Result};

/// The cells of a row. The same memory is reused for the next row.
#[derive(Debug, Default, Clone)]
pub struct Row {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Row {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn cell(&self, index: usize) -> &[u8] {
        let begin = match index {
            0 => 0,
            _ => self
                .ends
                .get(index - 1)
                .copied()
                .unwrap_or(self.bytes.len()),
        };
        let end = self.ends.get(index).copied().unwrap_or(self.bytes.len());
        self.bytes.get(begin..end).unwrap_or_default()
    }

    /// Returns the current cell. Append bytes to it, and then call [`end_cell`](Self::end_cell).
    pub fn open(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    pub fn end_cell(&mut self) {
        self.ends.push(self.bytes.len());
    }

    /// Returns the memory that a copy of the row takes, in bytes.
    pub fn bytes(&self) -> u64 {
        (size_of::<Row>() + self.bytes.len() + self.ends.len() * size_of::<usize>()) as u64
    }

    /// Returns an error if the row takes more memory than one record may, or has more cells than a table may have
    /// columns.
    pub(crate) fn check(&self, limits: &DecodingLimits) -> Result<()> {
        let checked = limits.check(Limit::Record, self.bytes());
        let checked = checked.and_then(|()| limits.check_columns(self.len()));
        checked.map_err(ContentsError::Limit)
    }

    /// Whether the given cells are equal to the given cells of another row.
    pub fn equals(&self, cells: &[usize], other: &Row, others: &[usize]) -> bool {
        let pairs = cells.iter().zip(others);
        cells.len() == others.len()
            && pairs
                .into_iter()
                .all(|(cell, other_cell)| self.cell(*cell) == other.cell(*other_cell))
    }

    /// Hashes the given cells in this order, with 128 bits of BLAKE3, so that nobody can construct collisions.
    pub fn hash(&self, cells: &[usize]) -> u128 {
        let mut hasher = blake3::Hasher::new();
        for cell in cells {
            let cell = self.cell(*cell);
            hasher.update(&(cell.len() as u64).to_le_bytes());
            hasher.update(cell);
        }
        short(&hasher)
    }
}

/// Returns the first 128 bits of a hash.
pub(crate) fn short(hasher: &blake3::Hasher) -> u128 {
    let hash = hasher.finalize();
    let first = hash.as_bytes().first_chunk();
    first.map_or(0, |bytes| u128::from_le_bytes(*bytes))
}

/// A table whose rows can be read any number of times.
pub trait TableReader: Sync {
    fn columns(&self) -> &[String];

    /// # Errors
    /// If the file cannot be read.
    fn rows(&self) -> Result<Box<dyn Rows + '_>>;
}

/// An iterator over the rows of a table, starting with the first row.
pub trait Rows {
    /// Reads the next row into `row`. Returns false after the last row.
    ///
    /// # Errors
    /// If the file cannot be read, or is damaged.
    fn next(&mut self, row: &mut Row) -> Result<bool>;
}
