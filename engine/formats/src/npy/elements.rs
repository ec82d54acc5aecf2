//! Converts the elements of array files to values, copies rows, and encodes masks.
//!
//! A mask is an array that marks elements with 1 or true. The code of a mask is the run-length encoding of the marked
//! elements.

use std::io::{Read, Write};
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, StringArray, UInt64Array,
};
use arrow::datatypes::{ArrowPrimitiveType, Float16Type};

use super::{NpyError, NpyHeader};
use crate::read_at::{ByteSection, ReadAt};
use crate::rle;

/// The value of one element.
#[derive(Debug, Clone, PartialEq)]
pub enum Element {
    /// `bool`.
    Bool(bool),
    /// A signed integer of any size.
    Integer(i64),
    /// An unsigned integer of any size.
    Unsigned(u64),
    /// `float16`.
    Half(f32),
    /// `float32`.
    Single(f32),
    /// `float64`.
    Double(f64),
    /// Text. Invalid characters are replaced with U+FFFD.
    Text(String),
}

impl Element {
    /// Returns the value as a number. `true` is 1. Returns `None` for strings.
    pub fn to_f64(&self) -> Option<f64> {
        Some(match self {
            Element::Bool(value) => f64::from(u8::from(*value)),
            Element::Integer(value) => *value as f64,
            Element::Unsigned(value) => *value as f64,
            Element::Half(value) | Element::Single(value) => f64::from(*value),
            Element::Double(value) => *value,
            Element::Text(_) => return None,
        })
    }
}

/// The element types that [`NpyArray::elements`] supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementKind {
    /// `bool`.
    Bool,
    /// Signed integers of any size.
    Integer,
    /// Unsigned integers of any size.
    Unsigned,
    /// `float32`.
    Single,
    /// `float64`.
    Double,
    /// Strings of fixed width, in UTF-32.
    Text,
}

impl NpyHeader {
    /// Returns the type of the elements, or `None` for byte strings, dates, complex numbers, and floats of 2 or 16 bytes.
    pub fn element_kind(&self) -> Option<ElementKind> {
        let kind = self.descr.chars().nth(1)?;
        Some(match (kind, self.item_size) {
            ('b', 1) => ElementKind::Bool,
            ('i', _) => ElementKind::Integer,
            ('u', _) => ElementKind::Unsigned,
            ('f', 4) => ElementKind::Single,
            ('f', 8) => ElementKind::Double,
            ('U', _) => ElementKind::Text,
            _ => return None,
        })
    }

    /// Converts an element to a value. Returns `None` for byte strings, dates, complex numbers, and floats of 16 bytes.
    pub fn value(&self, element: &[u8]) -> Option<Element> {
        let bits = self.bits(element);
        Some(match self.element_kind() {
            Some(ElementKind::Bool) => Element::Bool(bits != 0),
            Some(ElementKind::Integer) => Element::Integer(signed(bits, element.len())),
            Some(ElementKind::Unsigned) => Element::Unsigned(bits),
            Some(ElementKind::Single) => Element::Single(f32::from_bits(bits as u32)),
            Some(ElementKind::Double) => Element::Double(f64::from_bits(bits)),
            Some(ElementKind::Text) => {
                let codes = self.codes(element).into_iter();
                let character = |code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                Element::Text(codes.map(character).collect())
            }
            None if self.descr.get(1..) == Some("f2") => {
                type Half = <Float16Type as ArrowPrimitiveType>::Native;
                Element::Half(Half::from_bits(bits as u16).to_f32())
            }
            None => return None,
        })
    }

    /// Interprets up to 8 bytes as an unsigned integer in the byte order of the array.
    fn bits(&self, bytes: &[u8]) -> u64 {
        let add = |value, byte: &u8| value << 8 | u64::from(*byte);
        match self.descr.starts_with('>') {
            true => bytes.iter().fold(0, add),
            false => bytes.iter().rev().fold(0, add),
        }
    }

    /// Decodes UTF-32 to code points, without the zeros at the end.
    fn codes(&self, text: &[u8]) -> Vec<u32> {
        let codes = text.chunks_exact(4).map(|code| self.bits(code) as u32);
        let mut codes: Vec<u32> = codes.collect();
        let last = codes.iter().rposition(|code| *code != 0);
        codes.truncate(last.map_or(0, |last| last + 1));
        codes
    }
}

/// Interprets the lowest `bytes` bytes of `bits` as a signed integer.
fn signed(bits: u64, bytes: usize) -> i64 {
    let unused = 64 - 8 * bytes.clamp(1, 8) as u32;
    (bits << unused) as i64 >> unused
}

