//! Splits the text of a query into tokens.

use super::fault::Fault;
use super::tree::Position;

/// Symbols of several characters, longer ones first. Some are only for error messages with help.
const SYMBOLS: &[&str] = &[
    "!~*", "<=>", "->>", "!~", "!=", "==", "<>", "<=", ">=", "||", "::", "~*", "~~", "<<", ">>",
    "->", "=>", "@>", "<@", "&&", "|>", "|/", "//", "^@",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name or keyword without quotes.
    Word,
    /// A name in quotes.
    Name,
    /// A string literal.
    Text,
    Number,
    Symbol,
    End,
}

#[derive(Debug)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub text: String,
    pub start: Position,
    pub end: Position,
}

/// The tokens of a query. The last token is [`TokenKind::End`].
#[derive(Debug, Default)]
pub(super) struct Tokens {
    pub all: Vec<Token>,
    /// Starts and ends of the line comments (`--`).
    pub comments: Vec<(Position, Position)>,
}

impl Position {
    pub(crate) const START: Position = Position { line: 1, column: 1 };

    /// Returns line and column, which can be compared. In contrast, `==` of two `Position`s is always true.
    pub(super) fn pair(self) -> (u32, u32) {
        (self.line, self.column)
    }
}

impl Tokens {
    /// Splits the text of a query into tokens and comments.
    pub(super) fn read(text: &str) -> Result<Tokens, Fault> {
        let mut cursor = Cursor {
            rest: text,
            at: Position::START,
        };
        let mut tokens = Tokens::default();
        loop {
            cursor.take(char::is_whitespace);
            let start = cursor.at;
            if cursor.skip("--") {
                cursor.take(|next| next != '\n');
                tokens.comments.push((start, cursor.at));
            } else if cursor.rest.starts_with("/*") {
                cursor.comment()?;
            } else {
                let (kind, text) = cursor.token()?;
                let end = cursor.at;
                tokens.all.push(Token {
                    kind,
                    text,
                    start,
                    end,
                });
                if kind == TokenKind::End {
                    return Ok(tokens);
                }
            }
        }
    }

    /// Returns the end of the token that starts at a position.
    pub(super) fn end(&self, at: Position) -> Position {
        let index = self
            .all
            .partition_point(|token| token.start.pair() < at.pair());
        self.all.get(index).map_or(at, |token| token.end)
    }
}

struct Cursor<'t> {
    rest: &'t str,
    at: Position,
}

