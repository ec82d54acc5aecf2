//! Reformats a JSON text without building a value. The output is the same as after parsing and formatting.
//!
//! This is faster than parsing and formatting, because most of a text is the same in all styles. The functions return `None`
//! or `false` for duplicate keys, objects with many keys, and invalid text. The caller must parse such a text.

use std::ops::Range;

use super::escape::TextCursor;
use super::escape::{code_point, run};
use super::parse::NumberReader;
use super::write::{Pandas, Python, Style, first_code_point, push_escape};
use super::{JsonGrammar, JsonValue, MAX_DEPTH};

/// A style of formatting on one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonStyle {
    /// `json.dumps`, in ASCII.
    Python,
    /// `DataFrame.to_json`, see [`JsonValue::push_pandas`].
    Pandas,
}

/// An object with more members must be parsed, because the parser has an index of keys and finds duplicate keys faster.
const MAX_MEMBERS: usize = 32;

/// Formats `text` in the style `style`, and appends the result to `out`. `text` is one value in the grammar `grammar`.
///
/// Returns `false` and appends nothing if `text` is unusual, for example has a repeated key or very deep nesting. The
/// caller must then parse it.
pub fn reformat(text: &[u8], grammar: JsonGrammar, style: JsonStyle, out: &mut Vec<u8>) -> bool {
    let before = out.len();
    let done = match style {
        JsonStyle::Python => members::<Python>(text, grammar, out).is_some(),
        JsonStyle::Pandas => members::<Pandas>(text, grammar, out).is_some(),
    };
    if !done {
        out.truncate(before);
    }
    done
}

/// An object in Python's format, and the byte ranges of its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormattedObject {
    text: String,
    members: Vec<Member>,
}

/// The byte ranges of a member's key, with its quotes, and of its value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    key: Range<usize>,
    value: Range<usize>,
}

impl FormattedObject {
    /// Formats `text`, which is one value in the grammar `grammar`. Returns `None` if the value is not an object, or is
    /// unusual (see [`reformat`]). The caller must then parse it.
    pub fn new(text: &[u8], grammar: JsonGrammar) -> Option<FormattedObject> {
        if text.trim_ascii_start().first() != Some(&b'{') {
            return None;
        }
        let mut out = Vec::with_capacity(text.len() + text.len() / 8 + 64);
        let members = members::<Python>(text, grammar, &mut out)?;
        Some(FormattedObject {
            text: String::from_utf8(out).ok()?,
            members,
        })
    }

    /// Returns the formatted object.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Iterates over the formatted keys, with their quotes, and the formatted values.
    pub(super) fn members(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.members.iter().map(|member| {
            let part = |range: &Range<usize>| self.text.get(range.clone()).unwrap_or_default();
            (part(&member.key), part(&member.value))
        })
    }

    /// Returns the value of `key`, or `None` if the object does not contain this key.
    pub fn get(&self, key: &str) -> Option<JsonValue> {
        let (_, value) = self.members().find(|(text, _)| matches_key(text, key))?;
        super::parse(value.as_bytes()).ok()
    }

    /// Replaces the value of `key`. Does nothing if the object does not contain this key.
    pub fn set(&mut self, key: &str, value: &JsonValue) -> Result<(), super::JsonWriteError> {
        let Some(index) = self.members().position(|(text, _)| matches_key(text, key)) else {
            return Ok(());
        };
        let new = value.to_json(&super::WriteOptions::default())?;
        let new = String::from_utf8_lossy(&new);
        if let Some(member) = self.members.get_mut(index) {
            let (start, old) = (member.value.start, member.value.end);
            self.text.replace_range(member.value.clone(), &new);
            member.value.end = start + new.len();
            // The length of the value changes, so all later members move.
            let moved = |at: usize| at - old + start + new.len();
            for later in self.members.iter_mut().skip(index + 1) {
                later.key = moved(later.key.start)..moved(later.key.end);
                later.value = moved(later.value.start)..moved(later.value.end);
            }
        }
        Ok(())
    }
}

