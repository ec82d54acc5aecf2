//! Opens stored tables: canonical text with a schema, accessed by rows and cells.

use std::hint::black_box;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use memchr::{memchr, memchr2};
use memmap2::Mmap;

use crate::pandas::read::tokens::unquote;
use crate::pandas::{CsvError, Schema};

/// Number of bytes that are scanned before their pages are released.
const WINDOW_BYTES: usize = 8 << 20;

/// A row with at least this number of bytes is long. Reading it takes longer than loading its pages again.
const LONG_ROW_BYTES: u64 = 1 << 13;

/// Number of rows or cells that are prefetched before the first of them is read.
pub const PREFETCH_ROWS: usize = 32;

/// One access adds at most this number of bytes to the mapped memory, because the system maps up to a large page around
/// the accessed byte.
const MAPPED_AROUND_BYTES: u64 = 1 << 21;

/// The text of a table.
enum Bytes {
    Owned(Vec<u8>),
    /// Anonymous pages, and the length of the text at their beginning.
    Pages(Mmap, usize),
    Mapped(Mapped),
}

/// The text of a table in a memory-mapped file.
///
/// Implementors must guarantee that the bytes do not change.
pub trait MappedText: Send + Sync {
    /// Returns the text.
    fn bytes(&self) -> &[u8];

    /// Allows the system to remove a range from memory. A later access loads the same bytes.
    fn release(&self, part: Range<usize>);
}

/// Text in a mapped file. Counts the memory that random lookups may have loaded.
struct Mapped {
    map: Box<dyn MappedText>,
    /// Number of bytes that random lookups may keep in memory.
    room: u64,
    /// Upper bound for the number of bytes in memory.
    touched: AtomicU64,
}

impl Mapped {
    /// Counts `rows` random lookups. Returns whether the lookups may have exceeded `room`.
    fn is_full_after(&self, rows: u64) -> bool {
        if self.map.bytes().len() as u64 <= self.room {
            return false;
        }
        let more = rows.saturating_mul(MAPPED_AROUND_BYTES);
        let touched = self.touched.fetch_add(more, Ordering::Relaxed) + more;
        let is_full = touched > self.room;
        if is_full {
            self.touched.store(0, Ordering::Relaxed);
        }
        is_full
    }
}

impl Bytes {
    fn text(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Pages(pages, len) => pages.get(..*len).unwrap_or_default(),
            Self::Mapped(mapped) => mapped.map.bytes(),
        }
    }

    fn release(&self, from: usize, to: usize) {
        if let Self::Mapped(Mapped { map, .. }) = self {
            map.release(from..to);
        }
    }
}

const CACHE_LINE_BYTES: usize = 64;

/// At most this number of bytes of a row is prefetched. The processor prefetches the rest by itself.
const MAX_PREFETCH_BYTES: usize = 8 * CACHE_LINE_BYTES;

/// Starts to load bytes that are needed soon, without waiting for them.
#[inline]
fn prefetch(text: &[u8]) {
    let text = text.get(..MAX_PREFETCH_BYTES).unwrap_or(text);
    // The last byte may be in another cache line, because the text may begin anywhere in a line.
    for byte in text.iter().step_by(CACHE_LINE_BYTES).chain(text.last()) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a prefetch is a hint without visible effects, for any address. It is part of SSE, which every
            // x86-64 processor has.
            #[allow(unsafe_code, reason = "the SAFETY comment explains why it is sound")]
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast());
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        black_box(*byte);
    }
}

/// The text of a table, and the offsets of its lines. Tables with different schemas can share both.
struct Lines {
    bytes: Bytes,
    index: RowIndex,
}

/// A table: canonical text, its schema, and the offsets of its rows (at most 5 bytes per row).
pub struct TextTable {
    schema: Schema,
    lines: Arc<Lines>,
}

