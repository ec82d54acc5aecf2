//! Errors when reading JSON, with their positions.

use std::{fmt, io};

use crate::limits::LimitExceeded;

/// A position in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Line, from 1.
    pub line: u64,
    /// Column in characters, from 1.
    pub column: u64,
    /// Offset in bytes, from 0.
    pub offset: u64,
}

impl Position {
    /// The start of a text.
    pub const START: Self = Self {
        line: 1,
        column: 1,
        offset: 0,
    };

    /// Returns the position after `text`, which begins at this position.
    pub(super) fn advance(self, text: &[u8]) -> Self {
        let newlines = memchr::memchr_iter(b'\n', text).count() as u64;
        let last_line = memchr::memrchr(b'\n', text).map_or(0, |newline| newline + 1);
        // Each byte that is not a UTF-8 continuation byte begins a character.
        let last_line = text.get(last_line..).unwrap_or_default();
        let characters = last_line
            .iter()
            .filter(|byte| **byte & 0xc0 != 0x80)
            .count() as u64;
        Self {
            line: self.line + newlines,
            column: if newlines == 0 { self.column } else { 1 } + characters,
            offset: self.offset + text.len() as u64,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "line {}, column {} (byte {})",
            self.line, self.column, self.offset
        )
    }
}

/// A violation of the JSON grammar, as Python implements it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JsonErrorKind {
    /// The bytes are not UTF-8.
    #[error("invalid UTF-8; the file may be in another encoding, such as latin-1")]
    NotUtf8,
    /// The text begins with a byte order mark, which Python rejects.
    #[error("unexpected byte order mark; remove the first three bytes")]
    ByteOrderMark,
    /// A value is missing.
    #[error("expected a value")]
    ExpectedValue,
    /// A key is missing.
    #[error("expected a key in double quotes")]
    ExpectedKey,
    /// A `:` is missing.
    #[error("expected `:` after the key")]
    ExpectedColon,
    /// A `,` or a closing bracket is missing.
    #[error("expected `,` or the end of the list or object")]
    ExpectedComma,
    /// The text does not begin with `[`.
    #[error("expected a list of records")]
    ExpectedList,
    /// The value is neither a list nor an object.
    #[error("expected a list or an object")]
    ExpectedListOrObject,
    /// The path does not exist in the text.
    #[error("part {} of the path does not exist in the list or object that ends before this position", .step + 1)]
    NoSuchElement {
        /// Index in the path of the missing step.
        step: usize,
    },
    /// A key occurs a second time, after the value of its first occurrence was used.
    #[error("the key before this position occurs twice in its object")]
    RepeatedKey,
    /// The text continues after the value.
    #[error("unexpected text after the end of the value")]
    ExtraData,
    /// A string does not end.
    #[error("the string that begins here does not end")]
    OpenString,
    /// A string contains a control character.
    #[error("control character inside a string; it must be escaped")]
    ControlCharacter,
    /// An unknown escape sequence.
    #[error("invalid escape")]
    InvalidEscape,
    /// An integer has more digits than Python converts.
    #[error("an integer of more than 4300 digits, which Python rejects")]
    TooManyDigits,
    /// An integer exceeds 64 bits. ujson rejects most of these integers, but misreads some with more than 20 digits.
    #[error("an integer beyond 64 bits, which pandas does not read")]
    IntegerTooLarge,
    /// An escaped first half of a surrogate pair is not followed by an escaped second half.
    #[error("unpaired surrogate before another character")]
    HalfPair,
    /// Values are nested deeper than Python's recursion limit.
    #[error("nested deeper than {} levels", super::MAX_DEPTH)]
    TooDeep,
    /// A value takes more memory than the limit of the reader.
    #[error("{0}")]
    Limit(#[from] LimitExceeded),
}

/// An error of the JSON reader.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// The text violates the grammar.
    #[error("at {position}")]
    Syntax {
        /// The violation.
        #[source]
        kind: JsonErrorKind,
        /// Position of the violation.
        position: Position,
    },
    /// An I/O error.
    #[error("reading JSON failed at byte {offset}")]
    Io {
        /// Number of bytes that were read before the error.
        offset: u64,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
}
