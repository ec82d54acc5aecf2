//! The elements of an array of one dimension, as values.

use super::{NpyArray, NpyError, NpyHeader};
use crate::read_at::ReadAt;

/// Elements in a row, of one type.
#[derive(Debug, Clone, PartialEq)]
pub enum Elements {
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
    /// Texts; NumPy drops the zeros at their end.
    Texts(Vec<String>),
}

/// The types of elements that have a value.
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
    /// What the elements are; none for those without a plain value (bytes,
    /// dates, complex numbers, floats of 2 or 16 bytes).
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
}

impl<R: ReadAt + Clone> NpyArray<R> {
    /// The elements at `rows` of an array of one dimension, in that order.
    ///
    /// # Errors
    /// [`NpyError`], also for an array of another dimension or of elements
    /// without a plain value.
    pub fn elements(&self, rows: &[u64]) -> Result<Elements, NpyError> {
        let header = self.header();
        let unsupported = || NpyError::UnsupportedType {
            descr: header.descr.clone(),
        };
        if header.shape.len() != 1 {
            return Err(NpyError::BadHeader {
                reason: format!("it has {} dimensions, not one", header.shape.len()),
            });
        }
        let kind = header.element_kind().ok_or_else(unsupported)?;
        let mut bytes = Vec::new();
        self.read_rows(rows, &mut bytes)?;
        // Texts of no width have no bytes to go through.
        let size = usize::try_from(header.item_size).map_err(|_| unsupported())?;
        if size == 0 {
            return Ok(Elements::Texts(vec![String::new(); rows.len()]));
        }
        if header.descr.starts_with('>') {
            let unit = if kind == ElementKind::Text { 4 } else { size };
            for number in bytes.chunks_exact_mut(unit) {
                number.reverse();
            }
        }
        let items = bytes.chunks_exact(size);
        Ok(match kind {
            ElementKind::Bool => Elements::Bools(items.map(|item| item != [0]).collect()),
            ElementKind::Integer => Elements::Integers(items.map(signed).collect()),
            ElementKind::Unsigned => Elements::Unsigned(items.map(unsigned).collect()),
            ElementKind::Single => Elements::Singles(
                items
                    .map(|item| f32::from_bits(unsigned(item) as u32))
                    .collect(),
            ),
            ElementKind::Double => {
                Elements::Doubles(items.map(|item| f64::from_bits(unsigned(item))).collect())
            }
            ElementKind::Text => {
                let texts = items.zip(rows).map(|(item, row)| text(item, *row));
                Elements::Texts(texts.collect::<Result<_, _>>()?)
            }
        })
    }
}

/// Up to 8 bytes, the lowest first.
fn unsigned(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn signed(bytes: &[u8]) -> i64 {
    let unused = 64 - 8 * bytes.len().clamp(1, 8) as u32;
    (unsigned(bytes) << unused) as i64 >> unused
}

/// UTF-32, zeros at the end dropped.
fn text(bytes: &[u8], row: u64) -> Result<String, NpyError> {
    let codes: Vec<u32> = bytes
        .chunks_exact(4)
        .map(|code| unsigned(code) as u32)
        .collect();
    let end = codes
        .iter()
        .rposition(|code| *code != 0)
        .map_or(0, |last| last + 1);
    let codes = codes.get(..end).unwrap_or_default();
    let characters = codes
        .iter()
        .map(|code| char::from_u32(*code).ok_or(NpyError::NoCharacter { row, code: *code }));
    characters.collect()
}
