//! Splits a stream of raw bytes into rows, with pandas' rules for empty lines, rows of different length, and blocks.
//!
//! - If the first row has `k` fields more than the header, the first `k` columns become the index of the frame.
//! - pandas reads blocks of rows. If the first row of a block has more fields than the rows before it, the surplus
//!   fields are dropped. Surplus fields in any other row are an error.
//! - One mistake of pandas is not reproduced: it reads some rows repeatedly if rows end with CR and a row begins with a
//!   space.

use std::borrow::Cow;
use std::io::Read;

use memchr::{memchr, memchr2};

use crate::pandas::read::content::Chunks;
use crate::pandas::read::tokens::{Field, FieldForm, RowEnd, split_row};
use crate::pandas::write::{end_line, push_minimal};
use crate::pandas::{CsvError, ReadOptions};

/// A row with more bytes is an error.
pub const MAX_ROW_BYTES: usize = 1 << 28;

/// A header with more bytes is an error, because each name is copied about 20 times, into schemas, queries and
/// messages.
pub const MAX_HEADER_BYTES: usize = 1 << 22;

/// A row with more fields is an error, because each column takes 1,500 bytes in the steps of a pipeline.
pub const MAX_COLUMNS: usize = 1 << 18;

/// All short rows together may lack this number of fields, plus one field for each byte of the file.
const MAX_MISSING: u64 = 1 << 26;

/// A row of a raw file.
pub(crate) struct RawRow<'a> {
    /// The bytes of the row, including its line ending.
    text: &'a [u8],
    /// The fields, whose number may differ from the number of columns.
    pub fields: &'a [Field],
    /// Whether the row may contain a NUL byte, at which pandas ends a field.
    nul: bool,
    /// Whether the row may contain a quote.
    quotes: bool,
    /// Number of the row, counted from 0 without the header.
    pub number: u64,
    /// Offset of the row in the file, in bytes.
    pub offset: u64,
    /// Whether the row ends with LF without CR.
    pub ends_in_lf: bool,
}

impl<'a> RawRow<'a> {
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Returns the fields `skipped..skipped + count`, or `None` if the row is shorter or contains quotes or NUL bytes.
    #[inline]
    pub fn plain(&self, skipped: usize, count: usize) -> Option<impl Iterator<Item = &'a [u8]>> {
        let text = self.text;
        let fields = self.fields.get(skipped..skipped + count);
        let fields = fields.filter(|_| !self.nul && !self.quotes)?;
        Some(fields.iter().map(|field| field.raw(text)))
    }

    /// Returns whether the row certainly consists of `count` non-negative integers below 1e18 in Python's format.
    pub fn is_of_integers(&self, count: usize) -> bool {
        if self.fields.len() != count || self.nul || self.quotes {
            return false;
        }
        let (mut inside, mut are_plain) = (0, true);
        for field in self.fields {
            let length = field.end.wrapping_sub(field.start);
            inside += length as usize;
            let first = self.text.get(field.start as usize);
            are_plain &= (1..=18).contains(&length) & ((first != Some(&b'0')) | (length == 1));
        }
        // If the delimiter is a digit, there are too many digits, and the check returns `false`.
        are_plain && digits(self.text) == inside
    }

    /// Returns the content of the field `index`, or empty content if the row is too short.
    #[inline]
    pub fn content(&self, index: usize) -> Cow<'a, [u8]> {
        match self.fields.get(index) {
            Some(field) if field.form == FieldForm::Plain && !self.nul => {
                Cow::Borrowed(field.raw(self.text))
            }
            Some(field) => self.unusual_content(field),
            None => Cow::Borrowed(b""),
        }
    }

    /// Returns the contents of all fields.
    pub fn texts(&self) -> Vec<String> {
        let text = |index| String::from_utf8_lossy(&self.content(index)).into_owned();
        (0..self.fields.len()).map(text).collect()
    }

    /// Returns the content of a field with quotes or NUL bytes.
    #[inline(never)]
    fn unusual_content(&self, field: &Field) -> Cow<'a, [u8]> {
        let content = field.content(self.text);
        if !self.nul {
            return content;
        }
        match (memchr(0, &content), content) {
            (None, content) => content,
            (Some(at), Cow::Borrowed(content)) => Cow::Borrowed(&content[..at]),
            (Some(at), Cow::Owned(mut content)) => {
                content.truncate(at);
                Cow::Owned(content)
            }
        }
    }

    /// Returns whether the row has `width` fields, with the quotes that `to_csv` would write.
    #[inline]
    pub fn is_minimal(&self, width: usize) -> bool {
        self.fields.len() == width
            && !self.nul
            && (!self.quotes
                || self
                    .fields
                    .iter()
                    .all(|field| self.has_minimal_quotes(field)))
    }

    /// Returns whether `to_csv` would write the field with the same quotes.
    fn has_minimal_quotes(&self, field: &Field) -> bool {
        match field.form {
            FieldForm::Plain => memchr(b'"', field.raw(self.text)).is_none(),
            FieldForm::Quoted => {
                let content = field.content(self.text);
                memchr2(b',', b'\n', &content).is_some()
                    || (content.is_empty() && self.fields.len() == 1)
            }
            FieldForm::Doubled => true,
            FieldForm::Trailing => false,
        }
    }

    /// Appends a field with the quotes that `to_csv` would write.
    fn push_minimal(&self, index: usize, out: &mut Vec<u8>) {
        let doubled = |field: &&Field| field.form == FieldForm::Doubled && !self.nul;
        match self.fields.get(index).filter(doubled) {
            // The field contains quotes, so `to_csv` encloses it in quotes.
            Some(field) => out.extend_from_slice(field.raw(self.text)),
            None => push_minimal(out, &self.content(index), b','),
        }
    }

    /// Appends the fields with these indices as a line, as `to_csv` would write them.
    pub fn push_row(&self, fields: impl Iterator<Item = usize>, out: &mut Vec<u8>) {
        let (start, mut count) = (out.len(), 0);
        for field in fields {
            if count > 0 {
                out.push(b',');
            }
            self.push_minimal(field, out);
            count += 1;
        }
        end_line(out, start, count);
    }

    /// Returns whether the field `index` certainly contains a quote, without reading its content.
    #[inline]
    pub fn surely_contains_quote(&self, index: usize) -> bool {
        let field = self.fields.get(index);
        !self.nul && field.is_some_and(|field| field.form == FieldForm::Doubled)
    }
}

