//! Where a character of a scalar stands in the file.
//!
//! A scalar's text differs from what was written: indentation is stripped, lines are folded, escapes are resolved.
//! All of that leaves the characters that are not white space in their order, so one walk through both texts finds
//! each of them, in every style of YAML. White space is found exactly within a line and as the nearest place elsewhere.

use std::iter::Peekable;
use std::str::CharIndices;

use crate::diagnostic::{SourceFile, Span};
use crate::yaml::Style;

/// Byte offset in the file of the character at byte `offset` of a scalar's text; the scalar's end if there is none.
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

struct Walk<'a> {
    characters: Peekable<CharIndices<'a>>,
    len: usize,
    style: Style,
}

impl Walk<'_> {
    /// Place of the next character of the text, which is `wanted`; moves behind it.
    fn find(&mut self, wanted: char) -> usize {
        if wanted.is_whitespace() {
            return self.white_space(wanted);
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

    fn white_space(&mut self, wanted: char) -> usize {
        let Some(&(at, character)) = self.characters.peek() else {
            return self.len;
        };
        if character == wanted || character == '\n' {
            self.characters.next();
        } else if self.style == Style::DoubleQuoted && character == '\\' {
            self.characters.next();
            self.escape();
        }
        at
    }

    /// Moves behind an escape sequence whose backslash is passed; `None` for an escaped line break, which stands for
    /// nothing.
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
