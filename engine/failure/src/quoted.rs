//! Quotes names and values in messages.
//!
//! Names and values come from files that this project did not write. Control characters, and characters that change the
//! direction of text, are written as escapes (`\n`, `\u{1b}`), so that a name cannot add lines to a message or hide a
//! part of itself. Long texts are shortened, because a name may have millions of characters.

use std::fmt::{self, Write};

/// A name in backticks, for example the path of a member of an archive or the name of a column.
///
/// ```
/// use prep_failure::Quoted;
/// assert_eq!(Quoted("train/a b.csv").to_string(), "`train/a b.csv`");
/// assert_eq!(Quoted("a\nerror: b").to_string(), r"`a\nerror: b`");
/// assert_eq!(Quoted("\u{202e}gpj.exe").to_string(), r"`\u{202e}gpj.exe`");
/// assert!(Quoted(&"a".repeat(1 << 20)).to_string().ends_with("a...`"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quoted<'a>(pub &'a str);

/// A value from the data in double quotes, for example a cell of a table.
///
/// ```
/// use prep_failure::QuotedValue;
/// assert_eq!(QuotedValue("it's 1.50").to_string(), r#""it's 1.50""#);
/// assert_eq!(QuotedValue("a\tb").to_string(), r#""a\tb""#);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotedValue<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quoted(f, '`', self.0)
    }
}

impl fmt::Display for QuotedValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quoted(f, '"', self.0)
    }
}

/// Maximum number of characters of a text that are written.
const MAX_CHARACTERS: usize = 1_000;

fn write_quoted(f: &mut fmt::Formatter<'_>, quote: char, text: &str) -> fmt::Result {
    f.write_char(quote)?;
    for (number, c) in text.chars().enumerate() {
        if number == MAX_CHARACTERS {
            f.write_str("...")?;
            break;
        }
        match c {
            '\n' | '\r' | '\t' => write!(f, "{}", c.escape_default())?,
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                write!(f, "{}", c.escape_unicode())?
            }
            c if c.is_control() => write!(f, "{}", c.escape_unicode())?,
            c => f.write_char(c)?,
        }
    }
    f.write_char(quote)
}
