//! Reading a top-level list record by record, in memory of one record.

use std::io::Read;

use super::cursor::Cursor;
use super::{Grammar, JsonError, JsonErrorKind, Nested, Value};
use crate::limits::Limits;

/// Iterator over the records of a list.
///
/// Memory: the longest record and its value. After an error it ends.
#[derive(Debug)]
pub struct JsonRecords<R> {
    cursor: Cursor<R>,
    state: State,
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
            cursor: Cursor::new(input),
            state: State::BeforeList,
        }
    }

    /// Rejects records that take more memory than one record may, instead of [`Limits::default`].
    pub fn with_limits(mut self, limits: &Limits) -> Self {
        self.cursor.set_limits(limits);
        self
    }

    /// Reads values by this grammar instead of Python's.
    pub fn with_grammar(mut self, grammar: Grammar) -> Self {
        self.cursor.set_grammar(grammar);
        self
    }

    /// What becomes of the lists and objects inside an element that is a list or an object.
    pub fn with_nested(mut self, nested: Nested) -> Self {
        self.cursor.set_nested(nested);
        self
    }

    fn record(&mut self) -> Result<Option<Value>, JsonError> {
        loop {
            let next = self.cursor.skip_blanks()?;
            match (self.state, next) {
                (State::BeforeList, Some(b'[')) => self.state = State::First,
                (State::BeforeList, _) => {
                    return Err(self.cursor.error(JsonErrorKind::ExpectedList));
                }
                (State::First | State::Next, Some(b']')) => self.state = State::Done,
                (State::First, _) => return self.element().map(Some),
                (State::Next, Some(b',')) => {
                    self.cursor.consume(1);
                    self.cursor.skip_blanks()?;
                    return self.element().map(Some);
                }
                (State::Next, _) => return Err(self.cursor.error(JsonErrorKind::ExpectedComma)),
                (State::Done, None) => return Ok(None),
                (State::Done, Some(_)) => return Err(self.cursor.error(JsonErrorKind::ExtraData)),
            }
            self.cursor.consume(1);
        }
    }

    fn element(&mut self) -> Result<Value, JsonError> {
        let value = self.cursor.element(1)?;
        self.state = State::Next;
        Ok(value)
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
