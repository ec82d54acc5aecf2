//! Writes the pages of a column in a row group.
//!
//! [`Snappy`] compresses a stream in Snappy's block format. The format begins with the uncompressed length, and then
//! contains separate blocks of 64 KiB. Therefore the compressed blocks are stored until the length is known.

use std::io;
use std::io::{Read, Seek, Write};
use std::path::Path;

use snap::raw::{Encoder, max_compress_len};
use tempfile::SpooledTempFile;

use super::WriterVersions;
use super::column::{ColumnValues, PhysicalType};
use crate::parquet::ParquetError;

/// Approximate maximum size of a page before compression, in bytes.
const PAGE_BYTES: f64 = 500.0 * 1024.0 * 1024.0;
/// Number of rows from which the mean length of the strings is estimated.
const SAMPLE_ROWS: u64 = 1000;
/// The bytes that fastparquet writes at the end of each page.
const PADDING: [u8; 8] = [0; 8];

/// The values of a column in one row group.
#[derive(Debug)]
pub(super) struct Chunk {
    /// Offset of the first page in the file.
    pub begin: u64,
    /// Number of pages.
    pub pages: i32,
    /// Number of missing values.
    pub missing: u64,
    /// Maximum and minimum of a column of numbers.
    pub range: Option<(Vec<u8>, Vec<u8>)>,
    /// Size in bytes, including the page headers.
    pub compressed: u64,
    /// Size in bytes before compression, including the page headers.
    pub uncompressed: u64,
}

#[derive(Clone, Copy)]
pub(super) struct ChunkOptions<'a> {
    pub versions: &'a WriterVersions,
    /// Directory for temporary files.
    pub scratch: &'a Path,
}

/// Writes the next `rows` values of a column as pages. `begin` is the current offset of `out` in the file.
pub(super) fn write_chunk(
    out: &mut impl Write,
    begin: u64,
    values: &mut ColumnValues,
    rows: u64,
    options: ChunkOptions<'_>,
) -> Result<Chunk, ParquetError> {
    let storage = values.column.types.storage;
    let mut chunk = Chunk {
        begin,
        pages: 0,
        missing: 0,
        range: None,
        compressed: 0,
        uncompressed: 0,
    };
    let mut range = ValueRange::new(storage);
    let page_rows = rows_per_page(values, rows)?.max(1);
    let mut left = rows;
    while left > 0 {
        let rows = left.min(page_rows);
        let mut page = Snappy::new(options.scratch);
        chunk.missing += levels(&mut page, values, rows, options.versions)?;
        match storage {
            PhysicalType::Text => texts(&mut page, values, rows)?,
            PhysicalType::Bool => booleans(&mut page, values, rows, options.versions)?,
            _ => numbers(&mut page, values, rows, &mut range)?,
        }
        page.push(&PADDING)?;
        let uncompressed = page.read();
        let (length, mut stream) = page.finish()?;
        let header = header(rows, uncompressed, length)?;
        out.write_all(&header)?;
        std::io::copy(&mut stream, out)?;
        chunk.compressed += header.len() as u64 + length;
        chunk.uncompressed += header.len() as u64 + uncompressed;
        chunk.pages += 1;
        left -= rows;
    }
    chunk.range = range.bytes();
    Ok(chunk)
}

/// Returns the maximum number of rows in a page, computed as in fastparquet.
fn rows_per_page(values: &mut ColumnValues, rows: u64) -> Result<u64, ParquetError> {
    let bytes = match values.column.types.storage {
        PhysicalType::Bool => 0.125,
        PhysicalType::Text => text_bytes(values, rows)?,
        _ => values.column.width() as f64,
    };
    Ok((PAGE_BYTES / (bytes + 0.125)) as u64)
}

/// Estimates the size of a string in bytes from the number of characters of the first strings, as fastparquet does.
fn text_bytes(values: &mut ColumnValues, rows: u64) -> Result<f64, ParquetError> {
    let mark = values.mark()?;
    let (mut characters, mut count) = (0, 0);
    let mut bytes = Vec::new();
    for _ in 0..rows.min(SAMPLE_ROWS) {
        if values.text(&mut bytes)? {
            characters += String::from_utf8_lossy(&bytes).chars().count();
            count += 1;
        }
    }
    values.back(mark)?;
    let count = if count == 0 { 4 } else { count };
    Ok(characters as f64 / f64::from(count) + 4.0)
}

