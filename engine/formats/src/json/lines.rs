//! Reads files with one JSON value per line (JSON Lines).

use std::io::{self, BufRead, Read};

use super::parse::{ParseOptions, parse_at};
use super::{FormattedObject, JsonError, JsonGrammar, JsonValue, NestedValues, Position};
use crate::limits::{DecodingLimits, Limit};
use crate::python::is_python_space;

/// The value of a line.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonLine {
    /// An object that was formatted without being parsed.
    Formatted(FormattedObject),
    /// A parsed value.
    Value(JsonValue),
}

/// Iterates over the values of a file with one value per line. Ends after an error.
///
/// As in pandas, lines of whitespace are skipped. Lines may end with `\r\n`, and the last line may lack a line break.
#[derive(Debug)]
pub struct JsonLines<R> {
    input: R,
    line: Vec<u8>,
    position: Position,
    number: u64,
    options: ParseOptions,
    done: bool,
}

impl<R: BufRead> JsonLines<R> {
    /// Reads `input`, in UTF-8.
    pub fn new(input: R) -> Self {
        Self {
            input,
            line: Vec::new(),
            position: Position::START,
            number: 0,
            options: ParseOptions::default(),
            done: false,
        }
    }

    /// Reads values with `grammar` instead of Python's.
    pub fn with_grammar(mut self, grammar: JsonGrammar) -> Self {
        self.options.grammar = grammar;
        self
    }

    /// Limits the length of lines and the memory of values with `limits` instead of [`DecodingLimits::default`].
    pub fn with_limits(mut self, limits: &DecodingLimits) -> Self {
        self.options.limits = *limits;
        self
    }

    /// Sets whether lists and objects inside the values of the following lines are read or skipped.
    pub fn set_nested(&mut self, nested: NestedValues) {
        self.options.nested = nested;
    }

    /// Returns the line number of the last value, counted from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the next line like the iterator, but formats an object without parsing it if possible.
    pub fn next_line(&mut self) -> Option<Result<JsonLine, JsonError>> {
        self.next_as(|text, start, options| {
            if options.nested == NestedValues::Read
                && let Some(printed) = FormattedObject::new(text, options.grammar)
            {
                return Ok(JsonLine::Formatted(printed));
            }
            parse_at(text, start, 0, options).map(JsonLine::Value)
        })
    }

    /// Reads the next line. Returns the value that `make` creates from the line's text, its position and the options.
    fn next_as<T>(
        &mut self,
        make: impl FnOnce(&[u8], Position, ParseOptions) -> Result<T, JsonError>,
    ) -> Option<Result<T, JsonError>> {
        if self.done {
            return None;
        }
        let result = self.line(make);
        self.done = !matches!(result, Ok(Some(_)));
        result.transpose()
    }

    /// Reads the next line that is not only whitespace, and converts it with `make`. Returns `None` at the end of the file.
    fn line<T>(
        &mut self,
        make: impl FnOnce(&[u8], Position, ParseOptions) -> Result<T, JsonError>,
    ) -> Result<Option<T>, JsonError> {
        loop {
            self.line.clear();
            let start = self.position;
            let failed = |source: io::Error| JsonError::Io {
                offset: start.offset,
                source,
            };
            let limits = &self.options.limits;
            // Reads one byte more than allowed, to detect a line that is too long.
            let max_bytes = limits.record.saturating_add(1);
            let input = Read::by_ref(&mut self.input);
            let read = input.take(max_bytes).read_until(b'\n', &mut self.line);
            if read.map_err(failed)? == 0 {
                return Ok(None);
            }
            let checked = limits.check(Limit::Record, self.line.len() as u64);
            checked.map_err(|error| JsonError::Syntax {
                kind: error.into(),
                position: start,
            })?;
            self.position = start.advance(&self.line);
            let (before, text) = match self.options.grammar {
                JsonGrammar::Python => (0, self.line.as_slice()),
                JsonGrammar::Ujson => stripped(&self.line),
            };
            if !text.trim_ascii().is_empty() {
                self.number = start.line;
                let start = start.advance(self.line.get(..before).unwrap_or_default());
                return make(text, start, self.options).map(Some);
            }
        }
    }
}

/// Strips whitespace like Python's `str.strip`, as pandas does. Returns the offset of the stripped text, and the text.
fn stripped(line: &[u8]) -> (usize, &[u8]) {
    let is_plain = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_graphic);
    let text = line.trim_ascii();
    if is_plain(text.first()) && is_plain(text.last()) {
        return (line.len() - line.trim_ascii_start().len(), text);
    }
    let Ok(line) = std::str::from_utf8(line) else {
        return (0, line);
    };
    let text = line.trim_start_matches(is_python_space);
    let before = line.len() - text.len();
    (before, text.trim_end_matches(is_python_space).as_bytes())
}

impl<R: BufRead> Iterator for JsonLines<R> {
    type Item = Result<JsonValue, JsonError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_as(|text, start, options| parse_at(text, start, 0, options))
    }
}