impl<R: ReadAt + Clone> NpyArray<R> {
    /// Returns the elements of a one-dimensional array at the indices `rows`, in this order. NaN and `""` become missing
    /// values.
    ///
    /// # Errors
    /// [`NpyError`] if reading fails, the array is not one-dimensional, or the type of its elements is not supported.
    pub fn elements(&self, rows: &[u64]) -> Result<ArrayRef, NpyError> {
        let header = self.header();
        let unsupported = || NpyError::UnsupportedType {
            descr: header.descr.clone(),
        };
        if header.shape.len() != 1 {
            return Err(NpyError::BadHeader {
                reason: format!(
                    "the array has {} dimensions instead of one",
                    header.shape.len()
                ),
            });
        }
        let kind = header.element_kind().ok_or_else(unsupported)?;
        let mut bytes = Vec::new();
        self.read_rows(rows, &mut bytes)?;
        let size = usize::try_from(header.item_size).map_err(|_| unsupported())?;
        if size == 0 {
            // Strings of length 0 occupy no bytes, so there are no chunks to iterate over.
            return Ok(Arc::new(StringArray::new_null(rows.len())));
        }
        let items = bytes.chunks_exact(size);
        let bits = bytes.chunks_exact(size).map(|item| header.bits(item));
        Ok(match kind {
            ElementKind::Bool => {
                Arc::new(BooleanArray::from_iter(bits.map(|bits| Some(bits != 0))))
            }
            ElementKind::Integer => Arc::new(Int64Array::from_iter_values(
                bits.map(|bits| signed(bits, size)),
            )),
            ElementKind::Unsigned => Arc::new(UInt64Array::from_iter_values(bits)),
            ElementKind::Single => {
                let values = bits.map(|bits| f32::from_bits(bits as u32));
                let values = values.map(|value| (!value.is_nan()).then_some(value));
                Arc::new(Float32Array::from_iter(values))
            }
            ElementKind::Double => {
                let values = bits.map(f64::from_bits);
                let values = values.map(|value| (!value.is_nan()).then_some(value));
                Arc::new(Float64Array::from_iter(values))
            }
            ElementKind::Text => {
                let texts = items.zip(rows).map(|(item, row)| {
                    let character = |code| {
                        char::from_u32(code).ok_or(NpyError::NoCharacter { row: *row, code })
                    };
                    let text = header.codes(item).into_iter().map(character);
                    let text = text.collect::<Result<String, NpyError>>()?;
                    Ok((!text.is_empty()).then_some(text))
                });
                Arc::new(texts.collect::<Result<StringArray, NpyError>>()?)
            }
        })
    }
}

/// Approximate number of bytes of rows that are copied at once.
const CHUNK_BYTES: u64 = 256 * 1024;

/// An array in a file, read row by row.
#[derive(Debug, Clone)]
pub struct NpyArray<R> {
    section: ByteSection<R>,
    header: NpyHeader,
}

impl<R: ReadAt + Clone> NpyArray<R> {
    /// Opens the array in the range `range` of `base`.
    pub fn open(base: R, range: Range<u64>) -> Result<Self, NpyError> {
        let section = ByteSection::new(base, range);
        let header = NpyHeader::read(section.clone())?;
        let available = section.len().saturating_sub(header.data_offset);
        if available < header.data_bytes() {
            return Err(NpyError::Truncated {
                available,
                needed: header.data_bytes(),
            });
        }
        Ok(Self { section, header })
    }

    /// Returns the header of the array.
    pub fn header(&self) -> &NpyHeader {
        &self.header
    }

    /// Writes the rows at `positions` in this order, with the same bytes as `numpy.save(out, array[positions])`.
    pub fn gather(
        &self,
        mut positions: impl ExactSizeIterator<Item = u64>,
        out: &mut impl Write,
    ) -> Result<(), NpyError> {
        let header = &self.header;
        // A one-dimensional array has the same bytes in C order and Fortran order.
        if header.fortran_order && header.shape.len() > 1 {
            return Err(NpyError::FortranOrder);
        }
        let Some((_, row_shape)) = header.shape.split_first() else {
            return Err(NpyError::BadHeader {
                reason: "a single value has no rows".to_owned(),
            });
        };
        let mut shape = vec![positions.len() as u64];
        shape.extend(row_shape);
        let gathered = NpyHeader {
            shape,
            fortran_order: false,
            ..header.clone()
        };
        let mut bytes = gathered.to_bytes()?;
        let chunk_rows =
            usize::try_from(CHUNK_BYTES / header.row_bytes().clamp(1, CHUNK_BYTES)).unwrap_or(1);
        let mut rows = Vec::with_capacity(chunk_rows);
        loop {
            rows.clear();
            rows.extend(positions.by_ref().take(chunk_rows));
            self.read_rows(&rows, &mut bytes)?;
            out.write_all(&bytes)?;
            bytes.clear();
            if rows.is_empty() {
                return Ok(());
            }
        }
    }