/// Writes the definition levels. Each row has one bit, or all rows are a single run if no values are missing. Returns the
/// number of missing values.
fn levels(
    page: &mut Snappy,
    values: &ColumnValues,
    rows: u64,
    versions: &WriterVersions,
) -> Result<u64, ParquetError> {
    let (column, first) = (&values.column, values.row);
    let has_value = |row: &u64| column.has_value(*row);
    let missing = match column.missing {
        0 => 0,
        _ => (first..first + rows).filter(|row| !has_value(row)).count() as u64,
    };
    let mut head = Vec::new();
    // The lowest bit of a head is 0 for a run of equal levels, and 1 for packed bits.
    if missing == 0 {
        push_varint(&mut head, rows << 1);
        head.push(1);
        page.push(&(head.len() as u32).to_le_bytes())?;
        page.push(&head)?;
        return Ok(0);
    }
    let packed = versions.packed(rows);
    push_varint(&mut head, packed << 1 | 1);
    let length = (head.len() as u64 + packed) as u32;
    page.push(&length.to_le_bytes())?;
    page.push(&head)?;
    let mut bits = Packer::default();
    for row in first..first + rows {
        bits.push(has_value(&row), page)?;
    }
    bits.finish(packed, page)?;
    Ok(missing)
}

/// Packs bits into bytes, lowest bit first.
#[derive(Default)]
struct Packer {
    /// The current byte, which is not complete.
    byte: u8,
    /// Number of bits so far.
    bits: u64,
}

impl Packer {
    fn push(&mut self, bit: bool, page: &mut Snappy) -> Result<(), ParquetError> {
        self.byte |= u8::from(bit) << (self.bits % 8);
        self.bits += 1;
        if self.bits.is_multiple_of(8) {
            page.push(&[std::mem::take(&mut self.byte)])?;
        }
        Ok(())
    }

    /// Writes the last byte, and zeros until `bytes` bytes are written in total.
    fn finish(self, bytes: u64, page: &mut Snappy) -> Result<(), ParquetError> {
        let mut last = Some(self.byte);
        for _ in self.bits / 8..bytes {
            page.push(&[last.take().unwrap_or_default()])?;
        }
        Ok(())
    }
}

// Each of the following functions writes the next `rows` values of a column, except missing ones.

fn booleans(
    page: &mut Snappy,
    values: &mut ColumnValues,
    rows: u64,
    versions: &WriterVersions,
) -> Result<(), ParquetError> {
    let mut bits = Packer::default();
    let mut byte = [0];
    for _ in 0..rows {
        if values.fixed(&mut byte)? {
            bits.push(byte == [1], page)?;
        }
    }
    let packed = versions.packed(bits.bits);
    bits.finish(packed, page)
}

fn texts(page: &mut Snappy, values: &mut ColumnValues, rows: u64) -> Result<(), ParquetError> {
    let mut bytes = Vec::new();
    for _ in 0..rows {
        if values.text(&mut bytes)? {
            page.push(&(bytes.len() as u32).to_le_bytes())?;
            page.push(&bytes)?;
        }
    }
    Ok(())
}

fn numbers(
    page: &mut Snappy,
    values: &mut ColumnValues,
    rows: u64,
    range: &mut ValueRange,
) -> Result<(), ParquetError> {
    let mut value = [0; 8];
    let value = value.get_mut(..values.column.width()).unwrap_or_default();
    for _ in 0..rows {
        if values.fixed(value)? {
            range.update(value);
            page.push(value)?;
        }
    }
    Ok(())
}

/// The minimum and maximum of the values so far. `None` within a variant means that there were no values. The variant
/// `None` is for types without a minimum and maximum.
enum ValueRange {
    None,
    I32(Option<(i32, i32)>),
    U32(Option<(u32, u32)>),
    I64(Option<(i64, i64)>),
    U64(Option<(u64, u64)>),
    F32(Option<(f32, f32)>),
    F64(Option<(f64, f64)>),
}