/// Returns whether `text`, a formatted key with its quotes, is the key `key`.
fn matches_key(text: &str, key: &str) -> bool {
    let content = text.get(1..text.len().saturating_sub(1));
    match text.contains('\\') {
        false => content == Some(key),
        true => super::parse(text.as_bytes()).is_ok_and(|text| text.as_str() == Some(key)),
    }
}

/// Formats the value `text` and appends it to `out`. Returns the members if the value is an object, and an empty list for
/// other values. Returns `None` if the value is unusual (see [`reformat`]).
fn members<S: Style>(text: &[u8], grammar: JsonGrammar, out: &mut Vec<u8>) -> Option<Vec<Member>> {
    std::str::from_utf8(text).ok()?;
    let mut reformatter = Reformatter {
        cursor: TextCursor { text, offset: 0 },
        grammar,
        number: grammar.number_reader(),
        out,
        members: Vec::new(),
    };
    reformatter.value::<S>(0)?;
    reformatter.cursor.skip_spaces();
    (reformatter.cursor.offset == text.len()).then_some(reformatter.members)
}

/// Traverses valid UTF-8 and formats it. A method returns `None` if the text is unusual (see [`reformat`]).
struct Reformatter<'t, 'o> {
    cursor: TextCursor<'t>,
    grammar: JsonGrammar,
    number: NumberReader,
    out: &'o mut Vec<u8>,
    /// The members of all unfinished objects. At the end, it contains only the members of the outermost object.
    members: Vec<Member>,
}

impl Reformatter<'_, '_> {
    fn value<S: Style>(&mut self, depth: usize) -> Option<()> {
        self.cursor.skip_spaces();
        match self.cursor.rest() {
            [b'"', ..] => self.string::<S>(),
            [b'{' | b'[', ..] if depth >= MAX_DEPTH => None,
            [b'{', ..] => self.object::<S>(depth),
            [b'[', ..] => self.list::<S>(depth),
            [b'n', ..] => self.copy_literal("null"),
            [b't', ..] => self.copy_literal("true"),
            [b'f', ..] => self.copy_literal("false"),
            [b'N', ..] if self.grammar == JsonGrammar::Ujson => {
                self.skip_literal("NaN")?;
                self.out.extend_from_slice(b"null");
                Some(())
            }
            [b'N', ..] => self.double::<S>("NaN", f64::NAN),
            [b'I', ..] => self.double::<S>("Infinity", f64::INFINITY),
            [b'-', b'I', ..] => self.double::<S>("-Infinity", f64::NEG_INFINITY),
            _ => self.number::<S>(),
        }
    }

    fn skip_literal(&mut self, literal: &str) -> Option<()> {
        self.cursor.rest().strip_prefix(literal.as_bytes())?;
        self.cursor.offset += literal.len();
        Some(())
    }

    fn copy_literal(&mut self, literal: &str) -> Option<()> {
        self.skip_literal(literal)?;
        self.out.extend_from_slice(literal.as_bytes());
        Some(())
    }

    /// Skips a literal and writes the double that it means.
    fn double<S: Style>(&mut self, literal: &str, value: f64) -> Option<()> {
        self.skip_literal(literal)?;
        S::push_float(self.out, value);
        Some(())
    }

    fn number<S: Style>(&mut self) -> Option<()> {
        let rest = self.cursor.rest();
        if let Some(length) = plain_integer(rest) {
            self.out.extend_from_slice(rest.get(..length)?);
            self.cursor.offset += length;
            return Some(());
        }
        let (value, length) = (self.number)(rest).ok()?;
        self.cursor.offset += length;
        match value {
            JsonValue::Int(int) => {
                let mut digits = itoa::Buffer::new();
                self.out.extend_from_slice(digits.format(int).as_bytes());
            }
            JsonValue::BigInt(digits) => self.out.extend_from_slice(digits.as_bytes()),
            JsonValue::Float(float) => S::push_float(self.out, float),
            _ => return None,
        }
        Some(())
    }

