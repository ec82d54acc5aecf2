//! Parses a JSON text in memory.

use super::escape::TextCursor;
use super::scan::Scan;
use super::{
    JsonError, JsonErrorKind, JsonObject, JsonString, JsonValue, Position, escape, number,
};
use crate::limits::{DecodingLimits, Limit};

/// Lists and objects that are nested more deeply are an error. Python's limit is slightly higher: 1,000 minus the depth
/// of the call stack.
pub const MAX_DEPTH: usize = 980;

/// Parses a UTF-8 text that consists of one value.
///
/// # Errors
/// [`JsonError::Syntax`] if Python's `json.load` rejects the text.
pub fn parse(text: &[u8]) -> Result<JsonValue, JsonError> {
    parse_at(text, Position::START, 0, ParseOptions::default())
}

/// Like [`parse`], but limits the memory of the value to [`Limit::Record`].
///
/// # Errors
/// Same as [`parse`], and [`JsonErrorKind::Limit`].
pub fn parse_within(text: &[u8], limits: &DecodingLimits) -> Result<JsonValue, JsonError> {
    let options = ParseOptions {
        limits: *limits,
        ..ParseOptions::default()
    };
    parse_at(text, Position::START, 0, options)
}

/// Like [`parse`], but rejects duplicate keys, because programs may disagree about the value of such a key.
///
/// # Errors
/// Same as [`parse`], and [`JsonErrorKind::RepeatedKey`].
pub fn parse_unique(text: &[u8]) -> Result<JsonValue, JsonError> {
    let options = ParseOptions {
        unique_keys: true,
        ..ParseOptions::default()
    };
    parse_at(text, Position::START, 0, options)
}

/// Parses the number at the beginning of a text. Returns its value and its length in bytes.
pub(super) type NumberReader = fn(&[u8]) -> Result<(JsonValue, usize), JsonErrorKind>;

/// The implementation that defines the accepted grammar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum JsonGrammar {
    /// Python's `json`.
    #[default]
    Python,
    /// pandas' ujson. Differences from Python:
    ///
    /// - A number with point or exponent becomes `(i + f * 10^-d) * 10^e`, which is not always the nearest double. `i` is the
    ///   integer before the point, `f` is the integer of `d` digits after the point, and `e` is the exponent.
    /// - Numbers may have leading zeros, and a sign, point or exponent without digits.
    /// - Strings may contain control characters and unpaired surrogates. Some surrogates are dropped.
    /// - `NaN` is null.
    /// - A comma may follow the last member of an object.
    Ujson,
}

impl JsonGrammar {
    pub(super) fn number_reader(self) -> NumberReader {
        match self {
            Self::Python => number::read,
            Self::Ujson => number::read_ujson,
        }
    }
}

/// Whether lists and objects inside a record are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NestedValues {
    /// Lists and objects are read.
    #[default]
    Read,
    /// Lists and objects are skipped and become empty ones. Only their quotes and brackets are checked.
    Skip,
}

/// How a text is parsed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ParseOptions {
    pub grammar: JsonGrammar,
    pub nested: NestedValues,
    /// Whether a key that occurs twice in an object is an error. Otherwise its last value is used.
    pub unique_keys: bool,
    pub limits: DecodingLimits,
}

/// Parses one value of a larger text. The value begins at the position `start`, inside `depth` lists and objects.
pub(super) fn parse_at(
    text: &[u8],
    start: Position,
    depth: usize,
    options: ParseOptions,
) -> Result<JsonValue, JsonError> {
    let syntax = |kind, offset| {
        let before = text.get(..offset).unwrap_or(text);
        JsonError::Syntax {
            kind,
            position: start.advance(before),
        }
    };
    if text.starts_with(b"\xef\xbb\xbf") && start == Position::START {
        return Err(syntax(JsonErrorKind::ByteOrderMark, 0));
    }
    if let Err(error) = std::str::from_utf8(text) {
        return Err(syntax(JsonErrorKind::NotUtf8, error.valid_up_to()));
    }
    let mut parser = Parser {
        cursor: TextCursor { text, offset: 0 },
        grammar: options.grammar,
        number: options.grammar.number_reader(),
        deepest: match options.nested {
            NestedValues::Read => usize::MAX,
            NestedValues::Skip => depth,
        },
        unique_keys: options.unique_keys,
        limits: options.limits,
        used: 0,
    };
    let result = parser.value(depth).and_then(|value| {
        parser.cursor.skip_spaces();
        if parser.cursor.offset < text.len() {
            Err(JsonErrorKind::ExtraData)
        } else {
            Ok(value)
        }
    });
    result.map_err(|kind| syntax(kind, parser.cursor.offset))
}

/// The state of parsing. If a method fails, the cursor is at the position of the error.
struct Parser<'a> {
    cursor: TextCursor<'a>,
    grammar: JsonGrammar,
    number: NumberReader,
    /// Lists and objects at a greater depth are skipped.
    deepest: usize,
    unique_keys: bool,
    limits: DecodingLimits,
    /// Memory of the values parsed so far, in bytes.
    used: u64,
}