/// Counts the digits in `text`. The compiler turns the inner loop into vector instructions.
fn digits(text: &[u8]) -> usize {
    let is_digit = |byte: &u8| u8::from(byte.wrapping_sub(b'0') < 10);
    let chunks = text.chunks(128);
    let counts = chunks.map(|chunk| usize::from(chunk.iter().map(is_digit).sum::<u8>()));
    counts.sum()
}

/// Returns the number of bytes at the beginning of `text` that are ASCII and not NUL, rounded down to a multiple of 256. The
/// inner loop is vectorized.
fn plain_length(text: &[u8]) -> usize {
    let is_plain = |chunk: &&[u8; 256]| {
        let bits = chunk
            .iter()
            .fold(0, |all, byte| all | byte | byte.wrapping_sub(1));
        bits < 0x80
    };
    let (chunks, _) = text.as_chunks::<256>();
    256 * chunks.iter().take_while(is_plain).count()
}

/// The shape of a table, which follows from the header and the first row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Number of fields in a row, including index columns.
    pub width: usize,
    /// Number of columns at the left that form an index without names.
    pub index: usize,
    /// Number of rows in a block.
    pub block: u64,
}

impl Shape {
    /// Returns the shape of a table whose header has `header` fields, and whose first row has `first` fields.
    fn new(header: usize, first: usize) -> Self {
        let width = header.max(first);
        Self {
            width,
            index: width - header,
            block: block_rows(width),
        }
    }
}

/// Returns the number of rows in a block: the largest power of two below `2^20 / columns`.
fn block_rows(columns: usize) -> u64 {
    let heuristic = (1u64 << 20) / (columns.max(1) as u64);
    let mut rows = 1;
    while rows * 2 < heuristic {
        rows *= 2;
    }
    rows
}