impl TextTable {
    /// Opens a table in a mapped file. Random lookups keep up to `room` bytes of the file in memory.
    ///
    /// If `index` is `None`, the entire text is read to find the rows.
    ///
    /// # Errors
    /// [`CsvError::NotCanonical`] if the number of rows is not that of the schema.
    pub fn open(
        text: impl MappedText + 'static,
        schema: Schema,
        room: u64,
        index: Option<RowIndex>,
    ) -> Result<Self, CsvError> {
        let bytes = Bytes::Mapped(Mapped {
            map: Box::new(text),
            room,
            touched: AtomicU64::new(0),
        });
        Self::new(bytes, schema, index)
    }

    /// Opens a table in the first `len` bytes of anonymous pages. Reads the entire text if `index` does not match the text.
    ///
    /// # Errors
    /// [`CsvError::NotCanonical`] if the number of rows is not that of the schema.
    pub fn from_pages(
        pages: Mmap,
        len: usize,
        schema: Schema,
        index: RowIndex,
    ) -> Result<Self, CsvError> {
        Self::new(Bytes::Pages(pages, len), schema, Some(index))
    }

    /// Opens a table in memory.
    ///
    /// # Errors
    /// [`CsvError::NotCanonical`] if the number of rows is not that of the schema.
    pub fn from_bytes(bytes: Vec<u8>, schema: Schema) -> Result<Self, CsvError> {
        Self::new(Bytes::Owned(bytes), schema, None)
    }

    pub(crate) fn from_indexed(
        bytes: Vec<u8>,
        schema: Schema,
        index: RowIndex,
    ) -> Result<Self, CsvError> {
        Self::new(Bytes::Owned(bytes), schema, Some(index))
    }

    fn new(bytes: Bytes, schema: Schema, index: Option<RowIndex>) -> Result<Self, CsvError> {
        if let Some(index) = index.filter(|index| index.end() == bytes.text().len() as u64) {
            let lines = Arc::new(Lines { bytes, index });
            return Self { schema, lines }.validate();
        }
        let rows = usize::try_from(schema.rows).unwrap_or(0);
        let mut indexer = Indexer::new(rows.min(bytes.text().len()));
        let mut from = 0;
        for window in bytes.text().chunks(WINDOW_BYTES) {
            indexer.feed(window)?;
            bytes.release(from, from + window.len());
            from += window.len();
        }
        let index = indexer.finish()?;
        let lines = Arc::new(Lines { bytes, index });
        Self { schema, lines }.validate()
    }

    /// Returns a table with the same text, which is not copied, and a different schema.
    ///
    /// # Errors
    /// [`CsvError::NotCanonical`] if the number of rows is not that of the schema.
    pub fn with_schema(&self, schema: Schema) -> Result<Self, CsvError> {
        let lines = Arc::clone(&self.lines);
        Self { schema, lines }.validate()
    }

    /// Checks that the number of rows is that of the schema.
    fn validate(self) -> Result<Self, CsvError> {
        let rows = self.lines.index.len() as u64;
        if rows != self.schema.rows + 1 {
            return Err(CsvError::NotCanonical {
                row: rows.saturating_sub(1),
                offset: self.text().len() as u64,
                rule: format!(
                    "the text has {rows} lines, but the schema requires a header and {} rows",
                    self.schema.rows
                ),
            });
        }
        Ok(self)
    }

