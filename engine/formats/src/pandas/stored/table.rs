//! A stored table: canonical text with its schema, read by rows and cells.

use std::hint::black_box;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use memchr::memchr;
use memmap2::Mmap;

use crate::pandas::read::tokens::unquote;
use crate::pandas::stored::index::{Indexer, RowIndex};
use crate::pandas::{CsvError, Schema};

/// How much is looked at before the pages are given back.
const WINDOW: usize = 8 << 20;

/// A row of so many bytes costs more to read than to be fetched once more.
const LONG: u64 = 1 << 13;

/// Rows, or cells, that are fetched before any of them is read.
pub const AHEAD: usize = 32;

/// What the system maps at most around a byte that is read, where the file is in its cache: a large page.
const AROUND: u64 = 1 << 21;

/// The bytes of a table.
enum Bytes {
    Owned(Vec<u8>),
    /// Pages of memory, and how many bytes of them are text.
    Pages(Mmap, usize),
    Mapped(Mapped),
}

/// The text of a table in a file that is mapped into memory.
///
/// Whoever maps the file makes sure that its bytes do not change; this crate maps no files. The store's private objects
/// are such files.
pub trait MappedText: Send + Sync {
    fn bytes(&self) -> &[u8];

    /// Lets the system drop a part from memory. A later read brings the same bytes back.
    fn release(&self, part: Range<usize>);
}

struct Mapped {
    map: Box<dyn MappedText>,
    /// So many bytes may be in memory because rows were looked up.
    room: u64,
    /// And so many are, at most.
    touched: AtomicU64,
}

impl Mapped {
    /// Counts rows that were looked up anywhere. Have they filled the room?
    fn is_full_after(&self, rows: u64) -> bool {
        if self.map.bytes().len() as u64 <= self.room {
            return false;
        }
        let more = rows.saturating_mul(AROUND);
        let touched = self.touched.fetch_add(more, Ordering::Relaxed) + more;
        let is_full = touched > self.room;
        if is_full {
            self.touched.store(0, Ordering::Relaxed);
        }
        is_full
    }
}

impl Bytes {
    fn mapped(text: impl MappedText + 'static, room: u64) -> Bytes {
        Bytes::Mapped(Mapped {
            map: Box::new(text),
            room,
            touched: AtomicU64::new(0),
        })
    }

    fn text(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Pages(pages, len) => pages.get(..*len).unwrap_or_default(),
            Self::Mapped(mapped) => mapped.map.bytes(),
        }
    }

    /// Releases the memory of a part of mapped text, so that a pass over a large table takes little.
    fn release(&self, from: usize, to: usize) {
        if let Self::Mapped(Mapped { map, .. }) = self {
            map.release(from..to);
        }
    }
}

/// Bytes that come into the cache together.
const CACHE_LINE: usize = 64;

/// So much of a row is asked for; behind that the processor sees by itself how it goes on.
const PREFETCHED: usize = 8 * CACHE_LINE;

/// Asks for bytes that are read soon, and does not wait for them.
#[inline]
fn prefetch(text: &[u8]) {
    let text = text.get(..PREFETCHED).unwrap_or(text);
    // The last byte may lie in a line of its own, as the first one lies anywhere in its line.
    for byte in text.iter().step_by(CACHE_LINE).chain(text.last()) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a prefetch is a hint. It changes nothing that a program can see, whatever the address, and SSE, which
            // has it, is part of x86-64.
            #[allow(unsafe_code, reason = "see above")]
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast());
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        black_box(*byte);
    }
}

/// The text of a table and the offsets of its rows.
struct Lines {
    bytes: Bytes,
    index: RowIndex,
}

/// Canonical text with a schema and the offsets of its rows (at most 5 bytes a row).
pub struct TextTable {
    schema: Schema,
    lines: Arc<Lines>,
}

impl TextTable {
    /// Opens a table in a mapped file. After lookups of rows in any order, up to `room` bytes of it stay in memory.
    ///
    /// # Errors
    /// The text does not have the rows of the schema.
    pub fn open(
        text: impl MappedText + 'static,
        schema: Schema,
        room: u64,
    ) -> Result<Self, CsvError> {
        Self::new(Bytes::mapped(text, room), schema)
    }

