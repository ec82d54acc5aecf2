//! Converts a single element or the elements of a one-dimensional array to values.

use arrow::datatypes::{ArrowPrimitiveType, Float16Type};

use super::{NpyArray, NpyError, NpyHeader};
use crate::read_at::ReadAt;

/// Values of a one-dimensional array.
#[derive(Debug, Clone, PartialEq)]
pub enum ArrayValues {
    /// `bool`.
    Bools(Vec<bool>),
    /// Signed integers of any size.
    Integers(Vec<i64>),
    /// Unsigned integers of any size.
    Unsigned(Vec<u64>),
    /// `float32`.
    Singles(Vec<f32>),
    /// `float64`.
    Doubles(Vec<f64>),
    /// Texts. Zeros at the end are removed, as in NumPy.
    Texts(Vec<String>),
}

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
    /// Returns the value as a number; `true` is 1. `None` for texts.
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

/// The element types that have a plain value.
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
    /// Texts of fixed width, in UTF-32.
    Text,
}

impl NpyHeader {
    /// The type of the elements. `None` for types without a plain value: bytes, dates, complex numbers, floats of 2 or
    /// 16 bytes.
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

    /// Converts the bytes of an element to its value. `None` for types without a plain value: bytes, dates, complex
    /// numbers.
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

    /// Interprets up to 8 bytes in the byte order of the array.
    fn bits(&self, bytes: &[u8]) -> u64 {
        let add = |value, byte: &u8| value << 8 | u64::from(*byte);
        match self.descr.starts_with('>') {
            true => bytes.iter().fold(0, add),
            false => bytes.iter().rev().fold(0, add),
        }
    }

    /// Decodes UTF-32 to code points. Zeros at the end are removed.
    fn codes(&self, text: &[u8]) -> Vec<u32> {
        let codes = text.chunks_exact(4).map(|code| self.bits(code) as u32);
        let mut codes: Vec<u32> = codes.collect();
        let last = codes.iter().rposition(|code| *code != 0);
        codes.truncate(last.map_or(0, |last| last + 1));
        codes
    }
}

/// Extends the sign of an integer of `bytes` bytes.
fn signed(bits: u64, bytes: usize) -> i64 {
    let unused = 64 - 8 * bytes.clamp(1, 8) as u32;
    (bits << unused) as i64 >> unused
}

impl<R: ReadAt + Clone> NpyArray<R> {
    /// Returns the elements at `rows` of a one-dimensional array, in this order.
    ///
    /// # Errors
    /// [`NpyError`] if reading fails, the array is not one-dimensional, or its elements have no plain value.
    pub fn elements(&self, rows: &[u64]) -> Result<ArrayValues, NpyError> {
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
        // Texts of length 0 occupy no bytes, so there are no chunks to iterate over.
        let size = usize::try_from(header.item_size).map_err(|_| unsupported())?;
        if size == 0 {
            return Ok(ArrayValues::Texts(vec![String::new(); rows.len()]));
        }
        let items = bytes.chunks_exact(size);
        let bits = bytes.chunks_exact(size).map(|item| header.bits(item));
        Ok(match kind {
            ElementKind::Bool => ArrayValues::Bools(bits.map(|bits| bits != 0).collect()),
            ElementKind::Integer => {
                ArrayValues::Integers(bits.map(|bits| signed(bits, size)).collect())
            }
            ElementKind::Unsigned => ArrayValues::Unsigned(bits.collect()),
            ElementKind::Single => {
                ArrayValues::Singles(bits.map(|bits| f32::from_bits(bits as u32)).collect())
            }
            ElementKind::Double => ArrayValues::Doubles(bits.map(f64::from_bits).collect()),
            ElementKind::Text => {
                let texts = items.zip(rows).map(|(item, row)| {
                    let character = |code| {
                        char::from_u32(code).ok_or(NpyError::NoCharacter { row: *row, code })
                    };
                    header.codes(item).into_iter().map(character).collect()
                });
                ArrayValues::Texts(texts.collect::<Result<_, _>>()?)
            }
        })
    }
}
