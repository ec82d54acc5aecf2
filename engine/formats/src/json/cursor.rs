//! A text that is read in pieces, for readers that never hold all of it.

use std::io::{self, Read};

use super::parse::{Reading, parse_at};
use super::scan::Scan;
use super::{Grammar, JsonError, JsonErrorKind, JsonString, Nested, Position, Value};
use crate::limits::{Limit, Limits};

/// The input is read in pieces of this size.
const PIECE: usize = 256 * 1024;

/// What is read and not yet used, and where in the text that is.
#[derive(Debug)]
pub(super) struct Cursor<R> {
    input: R,
    buffer: Vec<u8>,
    /// Where the unread part of `buffer` begins.
    start: usize,
    /// The place of `buffer[start]` in the text.
    position: Position,
    /// Bytes of keys that are kept.
    kept: u64,
    reading: Reading,
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
            reading: Reading::default(),
            at_end: false,
        }
    }

    /// Rejects elements that take more memory than one record may.
    pub fn set_limits(&mut self, limits: &Limits) {
        self.reading.limits = *limits;
    }

    /// Counts a key that the caller keeps, to notice that it is repeated.
    pub fn keep(&mut self, key: &JsonString) -> Result<(), JsonError> {
        self.kept += (size_of::<JsonString>() + key.as_wtf8().len()) as u64;
        self.check(self.kept)
    }

    fn check(&self, bytes: u64) -> Result<(), JsonError> {
        let checked = self.reading.limits.check(Limit::Record, bytes);
        checked.map_err(|error| self.error(error.into()))
    }

    /// Reads values by this grammar.
    pub fn set_grammar(&mut self, grammar: Grammar) {
        self.reading.grammar = grammar;
    }

    /// Reads what is nested, or passes over it.
    pub fn set_nested(&mut self, nested: Nested) {
        self.reading.nested = nested;
    }

    /// The next byte that is not blank; `None` at the end.
    pub fn skip_blanks(&mut self) -> Result<Option<u8>, JsonError> {
        loop {
            let unread = self.unread();
            let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
            let found = unread.iter().position(|byte| !blank(byte));
            let byte = found.and_then(|place| unread.get(place)).copied();
            self.consume(found.unwrap_or(unread.len()));
            if byte.is_some() || !self.fill()? {
                return Ok(byte);
            }
        }
    }

    /// The element that begins here, inside `depth` lists and objects.
    pub fn element(&mut self, depth: usize) -> Result<Value, JsonError> {
        let length = self.length(Scan::default())?;
        let text = self.unread().get(..length).unwrap_or_default();
        let value = parse_at(text, self.position, depth, self.reading)?;
        self.consume(length);
        Ok(value)
    }

    /// The key that begins here, and the colon after it.
    pub fn key(&mut self) -> Result<JsonString, JsonError> {
        if self.skip_blanks()? != Some(b'"') {
            return Err(self.error(JsonErrorKind::ExpectedKey));
        }
        let length = self.length(Scan::of_key())?;
        let text = self.unread().get(..length).unwrap_or_default();
        let Value::String(key) = parse_at(text, self.position, 0, self.reading)? else {
            return Err(self.error(JsonErrorKind::ExpectedKey));
        };
        self.consume(length);
        if self.skip_blanks()? != Some(b':') {
            return Err(self.error(JsonErrorKind::ExpectedColon));
        }
        self.consume(1);
        Ok(key)
    }

    /// Goes over the element that begins here, without holding or checking it: only quotes and brackets are looked at.
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

    /// How long the element is that begins here; it is in the buffer then.
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

    pub fn consume(&mut self, count: usize) {
        let end = (self.start + count).min(self.buffer.len());
        self.position = self
            .position
            .after(self.buffer.get(self.start..end).unwrap_or_default());
        self.start = end;
    }

    /// Reads more; `false` at the end of the input.
    fn fill(&mut self) -> Result<bool, JsonError> {
        if self.at_end {
            return Ok(false);
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        // Growing in proportion keeps a long element from being scanned in vain.
        let want = PIECE.max(self.buffer.len()) as u64;
        let read = io::Read::by_ref(&mut self.input)
            .take(want)
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