    /// As [`open`](Self::open), with the offsets of the rows, so that the text need not be read.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(
        text: impl MappedText + 'static,
        schema: Schema,
        room: u64,
        index: RowIndex,
    ) -> Result<Self, CsvError> {
        Self::with_index(Bytes::mapped(text, room), schema, index)
    }

    /// A table in memory, in the first `len` bytes of these pages, which belong to no file. Where `index` is not that of the
    /// text, the rows are looked for.
    ///
    /// # Errors
    /// The text does not have the rows of the schema.
    pub fn from_pages(
        pages: Mmap,
        len: usize,
        schema: Schema,
        index: RowIndex,
    ) -> Result<Self, CsvError> {
        Self::with_index(Bytes::Pages(pages, len), schema, index)
    }

    fn with_index(bytes: Bytes, schema: Schema, index: RowIndex) -> Result<Self, CsvError> {
        if index.end() != bytes.text().len() as u64 {
            return Self::new(bytes, schema);
        }
        let lines = Arc::new(Lines { bytes, index });
        Self { schema, lines }.checked()
    }

    /// A table in memory.
    ///
    /// # Errors
    /// The text does not have the rows of the schema.
    pub fn from_bytes(bytes: Vec<u8>, schema: Schema) -> Result<Self, CsvError> {
        Self::new(Bytes::Owned(bytes), schema)
    }

    /// As [`from_bytes`](Self::from_bytes), where it is known that the rows start where `index` says.
    pub(crate) fn from_indexed(
        bytes: Vec<u8>,
        schema: Schema,
        index: RowIndex,
    ) -> Result<Self, CsvError> {
        let bytes = Bytes::Owned(bytes);
        let lines = Arc::new(Lines { bytes, index });
        Self { schema, lines }.checked()
    }

    fn new(bytes: Bytes, schema: Schema) -> Result<Self, CsvError> {
        let rows = usize::try_from(schema.rows).unwrap_or(0);
        let mut indexer = Indexer::new(rows.min(bytes.text().len()));
        let mut from = 0;
        for window in bytes.text().chunks(WINDOW) {
            indexer.feed(window)?;
            bytes.release(from, from + window.len());
            from += window.len();
        }
        let index = indexer.finish()?;
        let lines = Arc::new(Lines { bytes, index });
        Self { schema, lines }.checked()
    }

    /// The same text, read with another schema. Nothing is copied.
    ///
    /// # Errors
    /// The text does not have the rows of the schema.
    pub fn with_schema(&self, schema: Schema) -> Result<Self, CsvError> {
        let lines = Arc::clone(&self.lines);
        Self { schema, lines }.checked()
    }

    fn checked(self) -> Result<Self, CsvError> {
        let rows = self.lines.index.len() as u64;
        if rows != self.schema.rows + 1 {
            return Err(CsvError::NotCanonical {
                row: rows.saturating_sub(1),
                offset: self.text().len() as u64,
                rule: format!(
                    "the text has {rows} lines, but the schema wants {} and a header",
                    self.schema.rows
                ),
            });
        }
        Ok(self)
    }

    /// Whether the text is in memory, and not read from a file.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        !matches!(self.lines.bytes, Bytes::Mapped(_))
    }

    /// Bytes of memory that the offsets of the rows take.
    #[must_use]
    pub fn index_bytes(&self) -> u64 {
        self.lines.index.bytes()
    }

    /// Columns and number of rows.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The whole text, header included.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        self.lines.bytes.text()
    }

    /// Bytes of the header line, its LF included.
    #[must_use]
    pub fn header(&self) -> &[u8] {
        self.line(0).unwrap_or_default()
    }

    /// Bytes of a row, its LF included. Rows count from 0.
    ///
    /// # Errors
    /// There is no such row.
    pub fn row(&self, row: u64) -> Result<&[u8], CsvError> {
        let line = usize::try_from(row)
            .ok()
            .and_then(|row| self.line(row.checked_add(1)?));
        line.ok_or(CsvError::NoSuchRow {
            row,
            rows: self.schema.rows,
        })
    }

    /// Has the processor fetch rows that lie anywhere side by side: first where they start, then their text. With something
    /// else to do in between it would wait for one after the other. What are no rows is passed over.
    pub(crate) fn fetch(&self, rows: &[u64]) {
        let lines = || {
            rows.iter()
                .filter_map(|row| usize::try_from(row.checked_add(1)?).ok())
        };
        black_box(lines().fold(0, |all, line| all ^ self.lines.index.touch(line)));
        for line in lines() {
            prefetch(self.line(line).unwrap_or_default());
        }
    }

    fn line(&self, line: usize) -> Option<&[u8]> {
        let (start, end) = self.lines.index.span(line)?;
        self.text()
            .get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }

    /// Where a row starts in the text.
    pub(crate) fn offset(&self, row: u64) -> u64 {
        let span = usize::try_from(row)
            .ok()
            .and_then(|row| self.lines.index.span(row + 1));
        span.map_or(self.text().len() as u64, |(start, _)| start)
    }

    /// Cells of a row with their quotes.
    ///
    /// # Errors
    /// There is no such row.
    pub fn cells(&self, row: u64) -> Result<Cells<'_>, CsvError> {
        Ok(Cells::new(self.row(row)?))
    }

    /// Takes note that `rows` of together so many `bytes` were looked up anywhere. Gives all memory of mapped text back if
    /// they are long, or if they may fill the room. Where short ones lie, others do that are looked up soon.
    pub fn looked_up(&self, rows: u64, bytes: u64) {
        let are_long = bytes / rows.max(1) >= LONG;
        let is_full = matches!(&self.lines.bytes, Bytes::Mapped(map) if map.is_full_after(rows));
        if are_long || is_full {
            self.release(0, self.text().len());
        }
    }

    /// Gives the memory of a stretch of mapped text back.
    pub(crate) fn release(&self, from: usize, to: usize) {
        self.lines.bytes.release(from, to);
    }
}

