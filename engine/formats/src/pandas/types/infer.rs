//! Infers the type of one column in one block of rows, cell by cell.
//!
//! pandas tries `int64`, `float64`, `bool` and text in this order, each from the beginning of the block. If a cell exceeds
//! `int64` and all cells before it are integers, pandas tries `uint64` next.
//!
//! One pass is sufficient here, because each cell that fits an integer type also fits `float64`.

use crate::pandas::numbers::parse::parse_f64;
use crate::pandas::numbers::parse::{
    Integer, is_canonical_integer, parse_i64, parse_u64, plain_integer,
};
use crate::pandas::numbers::parse::{is_missing, parse_bool};
use crate::pandas::numbers::print;
use crate::pandas::numbers::print::is_canonical_f64;
use crate::pandas::numbers::print::is_surely_canonical;
use crate::pandas::write::push_minimal;
use crate::pandas::{ColumnType, FloatParser};

/// The type of a column in one block of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum BlockType {
    /// `int64`, without missing cells.
    Int,
    /// `float64`, from integers and missing cells, or from missing cells only.
    IntGaps,
    /// `uint64`, without missing cells.
    UInt,
    /// `float64`. Missing cells are NaN.
    Float,
    /// `bool`, without missing cells.
    Bool,
    /// Objects: `True`, `False` and missing cells.
    BoolGaps,
    /// Text. Values such as `NA` are missing cells.
    Text,
    /// Text in which `NA` and similar values are ordinary text. The type occurs if `uint64` fails because of mixed signs or
    /// missing cells.
    RawText,
}

/// The type that pandas currently tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trial {
    Int,
    UInt,
    Float,
    Bool,
    Text,
}

/// The inference of the type of a column in one block.
#[derive(Debug, Clone)]
pub(crate) struct Inference {
    trial: Trial,
    parser: FloatParser,
    /// Whether any cell is missing.
    missing: bool,
    /// Whether a missing cell is not empty but a text, such as `NA`.
    missing_text: bool,
    /// Whether any cell is a number, or was accepted in the `uint64` trial.
    number: bool,
    /// Whether any cell is a negative integer. In the `uint64` trial: whether any cell begins with a minus.
    negative: bool,
    /// Whether any cell exceeds `int64` but not `uint64`.
    big: bool,
    /// Whether any cell of the `uint64` trial is not a float.
    no_float: bool,
    /// Whether each cell, parsed as the tried type and formatted again, is the same text.
    is_canonical: bool,
}

/// The result of an [`Inference`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockResult {
    pub kind: BlockType,
    /// Whether any cell is missing. Always false for [`BlockType::RawText`].
    pub missing: bool,
    /// Whether the text of each cell, without quotes, equals the formatted value of this type.
    pub is_canonical: bool,
}

impl Inference {
    pub fn new(parser: FloatParser) -> Self {
        Self {
            trial: Trial::Int,
            parser,
            missing: false,
            missing_text: false,
            number: false,
            negative: false,
            big: false,
            no_float: false,
            is_canonical: true,
        }
    }

    /// Creates the inference of a column that is text regardless of its cells.
    pub fn text(parser: FloatParser) -> Self {
        Self {
            trial: Trial::Text,
            ..Self::new(parser)
        }
    }

    /// Returns whether the column is text in this block, regardless of later cells.
    #[inline]
    pub fn is_text(&self) -> bool {
        self.trial == Trial::Text
    }

    /// Returns whether all cells so far are integers or missing, and at least one is an integer.
    #[inline]
    pub fn contains_only_integers(&self) -> bool {
        self.trial == Trial::Int && self.number
    }

    /// Adds the content of the next cell.
    #[inline]
    pub fn push(&mut self, cell: &[u8]) {
        // Fast path for a cell in the format of the previous ones. Missing cells never have this format.
        match self.trial {
            Trial::Int => {
                if let Some(negative) = plain_integer(cell) {
                    self.number = true;
                    self.negative |= negative;
                    return;
                }
            }
            Trial::Float if is_surely_canonical(cell, self.parser) => {
                self.number = true;
                return;
            }
            _ => {}
        }
        self.push_any(cell);
    }

