//! Infers the type of one column in one block of rows, cell by cell.
//!
//! pandas tries `int64`, `float64`, `bool` and text in this order. Each trial starts at the beginning of the block and
//! stops at the first cell that does not fit. One pass is sufficient here, because every number that fits an earlier
//! trial also fits the later numeric one. So the state only records properties of the previous cells. The trial of
//! `uint64` begins if a cell exceeds `int64` and all cells before it were integers.

use crate::pandas::FloatParser;
use crate::pandas::numbers::floats::parse_f64;
use crate::pandas::numbers::integers::{
    Integer, is_canonical_integer, parse_i64, parse_u64, plain_integer,
};
use crate::pandas::numbers::print::is_canonical_f64;
use crate::pandas::numbers::shortest::is_surely_canonical;
use crate::pandas::numbers::words::{is_missing, parse_bool};

/// The type that pandas infers for a column in one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum BlockType {
    /// `int64`, without missing cells.
    Int,
    /// `float64`, from integers and missing cells, or from missing cells only.
    IntGaps,
    /// `uint64`.
    UInt,
    /// `float64`.
    Float,
    /// `bool`.
    Bool,
    /// Objects `True`, `False` and missing cells.
    BoolGaps,
    /// Text. Values such as `NA` are missing cells.
    Text,
    /// Text in which values such as `NA` are text, too. This happens if `uint64` fails because of mixed signs or
    /// missing cells.
    RawText,
}

/// The type that is currently tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trial {
    Int,
    UInt,
    Float,
    Bool,
    Text,
}

/// The state of inferring the type of a column in the current block.
#[derive(Debug, Clone)]
pub(crate) struct Inference {
    trial: Trial,
    parser: FloatParser,
    /// Whether any cell is missing.
    missing: bool,
    /// Whether a missing cell is not empty but a text, such as `NA`.
    missing_text: bool,
    /// Whether any cell is a number.
    number: bool,
    /// Whether any cell is a negative integer. In the `uint64` trial: whether any cell begins with a minus.
    negative: bool,
    /// Whether any cell exceeds `int64` but not `uint64`.
    big: bool,
    /// Whether any cell of the `uint64` trial is not a float.
    no_float: bool,
    /// Whether the text of each cell equals the formatted value of the tried type.
    is_canonical: bool,
}

/// The inferred type of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockResult {
    pub kind: BlockType,
    /// Whether any cell is missing; always false for [`BlockType::RawText`].
    pub missing: bool,
    /// Whether the text of each cell equals the formatted value of this type. Quotes are ignored.
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

    /// Creates the state of a column that is text because this type was requested.
    pub fn text(parser: FloatParser) -> Self {
        Self {
            trial: Trial::Text,
            ..Self::new(parser)
        }
    }

    /// Whether the column is text in this block, regardless of later cells.
    #[inline]
    pub fn is_text(&self) -> bool {
        self.trial == Trial::Text
    }

    /// Whether the column so far contains only integers and missing cells, with at least one integer. Another plain
    /// integer then does not change the state.
    #[inline]
    pub fn contains_only_integers(&self) -> bool {
        self.trial == Trial::Int && self.number
    }

    /// Adds a cell.
    #[inline]
    pub fn push(&mut self, cell: &[u8]) {
        // Fast path: most cells have the same format as the previous one, and no missing cell has this format.
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
                // The float trial begins again. The integers so far are floats, unless a cell only began like a number.
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

    /// Returns the inferred type of the block.
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
