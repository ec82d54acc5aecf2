//! Iterates over the elements of one list or object in a document that may be too large for memory.

use std::collections::HashSet;
use std::io;
use std::io::Read;

use super::parse::{ParseOptions, parse_at};
use super::scan::Scan;
use super::{JsonError, JsonErrorKind, JsonGrammar, JsonString, JsonValue, NestedValues, Position};
use crate::limits::{DecodingLimits, Limit};

/// Iterates over the elements of a list, or over the keys and values of an object. Ends after an error.
///
/// - The text must consist of one value. A path leads from this value to the list or object.
/// - The text before and after the list or object is skipped. Only its quotes and brackets are checked.
/// - One element and all keys of the iterated object are in memory.
/// - A duplicate key is an error: Python uses the last value of the key, but the iterator has already returned the first
///   value.
#[derive(Debug)]
pub struct JsonElements<R> {
    cursor: Cursor<R>,
    path: Vec<String>,
    /// Required kind of the value at the path; `None` allows both.
    expected: Option<Kind>,
    /// The lists and objects that contain the current position, outermost first. The iterator returns the elements of the
    /// innermost one.
    entered: Vec<Kind>,
    keys: HashSet<JsonString>,
    state: State,
}

/// An element: its key if it is in an object, and its value unless it was skipped.
type Element = (Option<JsonString>, Option<JsonValue>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    List,
    Object,
}

/// The position of the iterator in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the outermost value.
    Start,
    /// Before the first element of a list or object.
    First,
    /// After an element.
    Next,
    /// At the end, or after an error.
    Done,
}

impl<R: Read> JsonElements<R> {
    /// Reads the UTF-8 text `input`. A step of `path` is a key, or an index from 0. An empty path denotes the outermost
    /// value.
    pub fn new(input: R, path: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            cursor: Cursor::new(input),
            path: path.into_iter().map(Into::into).collect(),
            expected: None,
            entered: Vec::new(),
            keys: HashSet::new(),
            state: State::Start,
        }
    }

    /// Reads a text that consists of one list.
    pub fn list(input: R) -> Self {
        Self {
            expected: Some(Kind::List),
            ..Self::new(input, [""; 0])
        }
    }

    /// Reads a text that consists of one object.
    pub fn object(input: R) -> Self {
        Self {
            expected: Some(Kind::Object),
            ..Self::new(input, [""; 0])
        }
    }

    /// Limits the memory of an element with `limits` instead of [`DecodingLimits::default`].
    pub fn with_limits(mut self, limits: &DecodingLimits) -> Self {
        self.cursor.options.limits = *limits;
        self
    }

    /// Reads values with `grammar` instead of Python's.
    pub fn with_grammar(mut self, grammar: JsonGrammar) -> Self {
        self.cursor.options.grammar = grammar;
        self
    }

    /// Sets whether lists and objects inside an element are read or skipped.
    pub fn with_nested(mut self, nested: NestedValues) -> Self {
        self.cursor.options.nested = nested;
        self
    }

    /// Iterates over the elements without their keys.
    pub fn values(self) -> impl Iterator<Item = Result<JsonValue, JsonError>> {
        self.map(|element| element.map(|(_, value)| value))
    }

    /// Returns the next member of an [`object`](Self::object). Reads the value of the member only if `wanted` returns true
    /// for the key.
    pub fn next_member(
        &mut self,
        wanted: impl FnOnce(&JsonString) -> bool,
    ) -> Result<Option<(JsonString, Option<JsonValue>)>, JsonError> {
        let next = self.next_element(|key| key.is_none_or(wanted))?;
        Ok(next.and_then(|(key, value)| Some((key?, value))))
    }

    /// Returns the next element, without its value if `wanted` returns false for its key.
    fn next_element(
        &mut self,
        wanted: impl FnOnce(Option<&JsonString>) -> bool,
    ) -> Result<Option<Element>, JsonError> {
        if self.state == State::Done {
            return Ok(None);
        }
        let element = self.element(wanted);
        if !matches!(element, Ok(Some(_))) {
            self.state = State::Done;
        }
        element
    }

    fn element(
        &mut self,
        wanted: impl FnOnce(Option<&JsonString>) -> bool,
    ) -> Result<Option<Element>, JsonError> {
        if self.state == State::Start {
            for step in 0..self.path.len() {
                self.enter(None)?;
                self.find(step)?;
            }
            self.enter(self.expected)?;
        }
        if !self.advance()? {
            self.leave()?;
            return Ok(None);
        }
        let depth = self.entered.len();
        let key = match self.entered.last() {
            Some(Kind::Object) => Some(self.cursor.key()?),
            _ => None,
        };
        if let Some(key) = &key {
            self.cursor.keep(key)?;
            if !self.keys.insert(key.clone()) {
                return Err(self.cursor.error(JsonErrorKind::RepeatedKey));
            }
        }
        self.cursor.skip_spaces()?;
        let value = match wanted(key.as_ref()) {
            true => Some(self.cursor.element(depth)?),
            false => {
                self.cursor.skip_element()?;
                None
            }
        };
        Ok(Some((key, value)))
    }

    /// Enters the list or object at the current position. If `expected` is given, another kind of value is an error.
    fn enter(&mut self, expected: Option<Kind>) -> Result<(), JsonError> {
        let kind = match (self.cursor.skip_spaces()?, expected) {
            (Some(b'['), None | Some(Kind::List)) => Kind::List,
            (Some(b'{'), None | Some(Kind::Object)) => Kind::Object,
            (_, Some(Kind::List)) => return Err(self.cursor.error(JsonErrorKind::ExpectedList)),
            _ => return Err(self.cursor.error(JsonErrorKind::ExpectedListOrObject)),
        };
        self.cursor.consume(1);
        self.entered.push(kind);
        self.state = State::First;
        Ok(())
    }

    /// Moves to the element that `path[step]` names in the current list or object.
    fn find(&mut self, step: usize) -> Result<(), JsonError> {
        let mut index = 0usize;
        while self.advance()? {
            let is_wanted = match self.entered.last() {
                Some(Kind::Object) => self.is_on_path(step)?,
                _ => self
                    .path
                    .get(step)
                    .is_some_and(|name| *name == index.to_string()),
            };
            self.cursor.skip_spaces()?;
            if is_wanted {
                return Ok(());
            }
            self.cursor.skip_element()?;
            index += 1;
        }
        Err(self.cursor.error(JsonErrorKind::NoSuchElement { step }))
    }

    /// Reads the key at the current position. Returns whether it is the key `path[step]`.
    fn is_on_path(&mut self, step: usize) -> Result<bool, JsonError> {
        let key = self.cursor.key()?;
        Ok(key.as_str().is_some() && key.as_str() == self.path.get(step).map(String::as_str))
    }

    /// Moves to the next element of the current list or object. At its end, leaves it and returns `false`.
    fn advance(&mut self) -> Result<bool, JsonError> {
        let end = match self.entered.last() {
            Some(Kind::Object) => b'}',
            _ => b']',
        };
        match (self.state, self.cursor.skip_spaces()?) {
            (State::First | State::Next, Some(byte)) if byte == end => {
                self.cursor.consume(1);
                self.entered.pop();
                self.state = State::Next;
                Ok(false)
            }
            (State::First, _) => {
                self.state = State::Next;
                Ok(true)
            }
            (_, Some(b',')) => {
                self.cursor.consume(1);
                self.cursor.skip_spaces()?;
                Ok(true)
            }
            _ => Err(self.cursor.error(JsonErrorKind::ExpectedComma)),
        }
    }

    /// Skips the rest of the text and checks its brackets. A duplicate of a key on the path is an error, because Python would
    /// use the later value.
    fn leave(&mut self) -> Result<(), JsonError> {
        while let Some(kind) = self.entered.last().copied() {
            let step = self.entered.len() - 1;
            while self.advance()? {
                if kind == Kind::Object && self.is_on_path(step)? {
                    return Err(self.cursor.error(JsonErrorKind::RepeatedKey));
                }
                self.cursor.skip_spaces()?;
                self.cursor.skip_element()?;
            }
        }
        match self.cursor.skip_spaces()? {
            None => Ok(()),
            Some(_) => Err(self.cursor.error(JsonErrorKind::ExtraData)),
        }
    }
}