    /// Appends the bytes of rows in the given order. Consecutive rows are read with one call.
    pub(super) fn read_rows(&self, rows: &[u64], bytes: &mut Vec<u8>) -> Result<(), NpyError> {
        let (rows_in_file, row_bytes) = (self.header.rows(), self.header.row_bytes());
        for run in rows.chunk_by(|row, next| row.checked_add(1) == Some(*next)) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else {
                continue;
            };
            if *last >= rows_in_file {
                return Err(NpyError::NoSuchRow {
                    row: *last,
                    rows: rows_in_file,
                });
            }
            // `open` verified that all rows are within the file.
            let length = row_bytes * run.len() as u64;
            let start = bytes.len();
            let end = usize::try_from(length)
                .ok()
                .and_then(|length| start.checked_add(length));
            let end = end.ok_or_else(|| NpyError::BadHeader {
                reason: format!("rows of {row_bytes} bytes are too large for this system"),
            })?;
            bytes.resize(end, 0);
            let target = bytes.get_mut(start..).unwrap_or_default();
            self.section
                .read_exact_at(target, self.header.data_offset + first * row_bytes)?;
        }
        Ok(())
    }
}

/// A mask with more elements is an error. The bits of this number of elements take 256 MiB.
const MAX_ELEMENTS: u64 = 1 << 31;
/// A run-length code with more bytes is an error. In the worst case, a code has about five bytes for each element.
const MAX_CODE_BYTES: usize = 1 << 26;

/// The run-length code of a mask, and the shape of the array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskCode {
    /// Dimensions of the array.
    pub shape: Vec<u64>,
    /// The code in column-major order (the first index varies fastest). Empty if no element is 1 or true.
    pub code: String,
}

/// Returns the run-length code of the elements that are 1 or true, in the order of `numpy.load(file).T.flatten()`.
///
/// `input` is an array file of numbers or booleans. Memory usage is one bit per element.
///
/// # Errors
/// [`NpyError`] if the file is not such an array, has more than 2^31 elements, or its code is longer than 64 MiB.
pub fn mask_code(mut input: impl Read) -> Result<MaskCode, NpyError> {
    let header = NpyHeader::read(&mut input)?;
    let bits = MaskBits::read(input, &header)?;
    let shape: Option<Vec<usize>> = header
        .shape
        .iter()
        .map(|size| usize::try_from(*size).ok())
        .collect();
    let code = match header.fortran_order {
        true => rle::encode((0..bits.count).map(|index| bits.get(index)), MAX_CODE_BYTES),
        false => {
            let indices = rle::column_major(bits.count, &shape.unwrap_or_default());
            rle::encode(indices.map(|index| bits.get(index)), MAX_CODE_BYTES)
        }
    };
    let code = code.ok_or(NpyError::LongCode {
        limit: MAX_CODE_BYTES,
    })?;
    Ok(MaskCode {
        shape: header.shape,
        code,
    })
}

/// One bit for each element of a mask, which is set if the element is 1 or true.
struct MaskBits {
    words: Vec<u64>,
    count: usize,
}

impl MaskBits {
    fn get(&self, index: usize) -> bool {
        let word = self.words.get(index / 64).copied().unwrap_or(0);
        word >> (index % 64) & 1 == 1
    }

    fn read(input: impl Read, header: &NpyHeader) -> Result<Self, NpyError> {
        let unsupported = || NpyError::UnsupportedType {
            descr: header.descr.clone(),
        };
        let needed = header.data_bytes();
        let size = usize::try_from(header.item_size).map_err(|_| unsupported())?;
        let is_half = header.descr.get(1..) == Some("f2");
        if matches!(header.element_kind(), None | Some(ElementKind::Text)) && !is_half || size == 0
        {
            return Err(unsupported());
        }
        if needed / size as u64 > MAX_ELEMENTS {
            return Err(NpyError::BadHeader {
                reason: format!(
                    "the {needed} bytes of the mask contain more than {MAX_ELEMENTS} elements"
                ),
            });
        }
        let is_set = |item: &[u8]| header.value(item).and_then(|value| value.to_f64()) == Some(1.0);
        // Numbers of one byte are looked up in a table, because most masks consist of them.
        let set_bytes: Vec<bool> = match size {
            1 => (0..=u8::MAX).map(|byte| is_set(&[byte])).collect(),
            _ => Vec::new(),
        };
        let is_set = |item: &[u8]| match item {
            [byte] => set_bytes.get(usize::from(*byte)) == Some(&true),
            item => is_set(item),
        };
        let (mut words, mut available) = (Vec::new(), 0);
        let mut input = input.take(needed);
        let mut buffer = Vec::new();
        // Each chunk except the last one is a multiple of 64 elements, so it ends at the end of a word.
        while input
            .by_ref()
            .take(64 * 1024 * header.item_size)
            .read_to_end(&mut buffer)?
            > 0
        {
            available += buffer.len() as u64;
            for items in buffer.chunks(64 * size) {
                let items = items.chunks_exact(size).enumerate();
                words.push(items.fold(0, |word, (at, item)| word | u64::from(is_set(item)) << at));
            }
            buffer.clear();
        }
        if available < needed {
            return Err(NpyError::Truncated { available, needed });
        }
        let count = usize::try_from(needed / size as u64).map_err(|_| unsupported())?;
        Ok(MaskBits { words, count })
    }
}
