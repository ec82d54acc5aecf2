//! The reader for a whole text in memory.

use super::scan::Scan;
use super::{
    JsonError, JsonErrorKind, JsonString, Object, Position, Value, escape, number, pandas,
};
use crate::limits::{Limit, Limits};

/// Lists and objects may be nested this deep. Python's limit depends on the
/// calls that are under way; with the usual 1,000 it is a little above this.
pub const MAX_DEPTH: usize = 980;

/// Reads one value that fills `text`, in UTF-8.
///
/// # Errors
/// [`JsonError::Syntax`] where Python's `json.load` refuses the text.
pub fn parse(text: &[u8]) -> Result<Value, JsonError> {
    parse_at(text, Position::START, 0, Reading::default())
}

/// Reads one value that fills `text`, in UTF-8, and takes no more memory than one record may.
///
/// # Errors
/// Those of [`parse`], and [`JsonErrorKind::Limit`].
pub fn parse_within(text: &[u8], limits: &Limits) -> Result<Value, JsonError> {
    let reading = Reading {
        limits: *limits,
        ..Reading::default()
    };
    parse_at(text, Position::START, 0, reading)
}

/// Reads a number at the front of a text: the value and its length.
pub(super) type NumberReader = fn(&[u8]) -> Result<(Value, usize), JsonErrorKind>;

/// Whose reader decides what a text means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Grammar {
    /// Python's `json`.
    #[default]
    Python,
    /// pandas' ujson. A number with point or exponent is (whole + fraction x 10^-d) x 10^exponent, computed in doubles, which
    /// is not always the nearest double to what is spelled. Numbers may lack digits and have leading zeros, strings may hold
    /// control characters and halves of surrogate pairs, of which some are dropped. `NaN` is null, and an object's last
    /// member may be followed by a comma.
    Ujson,
}

impl Grammar {
    pub(super) fn number_reader(self) -> NumberReader {
        match self {
            Self::Python => number::read,
            Self::Ujson => pandas::number,
        }
    }
}

/// What becomes of the lists and objects in a record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Nested {
    /// They are read.
    #[default]
    Read,
    /// They are passed over, so that a list or object is an empty one; of what is in them only quotes and brackets are
    /// looked at. For who only wants to know what kind of value a member has.
    PassedOver,
}

/// How values are read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reading {
    pub grammar: Grammar,
    pub nested: Nested,
    /// A value may take as much memory as one record.
    pub limits: Limits,
}

/// [`parse`] of a part of a text, which begins at `start` inside `depth` lists.
pub(super) fn parse_at(
    text: &[u8],
    start: Position,
    depth: usize,
    reading: Reading,
) -> Result<Value, JsonError> {
    let syntax = |kind, offset| {
        let before = text.get(..offset).unwrap_or(text);
        JsonError::Syntax {
            kind,
            position: start.after(before),
        }
    };
    if text.starts_with(b"\xef\xbb\xbf") && start == Position::START {
        return Err(syntax(JsonErrorKind::ByteOrderMark, 0));
    }
    if let Err(error) = std::str::from_utf8(text) {
        return Err(syntax(JsonErrorKind::NotUtf8, error.valid_up_to()));
    }
    let mut parser = Parser {
        text,
        place: 0,
        grammar: reading.grammar,
        number: reading.grammar.number_reader(),
        deepest: match reading.nested {
            Nested::Read => usize::MAX,
            Nested::PassedOver => depth,
        },
        limits: reading.limits,
        used: 0,
    };
    let result = parser.value(depth).and_then(|value| {
        parser.skip_blanks();
        if parser.place < text.len() {
            Err(JsonErrorKind::ExtraData)
        } else {
            Ok(value)
        }
    });
    result.map_err(|kind| syntax(kind, parser.place))
}