impl<R: Read> Iterator for JsonElements<R> {
    type Item = Result<(Option<JsonString>, JsonValue), JsonError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_element(|_| true).transpose()?;
        Some(next.map(|(key, value)| (key, value.unwrap_or(JsonValue::Null))))
    }
}

/// Each read requests at least this number of bytes.
const CHUNK_BYTES: usize = 256 * 1024;

/// Bytes that were read but not consumed, and their position in the text.
#[derive(Debug)]
pub(super) struct Cursor<R> {
    input: R,
    buffer: Vec<u8>,
    /// Index in `buffer` of the first unconsumed byte.
    start: usize,
    position: Position,
    /// Total size in bytes of the keys that callers keep.
    kept: u64,
    pub options: ParseOptions,
    at_end: bool,
}

impl<R: Read> Cursor<R> {
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            start: 0,
            position: Position::START,
            kept: 0,
            options: ParseOptions::default(),
            at_end: false,
        }
    }

    /// Counts the memory of a key that the caller keeps. Fails if the keys exceed [`Limit::Record`].
    pub fn keep(&mut self, key: &JsonString) -> Result<(), JsonError> {
        self.kept += (size_of::<JsonString>() + key.as_wtf8().len()) as u64;
        self.check(self.kept)
    }

    /// Returns an error if `bytes` exceeds [`Limit::Record`].
    fn check(&self, bytes: u64) -> Result<(), JsonError> {
        let checked = self.options.limits.check(Limit::Record, bytes);
        checked.map_err(|error| self.error(error.into()))
    }

    /// Skips whitespace. Returns the next byte, or `None` at the end of the input.
    pub fn skip_spaces(&mut self) -> Result<Option<u8>, JsonError> {
        loop {
            let unread = self.unread();
            let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
            let found = unread.iter().position(|byte| !is_space(byte));
            let byte = found.and_then(|index| unread.get(index)).copied();
            self.consume(found.unwrap_or(unread.len()));
            if byte.is_some() || !self.fill()? {
                return Ok(byte);
            }
        }
    }

    /// Reads the element at the current position, which is inside `depth` lists and objects.
    pub fn element(&mut self, depth: usize) -> Result<JsonValue, JsonError> {
        let length = self.length(Scan::default())?;
        let text = self.unread().get(..length).unwrap_or_default();
        let value = parse_at(text, self.position, depth, self.options)?;
        self.consume(length);
        Ok(value)
    }

    /// Reads the key at the current position, and the colon after it.
    pub fn key(&mut self) -> Result<JsonString, JsonError> {
        if self.skip_spaces()? != Some(b'"') {
            return Err(self.error(JsonErrorKind::ExpectedKey));
        }
        let length = self.length(Scan::of_key())?;
        let text = self.unread().get(..length).unwrap_or_default();
        let JsonValue::String(key) = parse_at(text, self.position, 0, self.options)? else {
            return Err(self.error(JsonErrorKind::ExpectedKey));
        };
        self.consume(length);
        if self.skip_spaces()? != Some(b':') {
            return Err(self.error(JsonErrorKind::ExpectedColon));
        }
        self.consume(1);
        Ok(key)
    }

    /// Skips the element at the current position without keeping it in memory. Checks only quotes and brackets.
    pub fn skip_element(&mut self) -> Result<(), JsonError> {
        let mut scan = Scan::default();
        let mut length = 0;
        loop {
            let end = scan.end(self.unread());
            let count = end.unwrap_or(self.unread().len());
            self.consume(count);
            length += count;
            if end.is_some() || !self.fill()? {
                return match length {
                    0 => Err(self.error(JsonErrorKind::ExpectedValue)),
                    _ => Ok(()),
                };
            }
        }
    }

    /// Returns the length in bytes of the element or key at the current position, and reads it into the buffer.
    fn length(&mut self, mut scan: Scan) -> Result<usize, JsonError> {
        let mut seen = 0;
        loop {
            let unread = self.unread();
            match scan.end(unread.get(seen..).unwrap_or_default()) {
                Some(end) => return Ok(seen + end),
                None => seen = unread.len(),
            }
            self.check(seen as u64)?;
            if !self.fill()? {
                return Ok(seen);
            }
        }
    }

    fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// Moves the current position forward by `count` bytes.
    pub fn consume(&mut self, count: usize) {
        let end = (self.start + count).min(self.buffer.len());
        self.position = self
            .position
            .advance(self.buffer.get(self.start..end).unwrap_or_default());
        self.start = end;
    }

    /// Reads more input into the buffer. Returns `false` at the end of the input.
    fn fill(&mut self) -> Result<bool, JsonError> {
        if self.at_end {
            return Ok(false);
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        // Long elements double the buffer, so that the number of reads stays small.
        let count = CHUNK_BYTES.max(self.buffer.len()) as u64;
        let read = io::Read::by_ref(&mut self.input)
            .take(count)
            .read_to_end(&mut self.buffer);
        match read {
            Ok(count) => {
                self.at_end = count == 0;
                Ok(count > 0)
            }
            Err(source) => {
                let offset = self.position.offset + self.buffer.len() as u64;
                Err(JsonError::Io { offset, source })
            }
        }
    }

    pub fn error(&self, kind: JsonErrorKind) -> JsonError {
        JsonError::Syntax {
            kind,
            position: self.position,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `key=value` for each member. The values of all members except `wanted` are skipped and shown as `-`.
    fn read(text: &str, wanted: &str) -> Result<Vec<String>, JsonError> {
        let mut members = JsonElements::object(text.as_bytes());
        let mut found = Vec::new();
        while let Some((key, value)) = members.next_member(|key| key.as_str() == Some(wanted))? {
            let value = value.map_or("-".to_owned(), |value| format!("{value:?}"));
            found.push(format!("{}={value}", key.to_string_lossy()));
        }
        assert!(matches!(members.next_member(|_| true), Ok(None)));
        Ok(found)
    }

    #[test]
    fn only_wanted_members_are_read() {
        let text = r#" { "a": [1, "}]", {"x": 2}] , "b":3,"c" :{} } "#;
        assert_eq!(read(text, "b").unwrap(), ["a=-", "b=Int(3)", "c=-"]);
        assert_eq!(read("{}", "b").unwrap(), Vec::<String>::new());
    }

    #[test]
    fn texts_that_are_not_one_valid_object_are_errors() {
        for text in [
            "",
            "[1]",
            "{",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{\"a\":1 \"b\":2}",
            "{} 1",
            "{\"a\":1,\"a\":2}",
            "{,}",
        ] {
            assert!(read(text, "b").is_err(), "{text}");
        }
    }
}
