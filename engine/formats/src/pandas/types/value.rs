//! Converts a cell to the value that pandas stores for it.

use crate::pandas::numbers::floats;
use crate::pandas::numbers::integers::{Integer, parse_i64, parse_u64};
use crate::pandas::numbers::print;
use crate::pandas::numbers::words::{is_missing, parse_bool};
use crate::pandas::types::infer::BlockType;
use crate::pandas::types::join::JoinedType;
use crate::pandas::write::push_minimal;
use crate::pandas::{ColumnType, FloatParser};

/// The value of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RawValue<'a> {
    Missing,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Float32(f32),
    Text(&'a [u8]),
}

impl RawValue<'_> {
    /// Appends the output of `to_csv`, without quotes.
    pub fn print(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Missing => {}
            Self::Bool(value) => print::push_bool(out, value),
            Self::Int(value) => print::push_integer(out, value),
            Self::UInt(value) => print::push_integer(out, value),
            Self::Float(value) => print::push_f64(out, value),
            Self::Float32(value) => print::push_f32(out, value),
            Self::Text(value) => out.extend_from_slice(value),
        }
    }

    /// Appends the output of `to_csv`, with quotes if necessary.
    pub fn push_cell(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Text(text) => push_minimal(out, text, b','),
            value => value.print(out),
        }
    }
}

/// Returns the value of a cell in a block of type `block`, in a column of type `joined`.
///
/// `None` means that the cell does not fit the type. This happens only if the type was requested, or if the text
/// changed after the type was inferred.
pub(crate) fn value<'a>(
    cell: &'a [u8],
    block: BlockType,
    joined: JoinedType,
    parser: FloatParser,
) -> Option<RawValue<'a>> {
    if let JoinedType::Forced(kind) = joined {
        return forced(cell, kind, parser);
    }
    if block == BlockType::RawText {
        return Some(RawValue::Text(cell));
    }
    if is_missing(cell) {
        return Some(RawValue::Missing);
    }
    let value_in_block = match block {
        BlockType::Int => RawValue::Int(int(cell)?),
        BlockType::IntGaps => match int(cell)? {
            // pandas represents missing cells as the smallest integer, so an actual smallest integer is lost, too.
            i64::MIN => RawValue::Missing,
            value => RawValue::Float(value as f64),
        },
        BlockType::UInt => match parse_u64(cell) {
            Integer::Value(value) => RawValue::UInt(value),
            _ => return None,
        },
        BlockType::Float => RawValue::Float(floats::parse_f64(cell, parser)?),
        BlockType::Bool | BlockType::BoolGaps => RawValue::Bool(parse_bool(cell)?),
        BlockType::Text | BlockType::RawText => RawValue::Text(cell),
    };
    Some(match (joined, value_in_block) {
        (JoinedType::Float | JoinedType::ObjectOfFloats, RawValue::Int(value)) => {
            RawValue::Float(value as f64)
        }
        (JoinedType::Float | JoinedType::ObjectOfFloats, RawValue::UInt(value)) => {
            RawValue::Float(value as f64)
        }
        (JoinedType::ObjectOfFloats, RawValue::Bool(value)) => {
            RawValue::Float(f64::from(u8::from(value)))
        }
        (JoinedType::ObjectOfIntegers, RawValue::Bool(value)) => RawValue::Int(i64::from(value)),
        (_, value_in_block) => value_in_block,
    })
}

fn int(cell: &[u8]) -> Option<i64> {
    match parse_i64(cell) {
        Integer::Value(value) => Some(value),
        _ => None,
    }
}

/// Returns the value of a cell in a column with a requested type. As in pandas, integers that are too large wrap
/// around.
fn forced<'a>(cell: &'a [u8], kind: ColumnType, parser: FloatParser) -> Option<RawValue<'a>> {
    let missing = is_missing(cell);
    Some(match kind {
        ColumnType::Text | ColumnType::Json if missing => RawValue::Missing,
        ColumnType::Text | ColumnType::Json => RawValue::Text(cell),
        ColumnType::Float64 | ColumnType::Float32 if missing => RawValue::Missing,
        ColumnType::Float64 => RawValue::Float(floats::parse_f64(cell, parser)?),
        ColumnType::Float32 => RawValue::Float32(floats::parse_f64(cell, parser)? as f32),
        ColumnType::Int64 => RawValue::Int(int(cell)?),
        ColumnType::Int32 => RawValue::Int(i64::from(int(cell)? as i32)),
        ColumnType::Int16 => RawValue::Int(i64::from(int(cell)? as i16)),
        ColumnType::Int8 => RawValue::Int(i64::from(int(cell)? as i8)),
        ColumnType::UInt64 => match (parse_u64(cell), parse_i64(cell)) {
            (Integer::Value(value), _) => RawValue::UInt(value),
            (_, Integer::Value(value)) => RawValue::UInt(value as u64),
            _ => return None,
        },
        ColumnType::Bool => RawValue::Bool(parse_bool(cell)?),
    })
}