/// Receives the rows of a file.
pub(crate) trait RowSink {
    /// Receives the header, if the file has one.
    fn header(&mut self, _row: &RawRow<'_>) -> Result<(), CsvError> {
        Ok(())
    }
    /// Receives the shape before the first data row, or at the end of a file without rows.
    fn shape(&mut self, _shape: Shape) -> Result<(), CsvError> {
        Ok(())
    }
    /// Receives a row. The row may have fewer fields than the table has columns.
    fn row(&mut self, row: &RawRow<'_>) -> Result<(), CsvError>;
}

/// Splits chunks of a file into rows, and passes the rows to a [`RowSink`].
pub(crate) struct RowReader {
    delimiter: u8,
    /// Whether the first row is a header.
    wants_header: bool,
    /// The beginning of a row that continues in the next chunk.
    carry: Vec<u8>,
    /// Length of `carry` at which the row in `carry` is parsed again. This length is doubled each time, so that the time for
    /// a long row is linear.
    retry: usize,
    fields: Vec<Field>,
    /// Offset in the file of the first byte that was not read as part of a row.
    offset: u64,
    /// Whether the beginning of the file was checked for a byte order mark.
    seen_start: bool,
    /// Number of fields in the header, if it was read.
    header: Option<usize>,
    shape: Option<Shape>,
    /// Number of fields of the previous row, including the missing fields that pandas adds to a short row.
    before: usize,
    rows: u64,
    /// Total number of fields that the rows so far lack.
    missing: u64,
}

impl RowReader {
    pub fn new(options: &ReadOptions) -> Self {
        Self {
            delimiter: options.delimiter,
            wants_header: options.header,
            carry: Vec::new(),
            retry: 0,
            fields: Vec::new(),
            offset: 0,
            seen_start: false,
            header: None,
            shape: None,
            before: 0,
            rows: 0,
            missing: 0,
        }
    }

    /// Returns the number of rows so far, without the header.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds the next chunk of the file, which may end anywhere.
    pub fn feed(&mut self, chunk: &[u8], sink: &mut impl RowSink) -> Result<(), CsvError> {
        let mut at = 0;
        let mut carried = self.carry.len();
        // Completes, in `carry`, the row that began in an earlier chunk. The rest of the chunk is parsed in place.
        while carried > 0 {
            if at == chunk.len() {
                return self.check_length();
            }
            let step = (chunk.len() - at).min(self.carry.len().max(1 << 12));
            self.carry.extend_from_slice(&chunk[at..at + step]);
            at += step;
            if self.carry.len() < self.retry {
                continue;
            }
            let mut carry = std::mem::take(&mut self.carry);
            let used = self.run(&carry, false, sink)?;
            if used >= carried {
                at -= carry.len() - used;
                carry.clear();
                carried = 0;
            } else {
                carry.drain(..used);
                carried -= used;
                self.retry = carry.len().saturating_mul(2);
            }
            self.carry = carry;
        }
        let used = self.run(&chunk[at..], false, sink)?;
        self.keep(&chunk[at + used..])
    }

    /// Reads `input` to its end, or until `enough` returns true.
    pub fn read<S: RowSink>(
        &mut self,
        mut input: impl Read,
        sink: &mut S,
        enough: impl Fn(&S) -> bool,
    ) -> Result<(), CsvError> {
        let mut chunks = Chunks::default();
        while !enough(sink) {
            match chunks.next(&mut input)? {
                Some(chunk) => self.feed(chunk, sink)?,
                None => return self.finish(sink),
            }
        }
        Ok(())
    }

    /// Keeps the beginning of a row for the next chunk.
    fn keep(&mut self, rest: &[u8]) -> Result<(), CsvError> {
        self.carry.clear();
        self.carry.extend_from_slice(rest);
        self.retry = rest.len() * 2;
        self.check_length()
    }

    fn check_length(&self) -> Result<(), CsvError> {
        self.check_row(self.carry.len(), self.offset)
    }

    /// Rejects the row at `offset` if it has too many bytes.
    fn check_row(&self, bytes: usize, offset: u64) -> Result<(), CsvError> {
        let row = self.current();
        let limit = if row == 0 {
            MAX_HEADER_BYTES
        } else {
            MAX_ROW_BYTES
        };
        match bytes > limit {
            true => Err(CsvError::RowTooLong { row, offset, limit }),
            false => Ok(()),
        }
    }

    /// Returns the number of the next row, counted from 1, or 0 for the header.
    fn current(&self) -> u64 {
        if self.wants_header && self.header.is_none() {
            0
        } else {
            self.rows + 1
        }
    }

    /// Ends the file.
    pub fn finish(&mut self, sink: &mut impl RowSink) -> Result<(), CsvError> {
        let carry = std::mem::take(&mut self.carry);
        let used = self.run(&carry, true, sink)?;
        debug_assert_eq!(used, carry.len());
        if self.shape.is_none() {
            let names = self.header.unwrap_or(0);
            sink.shape(Shape::new(names, names))?;
        }
        Ok(())
    }