impl ValueRange {
    fn new(storage: PhysicalType) -> Self {
        match storage {
            PhysicalType::Bool | PhysicalType::Text => ValueRange::None,
            PhysicalType::I32 { signed: true } => ValueRange::I32(None),
            PhysicalType::I32 { signed: false } => ValueRange::U32(None),
            PhysicalType::I64 { signed: true } => ValueRange::I64(None),
            PhysicalType::I64 { signed: false } => ValueRange::U64(None),
            PhysicalType::F32 => ValueRange::F32(None),
            PhysicalType::F64 => ValueRange::F64(None),
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        macro_rules! extend {
            ($range:expr, $kind:ty) => {{
                let Ok(bytes) = bytes.try_into() else { return };
                let value = <$kind>::from_le_bytes(bytes);
                let (low, high) = $range.get_or_insert((value, value));
                // NumPy usually returns the last one of 0.0 and -0.0, so equal values are replaced.
                if value <= *low {
                    *low = value;
                }
                if value >= *high {
                    *high = value;
                }
            }};
        }
        match self {
            ValueRange::None => {}
            ValueRange::I32(range) => extend!(range, i32),
            ValueRange::U32(range) => extend!(range, u32),
            ValueRange::I64(range) => extend!(range, i64),
            ValueRange::U64(range) => extend!(range, u64),
            ValueRange::F32(range) => extend!(range, f32),
            ValueRange::F64(range) => extend!(range, f64),
        }
    }

    /// Returns the bytes of the maximum and the minimum.
    fn bytes(self) -> Option<(Vec<u8>, Vec<u8>)> {
        macro_rules! bytes {
            ($range:expr) => {
                $range.map(|(low, high)| (high.to_le_bytes().to_vec(), low.to_le_bytes().to_vec()))
            };
        }
        match self {
            ValueRange::None => None,
            ValueRange::I32(range) => bytes!(range),
            ValueRange::U32(range) => bytes!(range),
            ValueRange::I64(range) => bytes!(range),
            ValueRange::U64(range) => bytes!(range),
            ValueRange::F32(range) => bytes!(range),
            ValueRange::F64(range) => bytes!(range),
        }
    }
}

/// Returns the header of a page, the structure `PageHeader` of `parquet.thrift`. The sizes are those of the page's data.
fn header(rows: u64, uncompressed: u64, compressed: u64) -> Result<Vec<u8>, ParquetError> {
    let small = |value: u64| i32::try_from(value).map_err(|_| ParquetError::PageTooLarge(value));
    let (rows, uncompressed) = (small(rows)?, small(uncompressed)?);
    let compressed = small(compressed)?;
    let mut bytes = Vec::new();
    let mut header = Struct::new(&mut bytes);
    header.i32(1, 0);
    header.i32(2, uncompressed);
    header.i32(3, compressed);
    header.inner(5, |page| {
        page.i32(1, rows);
        // The values are PLAIN, and definition levels are run-length encoded. There are no repetition levels.
        page.i32(2, 0);
        page.i32(3, 3);
        page.i32(4, 4);
    });
    header.end();
    Ok(bytes)
}

/// Length in bytes of the blocks that Snappy compresses separately.
const BLOCK_BYTES: usize = 1 << 16;
/// If the compressed blocks together exceed this size in bytes, they are stored in a temporary file instead of in memory.
const MAX_MEMORY_BYTES: usize = 4 << 20;

/// Compresses a stream in Snappy's block format.
pub(super) struct Snappy {
    encoder: Encoder,
    /// The bytes that are not compressed yet.
    block: Vec<u8>,
    /// Space for a compressed block.
    compressed: Vec<u8>,
    /// All compressed blocks.
    blocks: SpooledTempFile,
    /// Number of uncompressed bytes.
    read: u64,
    /// Number of bytes in `blocks`.
    written: u64,
}

impl Snappy {
    pub(super) fn new(scratch: &Path) -> Self {
        Self {
            encoder: Encoder::new(),
            block: Vec::with_capacity(BLOCK_BYTES),
            compressed: vec![0; max_compress_len(BLOCK_BYTES)],
            blocks: SpooledTempFile::new_in(MAX_MEMORY_BYTES, scratch),
            read: 0,
            written: 0,
        }
    }

