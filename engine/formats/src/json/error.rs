//! Errors of the JSON reader, with their place.

use std::{fmt, io};

use crate::limits::LimitExceeded;

/// A place in a text.
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

    /// The place after `text`, when `self` is the place before it.
    pub(super) fn after(self, text: &[u8]) -> Self {
        let newlines = memchr::memchr_iter(b'\n', text).count() as u64;
        let last_line = memchr::memrchr(b'\n', text).map_or(0, |newline| newline + 1);
        // Every byte that does not continue a UTF-8 character begins one.
        let characters = text.get(last_line..).unwrap_or_default();
        let characters = characters
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

/// Why a text is not the JSON that Python reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JsonErrorKind {
    /// The bytes are not UTF-8.
    #[error("invalid UTF-8; the file may be in another encoding, such as latin-1")]
    NotUtf8,
    /// The text begins with a byte order mark.
    #[error("unexpected byte order mark; remove the first three bytes")]
    ByteOrderMark,
    /// A value should stand here.
    #[error("expected a value")]
    ExpectedValue,
    /// A key should stand here.
    #[error("expected a key in double quotes")]
    ExpectedKey,
    /// A `:` should stand here.
    #[error("expected `:` after the key")]
    ExpectedColon,
    /// A `,` or the end of the list or object should stand here.
    #[error("expected `,` or the end of the list or object")]
    ExpectedComma,
    /// The text should begin with `[`.
    #[error("expected a list of records")]
    ExpectedList,
    /// A list or an object should stand here.
    #[error("expected a list or an object")]
    ExpectedListOrObject,
    /// A path leads nowhere.
    #[error("there is no element {} of the path before here", .step + 1)]
    NoSuchElement {
        /// Which step of the path finds nothing, from 0.
        step: usize,
    },
    /// A key stands a second time, after its value was used.
    #[error("the key before here stands a second time in its object")]
    RepeatedKey,
    /// Something stands after the value.
    #[error("something stands after the end of the value")]
    ExtraData,
    /// A string has no end.
    #[error("the string that begins here has no end")]
    OpenString,
    /// A control character inside a string.
    #[error("control character inside a string; write it as an escape")]
    ControlCharacter,
    /// An escape that JSON does not have.
    #[error("invalid escape")]
    InvalidEscape,
    /// An integer of more digits than Python converts.
    #[error("an integer of more than 4300 digits")]
    TooManyDigits,
    /// An integer that ujson has no type for. Of some of more than 20 digits it makes another number.
    #[error("an integer beyond 64 bits, which pandas does not read")]
    IntegerTooLarge,
    /// The first half of a surrogate pair, before an escape that is not the second half.
    #[error("half a surrogate pair before another character")]
    HalfPair,
    /// Nested deeper than Python's recursion limit.
    #[error("nested deeper than {} levels", super::MAX_DEPTH)]
    TooDeep,
    /// The text of a value, or the value itself, takes more memory than the reader's limit.
    #[error("{0}")]
    Limit(#[from] LimitExceeded),
}

/// An error of the JSON reader.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// The text is not the JSON that Python reads.
    #[error("{kind}, at {position}")]
    Syntax {
        /// What is wrong.
        #[source]
        kind: JsonErrorKind,
        /// Where.
        position: Position,
    },
    /// Reading failed.
    #[error("reading JSON failed at byte {offset}")]
    Io {
        /// How many bytes were read before.
        offset: u64,
        /// Cause.
        #[source]
        source: io::Error,
    },
}