    /// Adds a cell in any format.
    fn push_any(&mut self, cell: &[u8]) {
        if is_missing(cell) {
            self.missing = true;
            self.missing_text |= !cell.is_empty();
            return;
        }
        match self.trial {
            Trial::Text => {}
            Trial::Float => self.push_float(cell),
            Trial::Int => self.push_int(cell),
            Trial::UInt => self.push_uint(cell),
            Trial::Bool => self.push_bool(cell),
        }
    }

    // Each of the following methods adds a cell that is not missing, in one trial. If the cell does not fit, the method
    // changes the trial.

    fn push_int(&mut self, cell: &[u8]) {
        match parse_i64(cell) {
            Integer::Value(value) => {
                self.number = true;
                self.negative |= value < 0 || cell.contains(&b'-');
                self.is_canonical &= is_canonical_integer(cell);
            }
            Integer::Overflow => {
                self.trial = Trial::UInt;
                self.push_uint(cell);
            }
            Integer::Invalid | Integer::Negative => {
                self.is_canonical = !self.number;
                self.trial = Trial::Float;
                self.push_float(cell);
            }
        }
    }

    fn push_uint(&mut self, cell: &[u8]) {
        match parse_u64(cell) {
            Integer::Value(value) => {
                self.big |= value > i64::MAX as u64;
                self.is_canonical &= is_canonical_integer(cell);
            }
            Integer::Negative => {
                self.negative = true;
                self.no_float |= parse_f64(cell, self.parser).is_none();
            }
            Integer::Overflow => self.trial = Trial::Text,
            Integer::Invalid => {
                // pandas tries floats next, from the first cell on. The `uint64` trial accepts any cell that begins with a
                // minus. If such a cell is not a float, for example `-a`, the column becomes text.
                self.is_canonical = false;
                self.number = true;
                self.trial = if self.no_float {
                    Trial::Text
                } else {
                    Trial::Float
                };
                if self.trial == Trial::Float {
                    self.push_float(cell);
                }
            }
        }
        self.number = true;
    }

    fn push_float(&mut self, cell: &[u8]) {
        match parse_f64(cell, self.parser) {
            Some(value) => {
                self.number = true;
                self.is_canonical = self.is_canonical && is_canonical_f64(cell, value);
            }
            None if self.number => self.trial = Trial::Text,
            None => {
                self.trial = Trial::Bool;
                self.push_bool(cell);
            }
        }
    }

    fn push_bool(&mut self, cell: &[u8]) {
        if parse_bool(cell).is_none() {
            self.trial = Trial::Text;
        } else {
            self.is_canonical &= cell == b"True" || cell == b"False";
        }
    }

    pub fn finish(&self) -> BlockResult {
        let kind = match self.trial {
            Trial::Int if self.missing => BlockType::IntGaps,
            Trial::Int => BlockType::Int,
            Trial::UInt if self.big && (self.negative || self.missing) => BlockType::RawText,
            Trial::UInt if self.negative => BlockType::Text,
            Trial::UInt => BlockType::UInt,
            Trial::Float => BlockType::Float,
            Trial::Bool if self.missing => BlockType::BoolGaps,
            Trial::Bool => BlockType::Bool,
            Trial::Text => BlockType::Text,
        };
        let is_canonical = match kind {
            BlockType::RawText => true,
            BlockType::Text => !self.missing_text,
            // Integers become floats if the column has a missing cell.
            BlockType::IntGaps => !self.missing_text && !self.number,
            _ => !self.missing_text && self.is_canonical,
        };
        BlockResult {
            kind,
            missing: self.missing && kind != BlockType::RawText,
            is_canonical,
        }
    }
}