/// `place` is where an error is to be reported when a method fails.
struct Parser<'a> {
    text: &'a [u8],
    place: usize,
    grammar: Grammar,
    number: NumberReader,
    /// Lists and objects inside more than so many others are passed over.
    deepest: usize,
    limits: Limits,
    /// Bytes of memory that the values take so far.
    used: u64,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.place).copied()
    }

    fn rest(&self) -> &[u8] {
        self.text.get(self.place..).unwrap_or_default()
    }

    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.place += 1;
        }
    }

    /// Counts a value that is put into a list or object: short texts can be values of ten times their size.
    fn count<T>(&mut self) -> Result<(), JsonErrorKind> {
        self.used += size_of::<T>() as u64;
        Ok(self.limits.check(Limit::Record, self.used)?)
    }

    fn value(&mut self, depth: usize) -> Result<Value, JsonErrorKind> {
        self.skip_blanks();
        let rest = self.rest();
        let (word, value) = match rest {
            [b'"', ..] => return self.string().map(Value::String),
            [b'{' | b'[', ..] if depth >= MAX_DEPTH => return Err(JsonErrorKind::TooDeep),
            [b'{' | b'[', ..] if depth > self.deepest => return self.passed_over(depth),
            [b'{', ..] => return self.object(depth + 1),
            [b'[', ..] => return self.list(depth + 1),
            [b'n', ..] => ("null", Value::Null),
            [b't', ..] => ("true", Value::Bool(true)),
            [b'f', ..] => ("false", Value::Bool(false)),
            [b'N', ..] if self.grammar == Grammar::Ujson => ("NaN", Value::Null),
            [b'N', ..] => ("NaN", Value::Float(f64::NAN)),
            [b'I', ..] => ("Infinity", Value::Float(f64::INFINITY)),
            [b'-', b'I', ..] => ("-Infinity", Value::Float(f64::NEG_INFINITY)),
            number => {
                let (value, length) = (self.number)(number)?;
                self.place += length;
                return Ok(value);
            }
        };
        if !rest.starts_with(word.as_bytes()) {
            return Err(JsonErrorKind::ExpectedValue);
        }
        self.place += word.len();
        Ok(value)
    }

    /// A string; `place` is at its opening quote.
    fn string(&mut self) -> Result<JsonString, JsonErrorKind> {
        let content = self.text.get(self.place + 1..).unwrap_or_default();
        let read = match self.grammar {
            Grammar::Python => escape::read(content),
            Grammar::Ujson => escape::read_ujson(content),
        };
        match read {
            Ok((text, length)) => {
                self.place += 1 + length;
                Ok(text)
            }
            Err((kind, offset)) => {
                self.place += offset.map_or(0, |offset| offset + 1);
                Err(kind)
            }
        }
    }

    /// The list or object that begins here, as an empty one.
    fn passed_over(&mut self, depth: usize) -> Result<Value, JsonErrorKind> {
        let is_list = self.peek() == Some(b'[');
        match Scan::default().end(self.rest()) {
            Some(length) => self.place += length,
            // It has no end: reading it tells why.
            None if is_list => return self.list(depth + 1),
            None => return self.object(depth + 1),
        }
        Ok(match is_list {
            true => Value::List(Vec::new()),
            false => Value::Object(Object::new()),
        })
    }

    fn list(&mut self, depth: usize) -> Result<Value, JsonErrorKind> {
        self.place += 1;
        let mut list = Vec::new();
        self.skip_blanks();
        if self.peek() == Some(b']') {
            self.place += 1;
            return Ok(Value::List(list));
        }
        loop {
            list.push(self.value(depth)?);
            self.count::<Value>()?;
            if self.comma_or(b']')? {
                return Ok(Value::List(list));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, JsonErrorKind> {
        self.place += 1;
        let mut object = Object::new();
        self.skip_blanks();
        if self.peek() == Some(b'}') {
            self.place += 1;
            return Ok(Value::Object(object));
        }
        loop {
            self.skip_blanks();
            if self.grammar == Grammar::Ujson && self.peek() == Some(b'}') && !object.is_empty() {
                self.place += 1;
                return Ok(Value::Object(object));
            }
            if self.peek() != Some(b'"') {
                return Err(JsonErrorKind::ExpectedKey);
            }
            let key = self.string()?;
            self.skip_blanks();
            if self.peek() != Some(b':') {
                return Err(JsonErrorKind::ExpectedColon);
            }
            self.place += 1;
            let value = self.value(depth)?;
            object.insert(key, value);
            self.count::<(JsonString, Value)>()?;
            if self.comma_or(b'}')? {
                return Ok(Value::Object(object));
            }
        }
    }

    /// After an element: `true` at the end, `false` after a comma.
    fn comma_or(&mut self, end: u8) -> Result<bool, JsonErrorKind> {
        self.skip_blanks();
        let ended = match self.peek() {
            Some(byte) if byte == end => true,
            Some(b',') => false,
            _ => return Err(JsonErrorKind::ExpectedComma),
        };
        self.place += 1;
        Ok(ended)
    }
}
