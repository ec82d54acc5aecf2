//! Maps positions in a scalar's text to positions in the file.
//!
//! YAML folds lines and resolves escapes, but characters other than whitespace keep their order. Therefore a single pass
//! through both texts finds the position of each of these characters. Between lines, the position of whitespace is
//! approximate.

use std::iter::Peekable;
use std::str::CharIndices;

use super::diagnostic::{SourceFile, Span};
use super::yaml::Style;
use crate::query::offset;
use crate::query::tree::Position;

/// Converts a line and column of a scalar's text to a position in the file. Line and column start at 1.
pub fn located(
    source: &SourceFile,
    span: Span,
    style: Style,
    text: &str,
    (line, column): (u64, u64),
) -> Span {
    let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    let at = Position {
        line: number(line),
        column: number(column),
    };
    let start = place(source, span, style, text, offset(text, at));
    Span::new(start, start)
}

/// Converts `offset`, a byte offset in `text`, to a byte offset in the file. `text` is the text of the scalar at
/// `span`. If `offset` is at the end of `text`, returns the end of the scalar.
pub fn place(source: &SourceFile, span: Span, style: Style, text: &str, offset: usize) -> usize {
    let written = source.slice(span);
    let quote = matches!(style, Style::SingleQuoted | Style::DoubleQuoted);
    let (start, inner) = match quote {
        true => (
            span.start + 1,
            written
                .get(1..written.len().saturating_sub(1))
                .unwrap_or(""),
        ),
        false => (span.start, written),
    };
    let mut walk = Walk {
        characters: inner.char_indices().peekable(),
        len: inner.len(),
        style,
    };
    for (at, character) in text.char_indices() {
        let found = walk.find(character);
        if at >= offset {
            return start + found;
        }
    }
    start + inner.trim_end().len()
}

/// A pass through the text in the file, in parallel to the scalar's text.
struct Walk<'a> {
    characters: Peekable<CharIndices<'a>>,
    len: usize,
    style: Style,
}

impl Walk<'_> {
    /// Moves past the next character of the scalar, which is `expected`. Returns its offset in the file's text.
    fn find(&mut self, expected: char) -> usize {
        if expected.is_whitespace() {
            return self.white_space(expected);
        }
        loop {
            let Some(&(at, character)) = self.characters.peek() else {
                return self.len;
            };
            match (self.style, character) {
                (Style::DoubleQuoted, '\\') => {
                    self.characters.next();
                    if self.escape().is_some() {
                        return at;
                    }
                }
                (_, character) if character.is_whitespace() => {
                    self.characters.next();
                }
                (Style::SingleQuoted, '\'') => {
                    self.characters.next();
                    self.characters.next();
                    return at;
                }
                _ => {
                    self.characters.next();
                    return at;
                }
            }
        }
    }

    /// Moves past the white-space character `expected`, which may be written as a line break or as an escape. Returns
    /// its position.
    fn white_space(&mut self, expected: char) -> usize {
        let Some(&(at, character)) = self.characters.peek() else {
            return self.len;
        };
        if character == expected || character == '\n' {
            self.characters.next();
        } else if self.style == Style::DoubleQuoted && character == '\\' {
            self.characters.next();
            self.escape();
        }
        at
    }

    /// Moves past an escape sequence. Returns `None` for an escaped line break, which is not text.
    fn escape(&mut self) -> Option<()> {
        let (_, kind) = self.characters.next()?;
        let digits = match kind {
            '\n' | '\r' => return None,
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        for _ in 0..digits {
            self.characters.next();
        }
        Some(())
    }
}