/// The type of a column after concatenating its blocks, as pandas does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum JoinedType {
    Int,
    UInt,
    /// Numbers of several types, or all `float64`.
    Float,
    /// Booleans, possibly with missing cells.
    Bool,
    /// Objects. Each block keeps its values.
    Object,
    /// Objects. Booleans are converted to the integers 0 and 1.
    ObjectOfIntegers,
    /// Objects. All values are converted to floats.
    ObjectOfFloats,
    Forced(ColumnType),
}

impl JoinedType {
    /// Joins the blocks of a column. A column without rows consists of objects.
    pub fn join(blocks: &[BlockResult]) -> Self {
        let has = |wanted: &[BlockType]| blocks.iter().any(|block| wanted.contains(&block.kind));
        let int = has(&[BlockType::Int]);
        let uint = has(&[BlockType::UInt]);
        let float = has(&[BlockType::Float, BlockType::IntGaps]);
        let bool = has(&[BlockType::Bool]);
        let gaps = has(&[BlockType::BoolGaps]);
        let text = has(&[BlockType::Text, BlockType::RawText]);
        match (int, uint, float, bool, gaps || text) {
            (true, false, false, false, false) => Self::Int,
            (false, true, false, false, false) => Self::UInt,
            (_, _, true, false, false) | (true, true, false, false, false) => Self::Float,
            (false, false, false, _, true) if !text => Self::Bool,
            (false, false, false, true, false) => Self::Bool,
            // NumPy converts the booleans to numbers. Afterwards, pandas converts all values to objects.
            (_, _, true, true, false) | (true, true, false, true, false) => Self::ObjectOfFloats,
            (_, _, false, true, false) => Self::ObjectOfIntegers,
            _ => Self::Object,
        }
    }

    pub fn column_type(self) -> ColumnType {
        match self {
            Self::Int => ColumnType::Int64,
            Self::UInt => ColumnType::UInt64,
            Self::Float => ColumnType::Float64,
            Self::Bool => ColumnType::Bool,
            Self::Object | Self::ObjectOfIntegers | Self::ObjectOfFloats => ColumnType::Text,
            Self::Forced(kind) => kind,
        }
    }

    /// Returns whether a block of type `kind` is formatted in this column in the same way as on its own.
    pub fn preserves(self, kind: BlockType) -> bool {
        match self {
            Self::Float => !matches!(kind, BlockType::Int | BlockType::UInt),
            Self::ObjectOfIntegers => kind != BlockType::Bool,
            Self::ObjectOfFloats => false,
            _ => true,
        }
    }
}

/// The value of a cell in a raw file.
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
/// Returns `None` if the cell does not fit the type. This happens if the caller requested the type, or if the text changed
/// after the scan.
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
            // pandas marks missing cells with the smallest `int64`, so a cell with this value becomes missing, too.
            i64::MIN => RawValue::Missing,
            value => RawValue::Float(value as f64),
        },
        BlockType::UInt => match parse_u64(cell) {
            Integer::Value(value) => RawValue::UInt(value),
            _ => return None,
        },
        BlockType::Float => RawValue::Float(parse_f64(cell, parser)?),
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

/// Parses a cell as `int64`.
fn int(cell: &[u8]) -> Option<i64> {
    match parse_i64(cell) {
        Integer::Value(value) => Some(value),
        _ => None,
    }
}

/// Returns the value of a cell in a column with a requested type. As in pandas, integers that are too large wrap around.
fn forced<'a>(cell: &'a [u8], kind: ColumnType, parser: FloatParser) -> Option<RawValue<'a>> {
    let missing = is_missing(cell);
    Some(match kind {
        ColumnType::Text | ColumnType::Json if missing => RawValue::Missing,
        ColumnType::Text | ColumnType::Json => RawValue::Text(cell),
        ColumnType::Float64 | ColumnType::Float32 if missing => RawValue::Missing,
        ColumnType::Float64 => RawValue::Float(parse_f64(cell, parser)?),
        ColumnType::Float32 => RawValue::Float32(parse_f64(cell, parser)? as f32),
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
