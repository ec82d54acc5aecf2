//! Scans a raw file and converts it to text with the quotes and line endings of `to_csv`, in one pass.
//!
//! - Chunks are passed on unchanged until a row differs from the output of `to_csv`. This row and all later rows are copied
//!   cell by cell.
//! - Cells are not changed, because their types are known only at the end of the file. A second pass may format them.

use std::collections::{BTreeSet, VecDeque};

use memchr::memchr;

use crate::pandas::read::rows::{RawRow, RowReader, RowSink, Shape};
use crate::pandas::read::scan::TypeScanner;
use crate::pandas::stored::projection::{Projection, ProjectionBuilder};
use crate::pandas::stored::table::{IndexRecorder, RowIndex};
use crate::pandas::write::push_header;
use crate::pandas::{CsvError, CsvScan, ReadOptions};

/// Number of bytes after which copied rows are passed on. One more row usually fits into the buffer of 256 KiB.
const FLUSH_BYTES: usize = (1 << 18) - (1 << 12);
/// At most this number of buffers is kept for reuse.
const MAX_SPARE_BUFFERS: usize = 1;

/// The kind of text that a [`Rewriter`] produced.
#[derive(Debug, Clone)]
pub enum RewriteResult {
    /// Canonical text.
    Canonical(CsvScan),
    /// Text with some cells that pandas would format differently. [`normalise`](crate::pandas::normalise) formats these
    /// cells.
    Cells(CsvScan, ReadOptions),
    /// Same as [`Self::Cells`], but the text cannot be split into rows again. Call `normalise` on the raw file.
    Unreadable(CsvScan),
}

impl RewriteResult {
    /// Returns columns, types and number of rows.
    #[must_use]
    pub fn into_scan(self) -> CsvScan {
        match self {
            Self::Canonical(scan) | Self::Cells(scan, _) | Self::Unreadable(scan) => scan,
        }
    }
}

/// Scans a CSV file chunk by chunk, and returns its text with the quotes and line endings of `to_csv`. Keeps the longest row
/// and a few chunks in memory.
pub struct Rewriter {
    options: ReadOptions,
    rows: RowReader,
    sink: ScanSink,
    /// Chunks of the file that may be returned unchanged.
    pending: VecDeque<Vec<u8>>,
    /// Offset of the first pending chunk in the file.
    from: u64,
    /// The next chunks of the returned text.
    ready: VecDeque<Vec<u8>>,
}

impl Rewriter {
    /// Creates a rewriter for a new file.
    #[must_use]
    pub fn new(options: &ReadOptions) -> Self {
        Self {
            options: options.clone(),
            rows: RowReader::new(options),
            sink: ScanSink {
                inspector: TypeScanner::new(options),
                text: RewrittenText::new(options),
            },
            pending: VecDeque::new(),
            from: 0,
            ready: VecDeque::new(),
        }
    }

    /// Also collects the columns with these `names`, for [`take_projection`](Self::take_projection).
    #[must_use]
    pub fn with_projection(mut self, names: BTreeSet<String>) -> Self {
        self.sink.text.projection = ProjectionBuilder::new(names);
        self
    }

    /// Adds the next chunk of the file, which may end anywhere.
    ///
    /// # Errors
    /// [`CsvError`] at the first position where pandas rejects the file.
    pub fn feed(&mut self, chunk: Vec<u8>) -> Result<(), CsvError> {
        self.rows.feed(&chunk, &mut self.sink)?;
        match self.sink.text.is_unchanged || self.from < self.sink.text.unchanged_bytes {
            true => self.pending.push_back(chunk),
            false => self.recycle(chunk),
        }
        self.release_chunks();
        Ok(())
    }