    fn string<S: Style>(&mut self) -> Option<()> {
        self.cursor.offset += 1;
        self.out.push(b'"');
        loop {
            let (plain, special) = self
                .cursor
                .rest()
                .split_at_checked(run(self.cursor.rest(), S::special))?;
            self.out.extend_from_slice(plain);
            self.cursor.offset += plain.len();
            let (character, length) = match special.first()? {
                b'"' => {
                    self.cursor.offset += 1;
                    self.out.push(b'"');
                    return Some(());
                }
                b'\\' => code_point(special).ok()?,
                0..0x20 => return None,
                _ => first_code_point(special)?,
            };
            self.cursor.offset += length;
            match u8::try_from(character) {
                Ok(byte) if byte < 0x80 && S::special(byte) == 0 => self.out.push(byte),
                // ujson drops some unpaired surrogates, and `to_json` cannot write them.
                _ if (!S::ALLOWS_UNPAIRED || self.grammar == JsonGrammar::Ujson)
                    && (0xd800..0xe000).contains(&character) =>
                {
                    return None;
                }
                _ => push_escape(self.out, character),
            }
        }
    }

    fn list<S: Style>(&mut self, depth: usize) -> Option<()> {
        self.cursor.offset += 1;
        self.out.push(b'[');
        if !self.cursor.accept(b']') {
            loop {
                self.value::<S>(depth + 1)?;
                if self.cursor.comma_or(b']')? {
                    break;
                }
                self.out.extend_from_slice(S::COMMA.as_bytes());
            }
        }
        self.out.push(b']');
        Some(())
    }

    fn object<S: Style>(&mut self, depth: usize) -> Option<()> {
        self.cursor.offset += 1;
        self.out.push(b'{');
        let first = self.members.len();
        if !self.cursor.accept(b'}') {
            loop {
                self.member::<S>(first, depth)?;
                if self.cursor.comma_or(b'}')? {
                    break;
                }
                self.out.extend_from_slice(S::COMMA.as_bytes());
            }
        }
        self.out.push(b'}');
        if depth > 0 {
            self.members.truncate(first);
        }
        Some(())
    }

    /// Formats a key and its value. `first` is the index in `members` of the object's first member.
    fn member<S: Style>(&mut self, first: usize, depth: usize) -> Option<()> {
        self.cursor.skip_spaces();
        if self.cursor.peek()? != b'"' {
            return None;
        }
        let start = self.out.len();
        self.string::<S>()?;
        let key = start..self.out.len();
        // Equal keys have equal formatted texts.
        let name = self.out.get(key.clone());
        let siblings = self.members.get(first..)?;
        let has_same_key = |sibling: &Member| self.out.get(sibling.key.clone()) == name;
        if siblings.len() >= MAX_MEMBERS || siblings.iter().any(has_same_key) {
            return None;
        }
        if !self.cursor.accept(b':') {
            return None;
        }
        self.out.extend_from_slice(S::COLON.as_bytes());
        let start = self.out.len();
        let index = self.members.len();
        self.members.push(Member {
            key,
            value: start..start,
        });
        self.value::<S>(depth + 1)?;
        self.members.get_mut(index)?.value.end = self.out.len();
        Some(())
    }
}

/// Returns the length of the integer at the beginning of `text`, if it needs no reformatting.
fn plain_integer(text: &[u8]) -> Option<usize> {
    /// Number of digits that certainly fit into 64 bits.
    const DIGITS: usize = 18;
    let sign = usize::from(text.first() == Some(&b'-'));
    let digits = text.get(sign..)?.iter().take(DIGITS + 1);
    let digits = digits.take_while(|byte| byte.is_ascii_digit()).count();
    let is_plain = match text.get(sign)? {
        b'0' => digits == 1 && sign == 0,
        _ => (1..=DIGITS).contains(&digits),
    };
    let is_integer = !matches!(text.get(sign + digits), Some(b'.' | b'e' | b'E'));
    (is_plain && is_integer).then_some(sign + digits)
}