    /// Returns whether the text is in memory instead of a mapped file.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        !matches!(self.lines.bytes, Bytes::Mapped(_))
    }

    /// Returns the memory of the row offsets in bytes.
    #[must_use]
    pub fn index_bytes(&self) -> u64 {
        self.lines.index.bytes()
    }

    /// Returns the columns and the number of rows.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the text, including the header.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        self.lines.bytes.text()
    }

    /// Returns the header line, including its LF.
    #[must_use]
    pub fn header(&self) -> &[u8] {
        self.line(0).unwrap_or_default()
    }

    /// Returns the bytes of a row, including its LF. Rows are counted from 0.
    pub fn row(&self, row: u64) -> Result<&[u8], CsvError> {
        let line = usize::try_from(row)
            .ok()
            .and_then(|row| self.line(row.checked_add(1)?));
        line.ok_or(CsvError::NoSuchRow {
            row,
            rows: self.schema.rows,
        })
    }

    /// Prefetches rows: first the offsets of all rows, then their text. The processor loads all rows in parallel.
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

    /// Returns a line including its LF. Line 0 is the header.
    fn line(&self, line: usize) -> Option<&[u8]> {
        let (start, end) = self.lines.index.span(line)?;
        self.text()
            .get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }

    /// Returns the offset of a row in the text. For a row beyond the last one, returns the length of the text.
    pub(crate) fn offset(&self, row: u64) -> u64 {
        let span = usize::try_from(row)
            .ok()
            .and_then(|row| self.lines.index.span(row + 1));
        span.map_or(self.text().len() as u64, |(start, _)| start)
    }

    /// Iterates over the cells of a row, including their quotes.
    pub fn cells(&self, row: u64) -> Result<Cells<'_>, CsvError> {
        Ok(Cells::new(self.row(row)?))
    }

    /// Records random lookups of `rows` rows with `bytes` bytes in total.
    ///
    /// Releases the memory of mapped text if lookups may have loaded more bytes than the `room` of [`open`](Self::open). Also
    /// releases it if rows are long, because loading them again takes less time than reading them.
    pub fn record_lookups(&self, rows: u64, bytes: u64) {
        let are_long = bytes / rows.max(1) >= LONG_ROW_BYTES;
        let is_full = matches!(&self.lines.bytes, Bytes::Mapped(map) if map.is_full_after(rows));
        if are_long || is_full {
            self.release(0, self.text().len());
        }
    }

    /// Allows the system to remove a range of mapped text from memory.
    pub(crate) fn release(&self, from: usize, to: usize) {
        self.lines.bytes.release(from, to);
    }
}

/// Iterates over the cells of one row of canonical text, including their quotes.
#[derive(Debug, Clone)]
pub struct Cells<'a> {
    /// The line from the next cell on, or `None` at the end.
    rest: Option<&'a [u8]>,
    /// Number of cells that remain. If it is unknown, a larger number.
    left: usize,
}

impl<'a> Cells<'a> {
    /// Splits a line with or without its LF.
    #[must_use]
    pub fn new(line: &'a [u8]) -> Self {
        Self::split_line(line, usize::MAX)
    }

    /// Splits a line of `count` cells. The last cell is the rest of the line.
    pub(crate) fn split_line(line: &'a [u8], count: usize) -> Self {
        Self {
            rest: Some(line.strip_suffix(b"\n").unwrap_or(line)),
            left: count,
        }
    }
}

/// Finds the first comma. Checking the first eight bytes as one integer is faster than `memchr` for short cells.
///
/// An XOR turns commas into 0. If 1 is subtracted from each byte, the lowest byte that borrows is the first 0.
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
            // A doubled quote ends a quoted part and begins the next one.
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

/// Returns the content of a cell without its quotes, or `None` if the cell is missing.
#[must_use]
pub fn cell_content(cell: &[u8]) -> Option<std::borrow::Cow<'_, [u8]>> {
    match cell {
        b"" | b"\"\"" => None,
        [b'"', ..] => Some(unquote(cell).into()),
        plain => Some(plain.into()),
    }
}

/// Number of rows that share a 64-bit base offset.
const GROUP_ROWS: usize = 16;

/// The offsets of rows are recorded for tables with up to this number of rows. The rows of a larger table are found
/// when the table is opened.
const MAX_RECORDED_ROWS: usize = 1 << 22;

