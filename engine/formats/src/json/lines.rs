//! JSON lines: one value per line.

use std::io::{self, BufRead};

use super::parse::parse_at;
use super::{JsonError, Position, Value};

/// Iterator over the values of a file with one value per line. Lines of blanks
/// only are skipped, as pandas does; `\r\n` and a missing last line break are
/// fine. After an error it ends.
#[derive(Debug)]
pub struct JsonLines<R> {
    input: R,
    line: Vec<u8>,
    position: Position,
    done: bool,
}

impl<R: BufRead> JsonLines<R> {
    /// Reads from `input`, in UTF-8.
    pub fn new(input: R) -> Self {
        Self {
            input,
            line: Vec::new(),
            position: Position::START,
            done: false,
        }
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
                return parse_at(&self.line, start, 0).map(Some);
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
