//! Finds and stores the offsets of the rows of canonical text.

use memchr::{memchr, memchr2};

use crate::pandas::CsvError;

/// Number of rows that share a 64-bit base offset.
const GROUP_ROWS: usize = 16;

/// Maximum number of rows whose offsets are recorded while they are written. In a larger table, the rows are searched
/// when the table is opened.
const MAX_RECORDED_ROWS: usize = 1 << 22;

/// Offsets of rows: four bytes each, plus eight for every 16 rows.
#[derive(Debug, Default)]
pub struct RowIndex {
    bases: Vec<u64>,
    deltas: Vec<u32>,
    /// Offset of the end of the last row.
    end: u64,
}

impl RowIndex {
    fn with_capacity(rows: usize) -> Self {
        Self {
            bases: Vec::with_capacity(rows / GROUP_ROWS + 1),
            deltas: Vec::with_capacity(rows + 1),
            end: 0,
        }
    }

    /// The number of rows. The header is row 0 of the index.
    pub(crate) fn len(&self) -> usize {
        self.deltas.len()
    }

    /// Memory usage of the offsets in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.bases.len() * size_of::<u64>() + self.deltas.len() * size_of::<u32>()) as u64
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Sets the end of the last row and releases unused memory.
    fn close(&mut self, end: u64) {
        self.end = end;
        self.bases.shrink_to_fit();
        self.deltas.shrink_to_fit();
    }

    /// Reads the entries that a lookup of the row needs, so that they are in the CPU cache. The result has no meaning.
    pub(crate) fn touch(&self, row: usize) -> u64 {
        let base = self.bases.get(row / GROUP_ROWS).copied();
        base.unwrap_or(0) ^ u64::from(self.deltas.get(row).copied().unwrap_or(0))
    }

    /// Returns the start and end offsets of a row, including its LF.
    pub(crate) fn span(&self, row: usize) -> Option<(u64, u64)> {
        let start = self.start(row)?;
        Some((start, self.start(row + 1).unwrap_or(self.end)))
    }

    fn start(&self, row: usize) -> Option<u64> {
        Some(self.bases.get(row / GROUP_ROWS)? + u64::from(*self.deltas.get(row)?))
    }

    fn push(&mut self, start: u64) -> Result<(), CsvError> {
        let row = self.deltas.len();
        if row.is_multiple_of(GROUP_ROWS) {
            self.bases.push(start);
        }
        let base = self.bases.last().copied().unwrap_or(0);
        let delta = u32::try_from(start - base).map_err(|_| CsvError::NotCanonical {
            row: row as u64,
            offset: start,
            rule: format!("{GROUP_ROWS} rows may not take more than 4 GiB"),
        })?;
        self.deltas.push(delta);
        Ok(())
    }
}

/// Records the offsets of rows while they are written. It records nothing if it is disabled or if there are too many
/// rows.
#[derive(Debug, Default)]
pub(crate) struct IndexRecorder(Option<RowIndex>);

impl IndexRecorder {
    /// Starts recording. Memory for the maximum number of rows is reserved immediately, because untouched pages take no memory. A growing
    /// vector would need three times its size.
    pub fn begin() -> Self {
        Self(Some(RowIndex::with_capacity(MAX_RECORDED_ROWS)))
    }

    pub fn push(&mut self, start: u64) -> Result<(), CsvError> {
        if let Some(index) = &mut self.0 {
            index.push(start)?;
        }
        self.0.take_if(|index| index.len() > MAX_RECORDED_ROWS);
        Ok(())
    }

    /// Returns the index of a text that ends at `end`.
    pub fn take(&mut self, end: u64) -> Option<RowIndex> {
        let mut index = self.0.take()?;
        index.close(end);
        Some(index)
    }
}

/// Builds a [`RowIndex`] from consecutive chunks of a text.
#[derive(Debug, Default)]
pub(crate) struct Indexer {
    index: RowIndex,
    offset: u64,
    quoted: bool,
    /// Whether the next byte begins a row.
    at_row_start: bool,
}

impl Indexer {
    pub fn new(rows: usize) -> Self {
        Self {
            index: RowIndex::with_capacity(rows),
            offset: 0,
            quoted: false,
            at_row_start: true,
        }
    }

    /// Adds the next chunk. In canonical text, quotes are at the edge of a field or doubled. So after an odd number of
    /// quotes, the position is inside quotes.
    pub fn feed(&mut self, text: &[u8]) -> Result<(), CsvError> {
        let mut at = 0;
        while let Some(rest) = text.get(at..) {
            if rest.is_empty() {
                break;
            }
            if self.at_row_start {
                self.index.push(self.offset + at as u64)?;
                self.at_row_start = false;
            }
            if self.quoted {
                let Some(found) = memchr(b'"', rest) else {
                    break;
                };
                self.quoted = false;
                at += found + 1;
            } else {
                let Some(found) = memchr2(b'\n', b'"', rest) else {
                    break;
                };
                if rest.get(found) == Some(&b'"') {
                    self.quoted = true;
                } else {
                    self.at_row_start = true;
                }
                at += found + 1;
            }
        }
        self.offset += text.len() as u64;
        Ok(())
    }

    /// Ends the text, which must end with a complete row.
    pub fn finish(mut self) -> Result<RowIndex, CsvError> {
        if !self.at_row_start {
            return Err(CsvError::NotCanonical {
                row: self.index.len().saturating_sub(1) as u64,
                offset: self.offset,
                rule: "the text ends inside a row".into(),
            });
        }
        self.index.close(self.offset);
        Ok(self.index)
    }
}