impl<'t> Cursor<'t> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Skips and returns the next character.
    fn next(&mut self) -> Option<char> {
        let mut rest = self.rest.chars();
        let next = rest.next()?;
        self.rest = rest.as_str();
        self.at = match next {
            '\n' => Position {
                line: self.at.line + 1,
                column: 1,
            },
            _ => Position {
                column: self.at.column + 1,
                ..self.at
            },
        };
        Some(next)
    }

    /// Skips `text` if the rest begins with it. Returns whether it does.
    fn skip(&mut self, text: &str) -> bool {
        let is_next = self.rest.starts_with(text);
        if is_next {
            for _ in text.chars() {
                self.next();
            }
        }
        is_next
    }

    /// Skips and returns the longest prefix of characters for which `is_part` is true.
    fn take(&mut self, is_part: impl Fn(char) -> bool) -> &'t str {
        let before = self.rest;
        while self.peek().is_some_and(&is_part) {
            self.next();
        }
        before.strip_suffix(self.rest).unwrap_or(before)
    }

    /// Skips a comment, which may contain other comments.
    fn comment(&mut self) -> Result<(), Fault> {
        let start = self.at;
        if self.rest.starts_with("/*+") {
            let help = "remove it: the engine chooses how to execute a query";
            return Err(Fault::unsupported(start, "/*+", help));
        }
        let mut depth = 0;
        loop {
            if self.skip("/*") {
                depth += 1;
            } else if self.skip("*/") {
                depth -= 1;
            } else if self.next().is_none() {
                return Err(Fault::syntax(start, "unterminated comment"));
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Skips and returns the next token.
    fn token(&mut self) -> Result<(TokenKind, String), Fault> {
        let start = self.at;
        let Some(first) = self.peek() else {
            return Ok((TokenKind::End, String::new()));
        };
        let after = self.rest.chars().nth(1);
        Ok(match first {
            '\'' => (TokenKind::Text, self.quoted('\'', "string literal")?),
            '"' | '`' => (TokenKind::Name, self.quoted(first, "name")?),
            'e' | 'E' if after == Some('\'') => {
                self.next();
                (TokenKind::Text, self.escaped()?)
            }
            _ if after == Some('\'') && first.is_alphabetic() => {
                let help = "write a string in single quotes";
                return Err(Fault::unsupported(start, &format!("{first}'...'"), help));
            }
            '0'..='9' => (TokenKind::Number, self.number()?),
            '.' if after.is_some_and(|next| next.is_ascii_digit()) => {
                (TokenKind::Number, self.number()?)
            }
            _ if first.is_alphabetic() || first == '_' => {
                let is_part = |next: char| next.is_alphanumeric() || matches!(next, '_' | '$');
                (TokenKind::Word, self.take(is_part).to_owned())
            }
            _ => {
                let symbol = SYMBOLS.iter().find(|symbol| self.skip(symbol));
                let symbol = symbol.map(|symbol| (*symbol).to_owned());
                let symbol = symbol.or_else(|| self.next().map(String::from));
                (TokenKind::Symbol, symbol.unwrap_or_default())
            }
        })
    }

    /// Reads a string or name in quotes. A doubled quote stands for a quote.
    fn quoted(&mut self, quote: char, what: &str) -> Result<String, Fault> {
        let start = self.at;
        self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                Some(end) if end == quote && self.peek() != Some(quote) => return Ok(text),
                Some(next) => {
                    if next == quote {
                        self.next();
                    }
                    text.push(next);
                }
                None => return Err(Fault::syntax(start, format!("unterminated {what}"))),
            }
        }
    }

    /// Reads a string literal in which a backslash begins an escape, after its prefix `e`.
    fn escaped(&mut self) -> Result<String, Fault> {
        let start = self.at;
        self.next();
        let mut text = String::new();
        loop {
            let at = self.at;
            match self.next() {
                None => return Err(Fault::syntax(start, "unterminated string literal")),
                Some('\'') if self.peek() != Some('\'') => return Ok(text),
                Some('\'') => text.extend(self.next()),
                Some('\\') => {
                    let digits = match self.peek() {
                        Some('x') => 2,
                        Some('u') => 4,
                        Some('U') => 8,
                        _ => 0,
                    };
                    let escape = self.next().unwrap_or('\\');
                    let code = self.rest.get(..digits).unwrap_or_default();
                    let code = u32::from_str_radix(code, 16).ok().and_then(char::from_u32);
                    let character = match (escape, code) {
                        (_, Some(code)) => code,
                        ('b', _) => '\u{8}',
                        ('f', _) => '\u{c}',
                        ('n', _) => '\n',
                        ('r', _) => '\r',
                        ('t', _) => '\t',
                        ('x' | 'u' | 'U' | '0'..='9', None) => {
                            let help = "write `\\u` and four hexadecimal digits";
                            return Err(Fault::unsupported(at, &format!("\\{escape}"), help));
                        }
                        (other, None) => other,
                    };
                    for _ in 0..digits {
                        self.next();
                    }
                    text.push(character);
                }
                Some(other) => text.push(other),
            }
        }
    }

    fn number(&mut self) -> Result<String, Fault> {
        let start = self.at;
        let is_digit = |next: char| next.is_ascii_digit();
        let mut digits = self.take(is_digit).to_owned();
        if self.skip(".") {
            digits.push('.');
            digits.push_str(self.take(is_digit));
        }
        if self.skip("e") || self.skip("E") {
            digits.push('e');
            digits.push_str(self.take(|next| matches!(next, '+' | '-')));
            digits.push_str(self.take(is_digit));
        }
        let rest = self.take(|next| next.is_alphanumeric() || next == '_');
        match rest.is_empty() && digits.parse::<f64>().is_ok() {
            true => Ok(digits),
            false => {
                let message = format!("`{digits}{rest}` is not a number");
                Err(Fault::syntax(start, message))
            }
        }
    }
}
