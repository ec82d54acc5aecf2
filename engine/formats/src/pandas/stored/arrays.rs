//! Converts the cells of a column to Arrow arrays.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanBuilder, Float64Builder, Int64Builder, NullBufferBuilder, StringArray,
    UInt64Builder,
};
use arrow::buffer::{Buffer, OffsetBuffer};

use crate::pandas::numbers::parse::parse_bool;
use crate::pandas::numbers::parse::parse_f64;
use crate::pandas::numbers::parse::{Integer, parse_i64, parse_u64};
use crate::pandas::read::tokens::unquote_into;
use crate::pandas::stored::table::cell_content;
use crate::pandas::{ColumnType, FloatParser};

/// Builds the Arrow array of a column from its cells.
pub(in crate::pandas) enum ArrayBuilder {
    Int64(Int64Builder),
    UInt64(UInt64Builder),
    Float64(Float64Builder),
    /// Cells are parsed in single precision and stored as doubles.
    Float32(Float64Builder),
    Bool(BooleanBuilder),
    Text(Texts),
}

impl ArrayBuilder {
    pub fn new(kind: ColumnType, rows: usize) -> Self {
        match kind {
            ColumnType::Int64 | ColumnType::Int32 | ColumnType::Int16 | ColumnType::Int8 => {
                Self::Int64(Int64Builder::with_capacity(rows))
            }
            ColumnType::UInt64 => Self::UInt64(UInt64Builder::with_capacity(rows)),
            ColumnType::Float64 => Self::Float64(Float64Builder::with_capacity(rows)),
            ColumnType::Float32 => Self::Float32(Float64Builder::with_capacity(rows)),
            ColumnType::Bool => Self::Bool(BooleanBuilder::with_capacity(rows)),
            ColumnType::Text | ColumnType::Json => Self::Text(Texts::with_capacity(rows)),
        }
    }

    /// Appends a cell. Returns `false` if the cell does not have the type of the column.
    #[inline]
    pub fn push(&mut self, cell: &[u8]) -> bool {
        match self {
            Self::Int64(builder) => append(cell, integer(parse_i64), |value| {
                builder.append_option(value)
            }),
            Self::UInt64(builder) => append(cell, integer(parse_u64), |value| {
                builder.append_option(value)
            }),
            Self::Float64(builder) => append(
                cell,
                |content| parse_f64(content, FloatParser::RoundTrip),
                |value| builder.append_option(value),
            ),
            Self::Float32(builder) => append(
                cell,
                |content| std::str::from_utf8(content).ok()?.parse::<f32>().ok(),
                |value| builder.append_option(value.map(f64::from)),
            ),
            Self::Bool(builder) => append(cell, parse_bool, |value| builder.append_option(value)),
            Self::Text(texts) => texts.push(cell),
        }
    }

    /// Returns the array, or the index of the first string that is not UTF-8.
    pub fn finish(self) -> Result<ArrayRef, usize> {
        Ok(match self {
            Self::Int64(mut builder) => Arc::new(builder.finish()),
            Self::UInt64(mut builder) => Arc::new(builder.finish()),
            Self::Float64(mut builder) | Self::Float32(mut builder) => Arc::new(builder.finish()),
            Self::Bool(mut builder) => Arc::new(builder.finish()),
            Self::Text(texts) => Arc::new(texts.finish()?),
        })
    }
}

/// Appends the value of a cell, or null if the cell is missing. Returns `false` if `parse` fails.
fn append<T>(
    cell: &[u8],
    parse: impl Fn(&[u8]) -> Option<T>,
    mut append: impl FnMut(Option<T>),
) -> bool {
    let value = cell_content(cell).map(|content| parse(&content));
    let fits = !matches!(value, Some(None));
    if fits {
        append(value.flatten());
    }
    fits
}

/// Converts a parser of integers to a parser that returns `None` for all other cells.
fn integer<T>(parse: impl Fn(&[u8]) -> Integer<T>) -> impl Fn(&[u8]) -> Option<T> {
    move |content| match parse(content) {
        Integer::Value(value) => Some(value),
        _ => None,
    }
}

/// Concatenated strings, which are validated as UTF-8 in one call because most are short.
pub(in crate::pandas) struct Texts {
    bytes: Vec<u8>,
    /// The offset of each string, followed by the end of the last one.
    offsets: Vec<i32>,
    /// Whether each string is not missing.
    present: NullBufferBuilder,
}

impl Texts {
    fn with_capacity(rows: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        Self {
            bytes: Vec::with_capacity(rows * 8),
            offsets,
            present: NullBufferBuilder::new(rows),
        }
    }

    /// Appends a cell. Returns `false` if the strings exceed 2 GiB.
    #[inline]
    fn push(&mut self, cell: &[u8]) -> bool {
        match cell {
            [b'"', ..] => unquote_into(&mut self.bytes, cell),
            plain => self.bytes.extend_from_slice(plain),
        }
        self.present.append(!matches!(cell, b"" | b"\"\""));
        let end = i32::try_from(self.bytes.len());
        self.offsets.push(end.unwrap_or(i32::MAX));
        end.is_ok()
    }

    fn finish(mut self) -> Result<StringArray, usize> {
        let offsets = OffsetBuffer::new(self.offsets.into());
        let bytes = Buffer::from(self.bytes);
        let texts = StringArray::try_new(offsets.clone(), bytes.clone(), self.present.finish());
        texts.map_err(|_| {
            let mut each = offsets.iter().zip(offsets.iter().skip(1));
            let wrong = each.position(|(start, end)| {
                let text = bytes.get(*start as usize..*end as usize);
                std::str::from_utf8(text.unwrap_or_default()).is_err()
            });
            wrong.unwrap_or(0)
        })
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Array;

    use super::*;

    #[test]
    fn error_is_index_of_first_text_that_is_not_utf8() {
        for (cells, wrong) in [
            (&[b"a".as_slice(), b"", b"\xe9", b"\xff"], 2),
            // The concatenation of these two bytes would be a valid character.
            (&[b"", b"\xc3", b"\xa9", b"b"], 1),
        ] {
            let mut builder = ArrayBuilder::new(ColumnType::Text, 1);
            assert!(cells.iter().all(|cell| builder.push(cell)));
            assert_eq!(builder.finish().map(|array| array.len()), Err(wrong));
        }
    }
}