    /// Returns the next chunk of the text, if one is ready.
    pub fn take_chunk(&mut self) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }

    /// Takes a buffer for reuse.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.sink.text.spare.push(buffer);
    }

    /// Returns a buffer that is not needed for reuse, if any.
    pub fn surplus_buffer(&mut self) -> Option<Vec<u8>> {
        let spare = &mut self.sink.text.spare;
        let has_more = spare.len() > MAX_SPARE_BUFFERS;
        has_more.then(|| spare.pop()).flatten()
    }

    /// Ends the file. [`take_chunk`](Self::take_chunk) returns the last chunks of the text afterwards.
    ///
    /// # Errors
    /// Same as [`feed`](Self::feed), and [`CsvError::UnclosedQuote`] if a quote is never closed.
    pub fn finish(&mut self) -> Result<RewriteResult, CsvError> {
        self.rows.finish(&mut self.sink)?;
        // The file may end with empty lines, which are not part of the text.
        self.sink.text.is_unchanged = false;
        self.sink.text.flush_rows();
        self.release_chunks();
        let mut scan = self.sink.inspector.finish(self.rows.rows());
        Ok(match scan.is_canonical {
            true => RewriteResult::Canonical(scan),
            false if !self.sink.text.is_readable => RewriteResult::Unreadable(scan),
            false => {
                scan.index_columns = 0;
                let options = ReadOptions {
                    delimiter: b',',
                    header: true,
                    ..self.options.clone()
                };
                RewriteResult::Cells(scan, options)
            }
        })
    }

    /// Returns the offsets of the rows of the text, including the header, or `None` if there are too many rows.
    ///
    /// Must be called after [`finish`](Self::finish).
    pub fn take_index(&mut self) -> Option<RowIndex> {
        let end = self.sink.text.end();
        self.sink.text.index.take(end)
    }

    /// Returns the columns that [`with_projection`](Self::with_projection) selected, or `None` if these columns are too large
    /// a part of the text to be kept in memory.
    ///
    /// Must be called after [`finish`](Self::finish).
    pub fn take_projection(&mut self) -> Option<Projection> {
        self.sink.text.projection.take()
    }

    /// Moves to `ready` the chunks that are certainly part of the text. The copied rows in `written` stay there.
    fn release_chunks(&mut self) {
        let unchanged = self.sink.text.unchanged_bytes;
        while let Some(chunk) = self.pending.front() {
            let end = self.from + chunk.len() as u64;
            if end > unchanged && self.sink.text.is_unchanged {
                return;
            }
            let Some(mut chunk) = self.pending.pop_front() else {
                break;
            };
            let length = usize::try_from(unchanged.saturating_sub(self.from)).unwrap_or(usize::MAX);
            chunk.truncate(length);
            self.from = end;
            match chunk.is_empty() {
                true => self.recycle(chunk),
                false => self.ready.push_back(chunk),
            }
        }
        self.ready.append(&mut self.sink.text.full);
    }
}

/// Infers types and writes the text, row by row.
struct ScanSink {
    inspector: TypeScanner,
    text: RewrittenText,
}

impl RowSink for ScanSink {
    fn header(&mut self, row: &RawRow<'_>) -> Result<(), CsvError> {
        if row.offset == 0 && row.ends_in_lf {
            self.text.header = row.text().to_vec();
        }
        self.inspector.header(row)
    }

    fn shape(&mut self, shape: Shape) -> Result<(), CsvError> {
        self.inspector.shape(shape)?;
        self.text.projection.start(self.inspector.names())?;
        self.text.start(shape.index, self.inspector.names())
    }

    fn row(&mut self, row: &RawRow<'_>) -> Result<(), CsvError> {
        self.inspector.row(row)?;
        self.text.row(row)
    }
}

/// The text of a rewritten file: an unchanged part at the beginning, then copied rows.
struct RewrittenText {
    /// The header line of the file. Empty if the line certainly differs from the output of `to_csv`.
    header: Vec<u8>,
    /// Whether the delimiter is a comma.
    has_commas: bool,
    /// Number of index columns at the left of the file, which are not columns of the table.
    skipped: usize,
    /// Number of columns of the table.
    width: usize,
    /// Whether all rows so far are unchanged.
    is_unchanged: bool,
    /// Number of unchanged bytes at the beginning of the file.
    unchanged_bytes: u64,
    /// Number of bytes in copied rows, except those in `written`.
    flushed_bytes: u64,
    /// Buffers with copied rows.
    full: VecDeque<Vec<u8>>,
    /// The copied rows that are not in `full` yet.
    written: Vec<u8>,
    /// Buffers for reuse.
    spare: Vec<Vec<u8>>,
    index: IndexRecorder,
    projection: ProjectionBuilder,
    /// Whether the text can be split into rows again.
    is_readable: bool,
}