/// Offsets of rows: four bytes each, plus eight for every 16 rows.
#[derive(Debug, Default)]
pub struct RowIndex {
    /// Offset of the first row of each group of [`GROUP_ROWS`] rows.
    bases: Vec<u64>,
    /// Offset of each row, relative to the offset of its group.
    deltas: Vec<u32>,
    /// Offset at which the last row ends.
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

    /// Returns the number of rows, including the header, which is row 0 of the index.
    pub(crate) fn len(&self) -> usize {
        self.deltas.len()
    }

    /// Returns the memory of the offsets in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.bases.len() * size_of::<u64>() + self.deltas.len() * size_of::<u32>()) as u64
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Sets the end of the last row, and frees unused memory.
    fn close(&mut self, end: u64) {
        self.end = end;
        self.bases.shrink_to_fit();
        self.deltas.shrink_to_fit();
    }

    /// Loads the entries of `row` into the CPU cache. The returned number keeps the compiler from removing the reads.
    pub(crate) fn touch(&self, row: usize) -> u64 {
        let base = self.bases.get(row / GROUP_ROWS).copied();
        base.unwrap_or(0) ^ u64::from(self.deltas.get(row).copied().unwrap_or(0))
    }

    /// Returns the offsets at which a row begins and ends.
    pub(crate) fn span(&self, row: usize) -> Option<(u64, u64)> {
        let start = self.start(row)?;
        Some((start, self.start(row + 1).unwrap_or(self.end)))
    }

    fn start(&self, row: usize) -> Option<u64> {
        Some(self.bases.get(row / GROUP_ROWS)? + u64::from(*self.deltas.get(row)?))
    }

    /// Adds a row that begins at `start`.
    fn push(&mut self, start: u64) -> Result<(), CsvError> {
        let row = self.deltas.len();
        if row.is_multiple_of(GROUP_ROWS) {
            self.bases.push(start);
        }
        let base = self.bases.last().copied().unwrap_or(0);
        let delta = u32::try_from(start - base).map_err(|_| CsvError::NotCanonical {
            row: row as u64,
            offset: start,
            rule: format!("{GROUP_ROWS} consecutive rows must not take more than 4 GiB"),
        })?;
        self.deltas.push(delta);
        Ok(())
    }
}

/// Records the offsets of rows while they are written. Records nothing if disabled, or if there are too many rows.
#[derive(Debug, Default)]
pub(crate) struct IndexRecorder(Option<RowIndex>);

impl IndexRecorder {
    /// Starts recording. Reserves memory for the maximum number of rows: untouched pages take no memory, but growing a
    /// vector would take three times its size.
    pub fn begin() -> Self {
        Self(Some(RowIndex::with_capacity(MAX_RECORDED_ROWS)))
    }

    /// Records a row that begins at `start`.
    pub fn push(&mut self, start: u64) -> Result<(), CsvError> {
        if let Some(index) = &mut self.0 {
            index.push(start)?;
        }
        self.0.take_if(|index| index.len() > MAX_RECORDED_ROWS);
        Ok(())
    }

    /// Ends recording. Returns the offsets of the rows, of which the last one ends at `end`.
    pub fn take(&mut self, end: u64) -> Option<RowIndex> {
        let mut index = self.0.take()?;
        index.close(end);
        Some(index)
    }
}

/// Finds the rows of canonical text, chunk by chunk.
#[derive(Debug, Default)]
pub(crate) struct Indexer {
    index: RowIndex,
    /// Offset of the next chunk.
    offset: u64,
    /// Whether the next byte is inside quotes.
    quoted: bool,
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

    /// Adds the next chunk. Only an LF outside quotes ends a row: an even number of quotes precedes it.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Bytes that differ from a comma in one bit are not treated as commas.
        #[test]
        fn comma_equals_a_bytewise_search(text in prop::collection::vec(prop::sample::select(&b"a,-+\x00\x2b\xac\x2d\x0c"[..]), 0..30)) {
            prop_assert_eq!(comma(&text), text.iter().position(|byte| *byte == b','));
        }
    }
}
