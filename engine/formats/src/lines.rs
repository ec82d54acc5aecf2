//! Reads text files line by line, as Python does in text mode.
//!
//! The encoding is UTF-8, and a byte order mark is part of the first line. Only LF, CR LF and a lone CR end a line.

use std::io::{self, BufRead};

use memchr::memchr2;

use crate::limits::{DecodingLimits, Limit, LimitExceeded};

/// An error while reading lines. Line numbers start at 1.
#[derive(Debug, thiserror::Error)]
pub enum LinesError {
    /// The line is not UTF-8.
    #[error("line {line} is not UTF-8")]
    NotUtf8 {
        /// Number of the line.
        line: u64,
    },
    /// The line is longer than [`Limit::Record`].
    #[error("line {line} is too long")]
    TooLong {
        /// Number of the line.
        line: u64,
        /// The exceeded limit.
        #[source]
        cause: LimitExceeded,
    },
    /// An I/O error.
    #[error("cannot read line {line}")]
    Io {
        /// Number of the line.
        line: u64,
        /// The I/O error.
        source: io::Error,
    },
}

/// Iterates over the lines of a text file.
#[derive(Debug)]
pub struct TextLines<R> {
    input: R,
    buffer: Vec<u8>,
    count: u64,
    /// Whether the last line ended with CR. A following LF belongs to the same line ending.
    after_cr: bool,
    ended: bool,
    limits: DecodingLimits,
}

impl<R: BufRead> TextLines<R> {
    /// Reads from `input`.
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            count: 0,
            after_cr: false,
            ended: true,
            limits: DecodingLimits::default(),
        }
    }

    /// Limits the length of a line with `limits` instead of [`DecodingLimits::default`].
    pub fn with_limits(mut self, limits: &DecodingLimits) -> Self {
        self.limits = *limits;
        self
    }

    /// Returns whether the line that was read last ends with a line break. Only the last line of a file can lack one.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Returns the next line without its line ending, or `None` at the end of the file.
    pub fn next_line(&mut self) -> Result<Option<&str>, LinesError> {
        let line = self.count + 1;
        self.buffer.clear();
        let mut ended = false;
        while !ended {
            let available = match self.input.fill_buf() {
                Ok([]) => break,
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(LinesError::Io { line, source }),
            };
            let skipped = usize::from(self.after_cr && available.first() == Some(&b'\n'));
            self.after_cr = false;
            let rest = available.get(skipped..).unwrap_or_default();
            let end = memchr2(b'\n', b'\r', rest);
            let part = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            self.buffer.extend_from_slice(part);
            let mut used = skipped + part.len();
            if let Some(end) = end {
                ended = true;
                self.after_cr = rest.get(end) == Some(&b'\r');
                used += 1;
            }
            self.input.consume(used);
            let checked = self.limits.check(Limit::Record, self.buffer.len() as u64);
            checked.map_err(|cause| LinesError::TooLong { line, cause })?;
        }
        if !ended && self.buffer.is_empty() {
            return Ok(None);
        }
        self.count = line;
        self.ended = ended;
        let text = std::str::from_utf8(&self.buffer);
        text.map(Some).map_err(|_| LinesError::NotUtf8 { line })
    }
}
