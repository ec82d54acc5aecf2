//! Reading a top-level list record by record, in memory of one record.

use std::io::{self, Read};

use super::parse::parse_at;
use super::{JsonError, JsonErrorKind, Position, Value};

/// The input is read in pieces of this size.
const PIECE: usize = 256 * 1024;
/// Longest record unless set otherwise, in bytes.
const DEFAULT_LIMIT: usize = 1 << 30;

/// Iterator over the records of a list.
///
/// Memory: the longest record and its value. After an error it ends.
#[derive(Debug)]
pub struct JsonRecords<R> {
    input: R,
    buffer: Vec<u8>,
    /// Where the unread part of `buffer` begins.
    start: usize,
    /// The place of `buffer[start]` in the text.
    position: Position,
    state: State,
    limit: usize,
    at_end: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    BeforeList,
    /// After `[`: a record or the end of the list.
    First,
    /// After a record: a comma or the end of the list.
    Next,
    Done,
}

impl<R: Read> JsonRecords<R> {
    /// Reads the list that fills `input`, in UTF-8.
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            start: 0,
            position: Position::START,
            state: State::BeforeList,
            limit: DEFAULT_LIMIT,
            at_end: false,
        }
    }

    /// Refuses records of more than `limit` bytes instead of 1 GiB.
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    fn record(&mut self) -> Result<Option<Value>, JsonError> {
        loop {
            let next = self.skip_blanks()?;
            match (self.state, next) {
                (State::BeforeList, Some(b'[')) => self.state = State::First,
                (State::BeforeList, _) => return Err(self.error(JsonErrorKind::ExpectedList)),
                (State::First | State::Next, Some(b']')) => self.state = State::Done,
                (State::First, _) => return self.element().map(Some),
                (State::Next, Some(b',')) => {
                    self.consume(1);
                    self.skip_blanks()?;
                    return self.element().map(Some);
                }
                (State::Next, _) => return Err(self.error(JsonErrorKind::ExpectedComma)),
                (State::Done, None) => return Ok(None),
                (State::Done, Some(_)) => return Err(self.error(JsonErrorKind::ExtraData)),
            }
            self.consume(1);
        }
    }

    /// One element, which begins at the front.
    fn element(&mut self) -> Result<Value, JsonError> {
        let mut scan = Scan::default();
        let mut seen = 0;
        let length = loop {
            let unread = self.unread();
            match scan.end(unread.get(seen..).unwrap_or_default()) {
                Some(end) => break seen + end,
                None => seen = unread.len(),
            }
            if seen > self.limit {
                return Err(self.error(JsonErrorKind::RecordTooLong { limit: self.limit }));
            }
            if !self.fill()? {
                break seen;
            }
        };
        let text = self.unread().get(..length).unwrap_or_default();
        let value = parse_at(text, self.position, 1)?;
        self.consume(length);
        self.state = State::Next;
        Ok(value)
    }

    /// The next byte that is not blank; `None` at the end.
    fn skip_blanks(&mut self) -> Result<Option<u8>, JsonError> {
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

    fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    fn consume(&mut self, count: usize) {
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
        // Growing in proportion keeps a long record from being scanned in vain.
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

    fn error(&self, kind: JsonErrorKind) -> JsonError {
        JsonError::Syntax {
            kind,
            position: self.position,
        }
    }
}

impl<R: Read> Iterator for JsonRecords<R> {
    type Item = Result<Value, JsonError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.state == State::Done {
            return None;
        }
        let result = self.record();
        if result.is_err() {
            self.state = State::Done;
        }
        result.transpose()
    }
}

/// Finds the end of an element without reading it: quotes and brackets suffice.
#[derive(Debug, Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Scan {
    /// The end of the element in `text`, which continues what was seen before.
    fn end(&mut self, text: &[u8]) -> Option<usize> {
        for (place, byte) in text.iter().enumerate() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'[' | b'{' => self.depth += 1,
                b']' | b'}' if self.depth > 0 => self.depth -= 1,
                b']' | b'}' | b',' if self.depth == 0 => return Some(place),
                _ => {}
            }
        }
        None
    }
}
