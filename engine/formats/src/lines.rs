//! Text files line by line, as Python reads them in text mode: UTF-8, and LF,
//! CR LF and a lone CR each end a line. No other character does (vertical tab,
//! form feed, U+0085, U+2028 ...). A byte order mark is part of the first line.

use std::io::{self, BufRead};

use memchr::memchr2;

use crate::limits::{Limit, LimitExceeded, Limits};

/// Why a text file is refused. Lines count from 1.
#[derive(Debug, thiserror::Error)]
pub enum LinesError {
    /// Not text.
    #[error("line {line} is not UTF-8")]
    NotUtf8 {
        /// The line.
        line: u64,
    },
    /// A line takes more memory than one record may.
    #[error("line {line}: {cause}")]
    TooLong {
        /// The line.
        line: u64,
        /// The limit.
        #[source]
        cause: LimitExceeded,
    },
    /// Reading failed.
    #[error("cannot read line {line}")]
    Io {
        /// The line.
        line: u64,
        /// The cause.
        source: io::Error,
    },
}

/// Reads a text file line by line.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// Lines read so far.
    count: u64,
    /// The last line ended with a CR; an LF that follows belongs to it.
    after_cr: bool,
    /// The last line had an end.
    ended: bool,
    limits: Limits,
}

impl<R: BufRead> Lines<R> {
    /// Reads from `input`.
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            count: 0,
            after_cr: false,
            ended: true,
            limits: Limits::default(),
        }
    }

    /// Rejects lines that take more memory than one record may, instead of [`Limits::default`].
    pub fn with_limits(mut self, limits: &Limits) -> Self {
        self.limits = *limits;
        self
    }

    /// Whether the line that was read last had an end; only the last line of a
    /// file may have none.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// The next line without its end; none after the last one. What follows the
    /// last line's end is a line only if it is not empty.
    ///
    /// # Errors
    /// [`LinesError`].
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
