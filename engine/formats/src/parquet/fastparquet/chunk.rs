//! Writes the pages of a column in a row group.

use std::io::Write;
use std::path::Path;

use super::WriterVersions;
use super::column::{ColumnValues, PhysicalType};
use super::snappy::Snappy;
use super::thrift::{Struct, push_varint};
use crate::parquet::ParquetError;

/// Approximate maximum size of a page before compression, in bytes.
const PAGE_BYTES: f64 = 500.0 * 1024.0 * 1024.0;
/// Number of rows from which the mean length of the texts is estimated.
const SAMPLE_ROWS: u64 = 1000;
/// Zeros at the end of each page.
const PADDING: [u8; 8] = [0; 8];

/// The description of a column's pages in the footer.
#[derive(Debug)]
pub(super) struct Chunk {
    pub begin: u64,
    pub pages: i32,
    pub missing: u64,
    /// Maximum and minimum of a column of numbers.
    pub range: Option<(Vec<u8>, Vec<u8>)>,
    /// Size in bytes, including the page headers.
    pub compressed: u64,
    pub uncompressed: u64,
}

/// The options that the chunks of all columns share.
#[derive(Clone, Copy)]
pub(super) struct ChunkOptions<'a> {
    pub versions: &'a WriterVersions,
    /// The directory for temporary files.
    pub scratch: &'a Path,
}

/// Writes the next `rows` rows of a column at the offset `begin`.
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
    let at_most = rows_per_page(values, rows)?.max(1);
    let mut left = rows;
    while left > 0 {
        let rows = left.min(at_most);
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

/// The maximum number of rows in a page, computed as in fastparquet.
fn rows_per_page(values: &mut ColumnValues, rows: u64) -> Result<u64, ParquetError> {
    let bytes = match values.column.types.storage {
        PhysicalType::Bool => 0.125,
        PhysicalType::Text => text_bytes(values, rows)?,
        _ => values.column.width() as f64,
    };
    Ok((PAGE_BYTES / (bytes + 0.125)) as u64)
}

/// Estimates the size of a text in bytes from the number of characters of the first texts, as fastparquet does.
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

/// Writes the definition levels: a single run if no value is missing, otherwise one bit per row. Returns the number of
/// missing values.
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
    byte: u8,
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

    /// Pads the bits with zeros to `bytes` bytes.
    fn finish(self, bytes: u64, page: &mut Snappy) -> Result<(), ParquetError> {
        let mut last = Some(self.byte);
        for _ in self.bits / 8..bytes {
            page.push(&[last.take().unwrap_or_default()])?;
        }
        Ok(())
    }
}

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

/// The minimum and maximum of a column, in the type of its values.
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
        macro_rules! see {
            ($range:expr, $kind:ty) => {{
                let Ok(bytes) = bytes.try_into() else { return };
                let value = <$kind>::from_le_bytes(bytes);
                let (low, high) = $range.get_or_insert((value, value));
                // If a column contains zeros of both signs, NumPy's result depends on the processor. It is usually the
                // last zero.
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
            ValueRange::I32(range) => see!(range, i32),
            ValueRange::U32(range) => see!(range, u32),
            ValueRange::I64(range) => see!(range, i64),
            ValueRange::U64(range) => see!(range, u64),
            ValueRange::F32(range) => see!(range, f32),
            ValueRange::F64(range) => see!(range, f64),
        }
    }

    /// Returns maximum and minimum in the encoding of the footer.
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
        // The values are PLAIN, and definition and repetition levels are run-length encoded. There are no repetition
        // levels.
        page.i32(2, 0);
        page.i32(3, 3);
        page.i32(4, 4);
    });
    header.end();
    Ok(bytes)
}