    pub(super) fn push(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.read += bytes.len() as u64;
        while !bytes.is_empty() {
            let room = BLOCK_BYTES - self.block.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.block.extend_from_slice(now);
            bytes = later;
            if self.block.len() == BLOCK_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Compresses the current block.
    fn flush(&mut self) -> io::Result<()> {
        let length = self.encoder.compress(&self.block, &mut self.compressed);
        let length = length.map_err(io::Error::other)?;
        // The encoder begins its output with the length of the block, which is removed.
        let head = varint_length(self.block.len() as u64);
        let body = self.compressed.get(head..length).unwrap_or_default();
        self.blocks.write_all(body)?;
        self.written += body.len() as u64;
        self.block.clear();
        Ok(())
    }

    pub(super) fn read(&self) -> u64 {
        self.read
    }

    /// Returns the length and the bytes of the compressed stream.
    pub(super) fn finish(mut self) -> io::Result<(u64, impl Read)> {
        if !self.block.is_empty() {
            self.flush()?;
        }
        let mut head = Vec::new();
        push_varint(&mut head, self.read);
        self.blocks.rewind()?;
        let length = head.len() as u64 + self.written;
        Ok((length, io::Cursor::new(head).chain(self.blocks)))
    }
}

fn varint_length(value: u64) -> usize {
    let mut bytes = Vec::new();
    push_varint(&mut bytes, value);
    bytes.len()
}

// Types of fields in Thrift's compact protocol.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Writes a structure in Thrift's compact protocol. Fields must be written in ascending order of their ids.
pub(super) struct Struct<'a> {
    out: &'a mut Vec<u8>,
    last: u8,
}

impl<'a> Struct<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, last: 0 }
    }

    /// Writes the head of a field: the difference between its id and the previous id, and its type.
    fn field(&mut self, id: u8, kind: u8) {
        self.out.push((id - self.last) << 4 | kind);
        self.last = id;
    }

    pub(super) fn i32(&mut self, id: u8, value: i32) {
        self.field(id, I32);
        push_varint(self.out, zigzag(i64::from(value)));
    }

    pub(super) fn i64(&mut self, id: u8, value: u64) {
        self.field(id, I64);
        push_varint(self.out, zigzag(value.cast_signed()));
    }

    pub(super) fn binary(&mut self, id: u8, value: &[u8]) {
        self.field(id, BINARY);
        push_binary(self.out, value);
    }

    /// Writes a field that is a structure.
    pub(super) fn inner(&mut self, id: u8, write: impl FnOnce(&mut Struct<'_>)) {
        self.field(id, STRUCT);
        let mut inner = Struct::new(self.out);
        write(&mut inner);
        inner.end();
    }

    pub(super) fn i32_list(&mut self, id: u8, values: &[i32]) {
        self.list(id, values.len(), I32);
        for value in values {
            push_varint(self.out, zigzag(i64::from(*value)));
        }
    }

    pub(super) fn binary_list(&mut self, id: u8, values: &[&[u8]]) {
        self.list(id, values.len(), BINARY);
        for value in values {
            push_binary(self.out, value);
        }
    }

    /// Writes a field that is a list with one structure for each item.
    pub(super) fn struct_list<T>(
        &mut self,
        id: u8,
        items: &[T],
        mut write: impl FnMut(&mut Struct<'_>, &T),
    ) {
        self.list(id, items.len(), STRUCT);
        for item in items {
            let mut inner = Struct::new(self.out);
            write(&mut inner, item);
            inner.end();
        }
    }

    /// Writes the head of a list. As in fastparquet, an empty list has no element type.
    fn list(&mut self, id: u8, length: usize, kind: u8) {
        self.field(id, LIST);
        match length {
            0 => self.out.push(0),
            1..=14 => self.out.push((length as u8) << 4 | kind),
            _ => {
                self.out.push(0xf0 | kind);
                push_varint(self.out, length as u64);
            }
        }
    }

    /// Ends the structure.
    pub(super) fn end(self) {
        self.out.push(0);
    }
}

/// Zigzag encoding: maps integers of small magnitude to small unsigned integers.
fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// Appends the length of `value`, and its bytes.
pub(super) fn push_binary(out: &mut Vec<u8>, value: &[u8]) {
    push_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Appends an integer in groups of seven bits, lowest first. The highest bit of a byte is set if another byte follows.
pub(super) fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressing_in_chunks_equals_compressing_at_once() {
        let mut state = 7_u32;
        let bytes: Vec<u8> = (0..200_000)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 29) as u8
            })
            .collect();
        for length in [0, 1, 16, 17, 65_535, 65_536, 65_537, 200_000] {
            let bytes = &bytes[..length];
            let mut pieces = Snappy::new(&std::env::temp_dir());
            for piece in bytes.chunks(777) {
                pieces.push(piece).unwrap();
            }
            let (expected, mut stream) = pieces.finish().unwrap();
            let mut found = Vec::new();
            stream.read_to_end(&mut found).unwrap();
            assert_eq!(found, Encoder::new().compress_vec(bytes).unwrap());
            assert_eq!(expected, found.len() as u64);
        }
    }
}