/// The cells of one row of canonical text, with their quotes.
#[derive(Debug, Clone)]
pub struct Cells<'a> {
    rest: Option<&'a [u8]>,
    /// So many cells follow, as far as that is known.
    left: usize,
}

impl<'a> Cells<'a> {
    /// Cells of a line with or without its LF.
    #[must_use]
    pub fn new(line: &'a [u8]) -> Self {
        Self::of(line, usize::MAX)
    }

    /// Cells of a line that has so many: where the last one ends is not looked for.
    pub(crate) fn of(line: &'a [u8], count: usize) -> Self {
        Self {
            rest: Some(line.strip_suffix(b"\n").unwrap_or(line)),
            left: count,
        }
    }
}

/// The first comma. Most cells are short, and a search costs more to begin than to carry out: eight bytes are looked at as
/// one number first. A byte of it is 0 where a comma stands, and the lowest such byte is the first to borrow.
#[inline]
fn comma(text: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    if let Some(eight) = text.first_chunk() {
        let zeros = u64::from_le_bytes(*eight) ^ (ONES * b',' as u64);
        let found = zeros.wrapping_sub(ONES) & !zeros & (ONES << 7);
        if found != 0 {
            return Some(found.trailing_zeros() as usize / 8);
        }
    }
    memchr(b',', text)
}

impl<'a> Iterator for Cells<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            return self.rest.take();
        }
        let mut from = 0;
        if rest.first() == Some(&b'"') {
            from = 1;
            // Doubled quotes look like the end of one quoted stretch and the start of the next.
            while let Some(at) = rest.get(from..).and_then(|rest| memchr(b'"', rest)) {
                from += at + 1;
                if rest.get(from) != Some(&b'"') {
                    break;
                }
                from += 1;
            }
        }
        match rest.get(from..).and_then(comma) {
            Some(at) => {
                let (cell, after) = rest.split_at(from + at);
                self.rest = after.get(1..);
                Some(cell)
            }
            None => {
                self.rest = None;
                Some(rest)
            }
        }
    }
}

/// The content of a cell without its quotes; `None` if the cell is missing.
#[must_use]
pub fn cell_content(cell: &[u8]) -> Option<std::borrow::Cow<'_, [u8]>> {
    match cell {
        b"" | b"\"\"" => None,
        [b'"', ..] => Some(unquote(cell).into()),
        plain => Some(plain.into()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Among bytes that differ from it in one bit.
        #[test]
        fn the_first_comma_is_found(text in prop::collection::vec(prop::sample::select(&b"a,-+\x00\x2b\xac\x2d\x0c"[..]), 0..30)) {
            prop_assert_eq!(comma(&text), text.iter().position(|byte| *byte == b','));
        }
    }
}
