//! Rows, pulled one by one.

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::io;

/// The cells of a row, reused from row to row.
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

    /// The cell under way, to which bytes are appended before [`end_cell`](Self::end_cell).
    pub fn open(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    pub fn end_cell(&mut self) {
        self.ends.push(self.bytes.len());
    }

    /// A hash of some cells, in this order.
    pub fn hash(&self, cells: &[usize]) -> u64 {
        let mut hasher = DefaultHasher::new();
        for cell in cells {
            let cell = self.cell(*cell);
            hasher.write(cell);
            hasher.write_usize(cell.len());
        }
        hasher.finish()
    }
}

/// A table, as often as it is opened.
pub trait Table: Sync {
    fn columns(&self) -> &[String];

    /// # Errors
    /// When the file cannot be read.
    fn rows(&self) -> io::Result<Box<dyn Rows + '_>>;
}

/// The rows of a table from the first on.
pub trait Rows {
    /// Puts the next row into `row`; false behind the last.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged.
    fn next(&mut self, row: &mut Row) -> io::Result<bool>;
}
