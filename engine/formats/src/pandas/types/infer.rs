//! The type of one column in one block of rows, found cell by cell.
//!
//! pandas tries `int64`, `float64`, `bool` and text in this order, each over the whole block, and stops a trial at the
//! first cell that does not fit. One pass does the same: every cell that fits an earlier trial fits the later numeric
//! one, so a state only has to remember what it passed. The trial of `uint64` starts when a cell overflows `int64`
//! before any cell was no integer at all.

use crate::pandas::FloatParser;
use crate::pandas::numbers::floats::parse_f64;
use crate::pandas::numbers::integers::{
    Integer, is_printed_integer, parse_i64, parse_u64, plain_integer,
};
use crate::pandas::numbers::print::is_printed_f64;
use crate::pandas::numbers::shortest::is_surely_printed;
use crate::pandas::numbers::words::{is_missing, parse_bool};

/// What pandas makes of a column in one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum BlockType {
    /// `int64`, nothing missing.
    Int,
    /// `float64` out of integers and missing cells, or of missing cells only.
    IntGaps,
    /// `uint64`.
    UInt,
    /// `float64`.
    Float,
    /// `bool`.
    Bool,
    /// Objects `True`, `False` and missing.
    BoolGaps,
    /// Text; words that mean "missing" are missing.
    Text,
    /// Text as it stands: also the words that mean "missing" elsewhere. Happens when `uint64` fails for mixed signs or gaps.
    RawText,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trial {
    Int,
    UInt,
    Float,
    Bool,
    Text,
}

/// A column in the current block.
#[derive(Debug, Clone)]
pub(crate) struct Inference {
    trial: Trial,
    parser: FloatParser,
    /// A cell is missing.
    missing: bool,
    /// A missing cell is written with a word.
    missing_word: bool,
    /// A cell is a number.
    number: bool,
    /// A cell is a negative integer (or starts like one, in the `uint64` trial).
    negative: bool,
    /// A cell is beyond `int64`, but not beyond `uint64`.
    big: bool,
    /// A cell of the `uint64` trial is no float.
    no_float: bool,
    /// All cells are written as the type of the trial is printed.
    printed: bool,
}

/// Result of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockResult {
    pub kind: BlockType,
    /// A cell is missing (for [`BlockType::RawText`]: none is).
    pub missing: bool,
    /// The cells are written as this type is printed when it stands alone. Quotes are not looked at.
    pub printed: bool,
}

impl Inference {
    pub fn new(parser: FloatParser) -> Self {
        Self {
            trial: Trial::Int,
            parser,
            missing: false,
            missing_word: false,
            number: false,
            negative: false,
            big: false,
            no_float: false,
            printed: true,
        }
    }

    /// A column that is text by request.
    pub fn text(parser: FloatParser) -> Self {
        Self {
            trial: Trial::Text,
            ..Self::new(parser)
        }
    }

    /// Whether the column is of texts in this block, whatever comes.
    #[inline]
    pub fn is_text(&self) -> bool {
        self.trial == Trial::Text
    }

    /// Whether the column is of integers so far, and one of them was there: another plain one changes nothing.
    #[inline]
    pub fn holds_integers(&self) -> bool {
        self.trial == Trial::Int && self.number
    }

    /// Looks at the next cell.
    #[inline]
    pub fn push(&mut self, cell: &[u8]) {
        // Most cells are like the one before. No word that means "missing" is such a number.
        match self.trial {
            Trial::Int => {
                if let Some(negative) = plain_integer(cell) {
                    self.number = true;
                    self.negative |= negative;
                    return;
                }
            }
            Trial::Float if is_surely_printed(cell, self.parser) => {
                self.number = true;
                return;
            }
            _ => {}
        }
        self.push_any(cell);
    }

    /// The same for any cell.
    fn push_any(&mut self, cell: &[u8]) {
        if is_missing(cell) {
            self.missing = true;
            self.missing_word |= !cell.is_empty();
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
                self.printed &= is_printed_integer(cell);
            }
            Integer::Overflow => {
                self.trial = Trial::UInt;
                self.push_uint(cell);
            }
            Integer::Invalid | Integer::Negative => {
                self.printed = !self.number;
                self.trial = Trial::Float;
                self.push_float(cell);
            }
        }
    }

    fn push_uint(&mut self, cell: &[u8]) {
        match parse_u64(cell) {
            Integer::Value(value) => {
                self.big |= value > i64::MAX as u64;
                self.printed &= is_printed_integer(cell);
            }
            Integer::Negative => {
                self.negative = true;
                self.no_float |= parse_f64(cell, self.parser).is_none();
            }
            Integer::Overflow => self.trial = Trial::Text,
            Integer::Invalid => {
                // The float trial starts over; the integers before fit it, unless one only began like a number.
                self.printed = false;
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
                self.printed = self.printed && is_printed_f64(cell, value);
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
            self.printed &= cell == b"True" || cell == b"False";
        }
    }

    /// Ends the block.
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
        let printed = match kind {
            BlockType::RawText => true,
            BlockType::Text => !self.missing_word,
            // Integers beside a gap are printed as floats.
            BlockType::IntGaps => !self.missing_word && !self.number,
            _ => !self.missing_word && self.printed,
        };
        BlockResult {
            kind,
            missing: self.missing && kind != BlockType::RawText,
            printed,
        }
    }
}
