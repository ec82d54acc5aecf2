//! Where the rows of a canonical text start.

use memchr::{memchr, memchr2};

use crate::pandas::CsvError;

/// Rows that share a 64-bit base.
const GROUP: usize = 16;

/// Where rows start is noted while so many are written at most; whoever opens a longer table looks for them.
const MOST_NOTED: usize = 1 << 22;

/// Offsets of rows: four bytes each, and eight more for every 16.
#[derive(Debug, Default)]
pub struct RowIndex {
    bases: Vec<u64>,
    deltas: Vec<u32>,
    /// Where the last row ends.
    end: u64,
}

impl RowIndex {
    fn with_capacity(rows: usize) -> Self {
        Self {
            bases: Vec::with_capacity(rows / GROUP + 1),
            deltas: Vec::with_capacity(rows + 1),
            end: 0,
        }
    }

    /// Number of rows; the header is row 0 of the index.
    pub(crate) fn len(&self) -> usize {
        self.deltas.len()
    }

    /// Bytes of memory that the offsets take.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.bases.len() * size_of::<u64>() + self.deltas.len() * size_of::<u32>()) as u64
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Ends the last row.
    fn close(&mut self, end: u64) {
        self.end = end;
        self.bases.shrink_to_fit();
        self.deltas.shrink_to_fit();
    }

    /// What is looked up for a row, as a number without meaning: to have it in the cache.
    pub(crate) fn touch(&self, row: usize) -> u64 {
        let base = self.bases.get(row / GROUP).copied();
        base.unwrap_or(0) ^ u64::from(self.deltas.get(row).copied().unwrap_or(0))
    }

    /// Start and end of a row, its LF included.
    pub(crate) fn span(&self, row: usize) -> Option<(u64, u64)> {
        let start = self.start(row)?;
        Some((start, self.start(row + 1).unwrap_or(self.end)))
    }

    fn start(&self, row: usize) -> Option<u64> {
        Some(self.bases.get(row / GROUP)? + u64::from(*self.deltas.get(row)?))
    }

    fn push(&mut self, start: u64) -> Result<(), CsvError> {
        let row = self.deltas.len();
        if row.is_multiple_of(GROUP) {
            self.bases.push(start);
        }
        let base = self.bases.last().copied().unwrap_or(0);
        let delta = u32::try_from(start - base).map_err(|_| CsvError::NotCanonical {
            row: row as u64,
            offset: start,
            rule: format!("{GROUP} rows may not take more than 4 GiB"),
        })?;
        self.deltas.push(delta);
        Ok(())
    }
}

/// Where rows start, noted by who writes them. Of very many, or if nobody wants to know, nothing.
#[derive(Debug, Default)]
pub(crate) struct Noted(Option<RowIndex>);

impl Noted {
    /// Notes the rows that follow. There is room for all that are noted, of which only what is used takes memory: who grows
    /// from nothing takes three times as much.
    pub fn begin() -> Self {
        Self(Some(RowIndex::with_capacity(MOST_NOTED)))
    }

    pub fn push(&mut self, start: u64) -> Result<(), CsvError> {
        if let Some(index) = &mut self.0 {
            index.push(start)?;
        }
        self.0.take_if(|index| index.len() > MOST_NOTED);
        Ok(())
    }

    /// The index of a text that ends here.
    pub fn take(&mut self, end: u64) -> Option<RowIndex> {
        let mut index = self.0.take()?;
        index.close(end);
        Some(index)
    }
}

/// Builds a [`RowIndex`] from consecutive pieces of a text.
#[derive(Debug, Default)]
pub(crate) struct Indexer {
    index: RowIndex,
    offset: u64,
    quoted: bool,
    /// The next byte starts a row.
    fresh: bool,
}

impl Indexer {
    pub fn new(rows: usize) -> Self {
        Self {
            index: RowIndex::with_capacity(rows),
            offset: 0,
            quoted: false,
            fresh: true,
        }
    }

    /// Takes the next piece. In canonical text a quote is either at the edge of a field or doubled, so that counting
    /// quotes tells inside from outside.
    pub fn feed(&mut self, text: &[u8]) -> Result<(), CsvError> {
        let mut at = 0;
        while let Some(rest) = text.get(at..) {
            if rest.is_empty() {
                break;
            }
            if self.fresh {
                self.index.push(self.offset + at as u64)?;
                self.fresh = false;
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
                    self.fresh = true;
                }
                at += found + 1;
            }
        }
        self.offset += text.len() as u64;
        Ok(())
    }

    /// Ends the text, which has to end with a whole row.
    pub fn finish(mut self) -> Result<RowIndex, CsvError> {
        if !self.fresh {
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