impl Parser<'_> {
    /// Counts the memory of one value, which may be ten times as large as the value's text.
    fn count<T>(&mut self) -> Result<(), JsonErrorKind> {
        self.used += size_of::<T>() as u64;
        Ok(self.limits.check(Limit::Record, self.used)?)
    }

    fn value(&mut self, depth: usize) -> Result<JsonValue, JsonErrorKind> {
        self.cursor.skip_spaces();
        let rest = self.cursor.rest();
        let (literal, value) = match rest {
            [b'"', ..] => return self.string().map(JsonValue::String),
            [b'{' | b'[', ..] if depth >= MAX_DEPTH => return Err(JsonErrorKind::TooDeep),
            [b'{' | b'[', ..] if depth > self.deepest => return self.skipped_value(depth),
            [b'{', ..] => return self.object(depth + 1),
            [b'[', ..] => return self.list(depth + 1),
            [b'n', ..] => ("null", JsonValue::Null),
            [b't', ..] => ("true", JsonValue::Bool(true)),
            [b'f', ..] => ("false", JsonValue::Bool(false)),
            [b'N', ..] if self.grammar == JsonGrammar::Ujson => ("NaN", JsonValue::Null),
            [b'N', ..] => ("NaN", JsonValue::Float(f64::NAN)),
            [b'I', ..] => ("Infinity", JsonValue::Float(f64::INFINITY)),
            [b'-', b'I', ..] => ("-Infinity", JsonValue::Float(f64::NEG_INFINITY)),
            number => {
                let (value, length) = (self.number)(number)?;
                self.cursor.offset += length;
                return Ok(value);
            }
        };
        if !rest.starts_with(literal.as_bytes()) {
            return Err(JsonErrorKind::ExpectedValue);
        }
        self.cursor.offset += literal.len();
        Ok(value)
    }

    fn string(&mut self) -> Result<JsonString, JsonErrorKind> {
        let content = self.cursor.rest().get(1..).unwrap_or_default();
        let read = match self.grammar {
            JsonGrammar::Python => escape::read(content),
            JsonGrammar::Ujson => escape::read_ujson(content),
        };
        match read {
            Ok((text, length)) => {
                self.cursor.offset += 1 + length;
                Ok(text)
            }
            Err((kind, offset)) => {
                self.cursor.offset += offset.map_or(0, |offset| offset + 1);
                Err(kind)
            }
        }
    }

    /// Skips a list or object. Returns an empty one in its place.
    fn skipped_value(&mut self, depth: usize) -> Result<JsonValue, JsonErrorKind> {
        let is_list = self.cursor.peek() == Some(b'[');
        match Scan::default().end(self.cursor.rest()) {
            Some(length) => self.cursor.offset += length,
            // The value does not end. Parsing it reports the error with its position.
            None if is_list => return self.list(depth + 1),
            None => return self.object(depth + 1),
        }
        Ok(match is_list {
            true => JsonValue::List(Vec::new()),
            false => JsonValue::Object(JsonObject::new()),
        })
    }

    fn list(&mut self, depth: usize) -> Result<JsonValue, JsonErrorKind> {
        self.cursor.offset += 1;
        let mut list = Vec::new();
        if self.cursor.accept(b']') {
            return Ok(JsonValue::List(list));
        }
        loop {
            list.push(self.value(depth)?);
            self.count::<JsonValue>()?;
            if self.comma_or(b']')? {
                return Ok(JsonValue::List(list));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<JsonValue, JsonErrorKind> {
        self.cursor.offset += 1;
        let mut object = JsonObject::new();
        if self.cursor.accept(b'}') {
            return Ok(JsonValue::Object(object));
        }
        loop {
            self.cursor.skip_spaces();
            let may_end = self.grammar == JsonGrammar::Ujson && !object.is_empty();
            if may_end && self.cursor.accept(b'}') {
                return Ok(JsonValue::Object(object));
            }
            if self.cursor.peek() != Some(b'"') {
                return Err(JsonErrorKind::ExpectedKey);
            }
            let key = self.string()?;
            if !self.cursor.accept(b':') {
                return Err(JsonErrorKind::ExpectedColon);
            }
            let value = self.value(depth)?;
            let former = object.insert(key, value);
            if self.unique_keys && former.is_some() {
                return Err(JsonErrorKind::RepeatedKey);
            }
            self.count::<(JsonString, JsonValue)>()?;
            if self.comma_or(b'}')? {
                return Ok(JsonValue::Object(object));
            }
        }
    }

    /// Skips a comma or `end`. Returns whether `end` was skipped.
    fn comma_or(&mut self, end: u8) -> Result<bool, JsonErrorKind> {
        let ended = self.cursor.comma_or(end);
        ended.ok_or(JsonErrorKind::ExpectedComma)
    }
}
