//! JSON lines: one value per line.

use std::io::{self, BufRead};

use super::parse::{Reading, parse_at};
use super::{JsonError, Nested, Numbers, Position, Value};

/// Iterator over the values of a file with one value per line. Lines of blanks
/// only are skipped, as pandas does; `\r\n` and a missing last line break are
/// fine. After an error it ends.
#[derive(Debug)]
pub struct JsonLines<R> {
    input: R,
    line: Vec<u8>,
    position: Position,
    /// The line of the last value.
    number: u64,
    reading: Reading,
    done: bool,
}

impl<R: BufRead> JsonLines<R> {
    /// Reads from `input`, in UTF-8.
    pub fn new(input: R) -> Self {
        Self {
            input,
            line: Vec::new(),
            position: Position::START,
            number: 0,
            reading: Reading::default(),
            done: false,
        }
    }

    /// Reads numbers with this arithmetic instead of Python's.
    pub fn with_numbers(mut self, numbers: Numbers) -> Self {
        self.reading.numbers = numbers;
        self
    }

    /// What becomes of the lists and objects inside a line's list or object.
    pub fn with_nested(mut self, nested: Nested) -> Self {
        self.reading.nested = nested;
        self
    }

    /// The line, from 1, on which the last value stood.
    pub fn number(&self) -> u64 {
        self.number
    }

    fn value(&mut self) -> Result<Option<Value>, JsonError> {
        loop {
            self.line.clear();
            let start = self.position;
            let failed = |source: io::Error| JsonError::Io {
                offset: start.offset,
                source,
            };
            if self
                .input
                .read_until(b'\n', &mut self.line)
                .map_err(failed)?
                == 0
            {
                return Ok(None);
            }
            self.position = start.after(&self.line);
            if !self.line.trim_ascii().is_empty() {
                self.number = start.line;
                return parse_at(&self.line, start, 0, self.reading).map(Some);
            }
        }
    }
}

impl<R: BufRead> Iterator for JsonLines<R> {
    type Item = Result<Value, JsonError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let result = self.value();
        self.done = !matches!(result, Ok(Some(_)));
        result.transpose()
    }
}
