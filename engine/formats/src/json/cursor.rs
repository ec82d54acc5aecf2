//! Reads a JSON text piece by piece, for readers that do not keep the entire text in memory.

use std::io::{self, Read};

use super::parse::{ParseOptions, parse_at};
use super::scan::Scan;
use super::{JsonError, JsonErrorKind, JsonString, JsonValue, Position};
use crate::limits::Limit;

/// Size in bytes of the chunks in which the input is read.
const CHUNK_BYTES: usize = 256 * 1024;

/// The bytes that were read but not consumed, and their position in the text.
#[derive(Debug)]
pub(super) struct Cursor<R> {
    input: R,
    buffer: Vec<u8>,
    /// Index in `buffer` of the first byte that is not consumed.
    start: usize,
    /// The position of `buffer[start]` in the text.
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

    /// Counts a key that the caller keeps in order to detect repeated keys.
    pub fn keep(&mut self, key: &JsonString) -> Result<(), JsonError> {
        self.kept += (size_of::<JsonString>() + key.as_wtf8().len()) as u64;
        self.check(self.kept)
    }

    fn check(&self, bytes: u64) -> Result<(), JsonError> {
        let checked = self.options.limits.check(Limit::Record, bytes);
        checked.map_err(|error| self.error(error.into()))
    }

    /// Skips white space. Returns the next byte, or `None` at the end.
    pub fn skip_spaces(&mut self) -> Result<Option<u8>, JsonError> {
        loop {
            let unread = self.unread();
            let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
            let found = unread.iter().position(|byte| !blank(byte));
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

    /// Reads the key at the current position and the colon after it.
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

    /// Skips the element at the current position without keeping it in memory. Only quotes and brackets are
    /// interpreted.
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

    /// Reads the element at the current position into the buffer and returns its length.
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
            .advance(self.buffer.get(self.start..end).unwrap_or_default());
        self.start = end;
    }

    /// Reads more input. Returns `false` at the end.
    fn fill(&mut self) -> Result<bool, JsonError> {
        if self.at_end {
            return Ok(false);
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        // The buffer grows in proportion to its size, so that a long element is not scanned too often.
        let want = CHUNK_BYTES.max(self.buffer.len()) as u64;
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