impl RewrittenText {
    fn new(options: &ReadOptions) -> Self {
        let has_commas = options.delimiter == b',';
        Self {
            header: Vec::new(),
            has_commas,
            skipped: 0,
            width: 0,
            is_unchanged: has_commas,
            unchanged_bytes: 0,
            flushed_bytes: 0,
            full: VecDeque::new(),
            written: Vec::new(),
            spare: Vec::new(),
            index: IndexRecorder::begin(),
            projection: ProjectionBuilder::default(),
            is_readable: true,
        }
    }

    /// Returns the length of the text so far.
    fn end(&self) -> u64 {
        self.unchanged_bytes + self.flushed_bytes + self.written.len() as u64
    }

    /// Writes the header with these names.
    fn start<'a>(
        &mut self,
        skipped: usize,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<(), CsvError> {
        self.index.push(self.end())?;
        self.skipped = skipped;
        let mut header = Vec::new();
        self.width = push_header(&mut header, names);
        match self.is_unchanged && header == self.header {
            true => self.unchanged_bytes = header.len() as u64,
            false => {
                self.is_unchanged = false;
                self.written = header;
            }
        }
        self.header = Vec::new();
        // In a table with one column, a row with an empty cell would be an empty line, which readers skip.
        self.is_readable = self.width > 1;
        Ok(())
    }

    fn row(&mut self, row: &RawRow<'_>) -> Result<(), CsvError> {
        let is_canonical =
            self.has_commas && row.ends_in_lf && self.skipped == 0 && row.is_minimal(self.width);
        let end = self.end();
        self.index.push(end)?;
        self.projection.row(row, self.skipped, end)?;
        if self.is_unchanged {
            if is_canonical && row.offset == self.unchanged_bytes {
                self.unchanged_bytes += row.text().len() as u64;
                return Ok(());
            }
            self.is_unchanged = false;
        }
        if self.written.len() >= FLUSH_BYTES {
            self.flush_rows();
        }
        if is_canonical {
            self.written.extend_from_slice(row.text());
            return Ok(());
        }
        let start = self.written.len();
        row.push_row(self.skipped..self.skipped + self.width, &mut self.written);
        let line = self.written.get(start..).unwrap_or_default();
        self.is_readable = self.is_readable && memchr(b'\r', line).is_none();
        Ok(())
    }

    /// Moves the copied rows to `full`.
    fn flush_rows(&mut self) {
        if self.written.is_empty() {
            return;
        }
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        let written = std::mem::replace(&mut self.written, buffer);
        self.flushed_bytes += written.len() as u64;
        self.full.push_back(written);
    }
}

#[cfg(test)]
impl Rewriter {
    /// Rewrites an entire file in chunks of `chunk` bytes.
    pub(in crate::pandas) fn text_of(
        &mut self,
        raw: &[u8],
        chunk: usize,
    ) -> Result<(Vec<u8>, RewriteResult), CsvError> {
        let mut text = Vec::new();
        for chunk in raw.chunks(chunk) {
            self.feed(chunk.to_vec())?;
            text.extend(std::iter::from_fn(|| self.take_chunk()).flatten());
        }
        let rewritten = self.finish()?;
        text.extend(std::iter::from_fn(|| self.take_chunk()).flatten());
        Ok((text, rewritten))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pandas::stored::table::Indexer;

    proptest! {
        /// The recorded index equals an index of the text, whether rows were unchanged, copied, or both.
        #[test]
        fn recorded_index_equals_index_of_the_text(
            unchanged in 0..40usize,
            rows in prop::collection::vec(r#"[a-z0-9]{0,5},("[a-z,]{0,9}"|"x\ny"|"a""b"|[a-z]{1,40})(\n|\r\n|\n\n)"#, 0..40),
            chunk in 1..200usize,
        ) {
            let raw = format!("a,b\n{}{}", "1,\"x,\ny\"\n".repeat(unchanged), rows.concat());
            let mut rewriter = Rewriter::new(&ReadOptions::default());
            let (text, rewritten) = rewriter.text_of(raw.as_bytes(), chunk)?;
            let rows = usize::try_from(rewritten.into_scan().schema.rows)?;
            let mut expected = Indexer::new(rows);
            expected.feed(&text)?;
            let expected = expected.finish()?;
            let Some(index) = rewriter.take_index() else {
                return Err(TestCaseError::fail("this number of rows must have an index"));
            };
            prop_assert_eq!(index.len(), rows + 1);
            prop_assert_eq!(index.end(), text.len() as u64);
            for row in 0..index.len() {
                prop_assert_eq!(index.span(row), expected.span(row));
            }
        }
    }
}