    /// Reads the complete rows of `text` and returns the number of bytes read. `last` means that `text` ends the file.
    fn run(&mut self, text: &[u8], last: bool, sink: &mut impl RowSink) -> Result<usize, CsvError> {
        let mut at = 0;
        if !self.seen_start {
            if text.len() < 3 && !last {
                return Ok(0);
            }
            self.seen_start = true;
            if text.starts_with(b"\xef\xbb\xbf") {
                at = 3;
            }
        }
        let plain = plain_length(text);
        let valid = plain + self.validate(&text[plain..], plain, last)?;
        let text = &text[..valid];
        let last = last && valid == text.len();
        let nul = memchr(0, &text[plain..]).is_some();
        let quotes = memchr(b'"', text).is_some();
        let base = self.offset;
        let mut fields = std::mem::take(&mut self.fields);
        while at < text.len() {
            let Some(skipped) = self.blank_line(&text[at..], last) else {
                break;
            };
            if skipped > 0 {
                at += skipped;
                continue;
            }
            let offset = base + at as u64;
            let end = split_row(&text[at..], self.delimiter, last, &mut fields);
            if fields.len() > MAX_COLUMNS {
                return Err(CsvError::TooManyColumns {
                    row: self.current(),
                    offset,
                    limit: MAX_COLUMNS,
                });
            }
            let (next, ends_in_lf) = match end {
                RowEnd::Lf { next } => (next, true),
                RowEnd::Other { next } => (next, false),
                RowEnd::Incomplete => break,
                RowEnd::Unclosed => {
                    return Err(CsvError::UnclosedQuote {
                        row: self.current(),
                        offset,
                    });
                }
            };
            let row = RawRow {
                text: &text[at..at + next],
                fields: &fields,
                nul,
                quotes,
                number: self.rows,
                offset,
                ends_in_lf,
            };
            self.take(&row, sink)?;
            at += next;
        }
        self.fields = fields;
        self.offset = base + at as u64;
        Ok(at)
    }

    /// Returns the length in bytes of the complete UTF-8 characters at the beginning of `text`. If `last` is false, `text`
    /// may end inside a character.
    ///
    /// The caller must already have checked the `plain` bytes before `text`. The offset in an error includes these bytes.
    fn validate(&self, text: &[u8], plain: usize, last: bool) -> Result<usize, CsvError> {
        match std::str::from_utf8(text) {
            Ok(_) => Ok(text.len()),
            Err(error) if error.error_len().is_none() && !last => Ok(error.valid_up_to()),
            Err(error) => {
                let offset = self.offset + (plain + error.valid_up_to()) as u64;
                Err(CsvError::InvalidUtf8 {
                    row: self.current(),
                    offset,
                })
            }
        }
    }

    /// Returns the length of the empty line at the beginning of `text`, or 0. A line of spaces and tabs is empty.
    ///
    /// Returns `None` if more bytes are needed to decide.
    fn blank_line(&self, text: &[u8], last: bool) -> Option<usize> {
        let mut end = 0;
        loop {
            match text.get(end) {
                Some(b' ' | b'\t') if text[end] != self.delimiter => end += 1,
                Some(b'\n') => return Some(end + 1),
                Some(b'\r') => {
                    return match text.get(end + 1) {
                        Some(b'\n') => Some(end + 2),
                        None if !last => None,
                        // pandas drops a delimiter after an empty line that ends with a lone CR.
                        Some(next) if *next == self.delimiter => Some(end + 2),
                        _ => Some(end + 1),
                    };
                }
                Some(_) => return Some(0),
                None if last => return Some(end),
                None => return None,
            }
        }
    }

    /// Checks the number of fields in a row, and passes the row to `sink`.
    fn take(&mut self, row: &RawRow<'_>, sink: &mut impl RowSink) -> Result<(), CsvError> {
        let found = row.fields.len();
        if self.wants_header && self.header.is_none() {
            self.check_row(row.text.len(), row.offset)?;
            self.header = Some(found);
            self.before = found;
            return sink.header(row);
        }
        let shape = match self.shape {
            Some(shape) => shape,
            None => {
                let shape = Shape::new(self.header.unwrap_or(found), found);
                self.shape = Some(shape);
                sink.shape(shape)?;
                shape
            }
        };
        self.missing += shape.width.saturating_sub(found) as u64;
        if self.missing > MAX_MISSING.saturating_add(row.offset) {
            return Err(CsvError::TooManyMissing {
                row: self.rows + 1,
                offset: row.offset,
                missing: self.missing,
                width: shape.width,
            });
        }
        let opens_block = self.rows.is_multiple_of(shape.block);
        if found > self.before && !opens_block {
            return Err(CsvError::TooManyFields {
                row: self.rows + 1,
                offset: row.offset,
                expected: self.before,
                found,
            });
        }
        // Without a header, the first row of a block is not extended to the length of the previous row.
        self.before = if opens_block && !self.wants_header {
            found
        } else {
            found.max(self.before)
        };
        sink.row(row)?;
        self.rows += 1;
        Ok(())
    }
}
