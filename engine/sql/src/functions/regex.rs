//! Replaces two functions of DataFusion:
//!
//! - `regexp_match(text, pattern, flags)` returns NULL for groups that do not take part in the match. DataFusion's function
//!   drops these groups.
//! - `regexp_replace(text, pattern, replacement, flags)` interprets `\1`, `\0`, `\&` and `\\` in the replacement, but
//!   not `$1` and `$name`.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListBuilder, StringArray, StringBuilder};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ColumnarValue, Signature, TypeSignature, Volatility};
use regex::Regex;

use super::json::{argument_error, failed, texts};
use super::scalar::{LastParsed, ResultSize, SimpleFunction};

pub(super) fn functions() -> [SimpleFunction; 2] {
    let signature = |counts: [usize; 2]| {
        let texts = counts.map(|count| TypeSignature::Uniform(count, vec![DataType::Utf8]));
        Signature::one_of(texts.to_vec(), Volatility::Immutable)
    };
    let list = |_: &[DataType]| Ok(DataType::new_list(DataType::Utf8, true));
    [
        SimpleFunction::new("regexp_match", signature([2, 3]), list, match_groups),
        SimpleFunction::new(
            "regexp_replace",
            signature([3, 4]),
            |_| Ok(DataType::Utf8),
            replace,
        ),
    ]
}

fn match_groups(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let [text, pattern, flags @ ..] = columns else {
        return Err(argument_error("regexp_match takes a string and a pattern"));
    };
    let texts = texts(text)?;
    let mut patterns = Patterns::new(pattern, flags)?;
    let mut lists = ListBuilder::new(StringBuilder::new());
    for row in 0..texts.len() {
        let pattern = patterns.at(row)?.filter(|_| texts.is_valid(row));
        if pattern.is_some_and(|pattern| pattern.all) {
            return Err(argument_error("regexp_match does not take the flag `g`"));
        }
        let Some(groups) = pattern.and_then(|found| found.regex.captures(texts.value(row))) else {
            lists.append_null();
            continue;
        };
        // `groups` begins with the entire match. It is returned only if the pattern has no groups.
        let skipped = usize::from(groups.len() > 1);
        for group in groups.iter().skip(skipped) {
            lists
                .values()
                .append_option(group.map(|found| found.as_str()));
        }
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}

fn replace(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let mut rows = Rows::new(columns)?;
    let mut out = StringBuilder::new();
    for row in 0..rows.texts.len() {
        match rows.at(row)? {
            Some(replaced) => {
                let _ = replaced.write(&mut out);
                out.append_value("");
            }
            None => out.append_null(),
        }
    }
    Ok(Arc::new(out.finish()))
}

/// Bounds the size of `regexp_replace`. Counts the matches only if a rough bound exceeds `limit`.
pub(super) fn replaced_size(args: &[ColumnarValue], rows: usize, limit: u64) -> Result<ResultSize> {
    let columns = args.iter().map(|arg| arg.to_array(rows));
    let mut cells = Rows::new(&columns.collect::<Result<Vec<_>>>()?)?;
    for is_counted in [false, true] {
        let mut size = ResultSize::default();
        for row in 0..rows {
            if let Some(replaced) = cells.at(row)? {
                size.add(replaced.max_bytes(is_counted));
            }
        }
        if is_counted || size.total <= limit {
            return Ok(size);
        }
    }
    Ok(ResultSize::default())
}

/// The patterns of all rows, and the last compiled pattern, which most rows share.
struct Patterns {
    texts: StringArray,
    flags: Option<StringArray>,
    last: Option<(String, String, Pattern)>,
}

impl Patterns {
    fn new(column: &ArrayRef, flags: &[ArrayRef]) -> Result<Patterns> {
        Ok(Patterns {
            texts: texts(column)?,
            flags: flags.first().map(texts).transpose()?,
            last: None,
        })
    }

    fn at(&mut self, row: usize) -> Result<Option<&Pattern>> {
        let columns = std::iter::once(&self.texts).chain(&self.flags);
        if columns.into_iter().any(|column| column.is_null(row)) {
            return Ok(None);
        }
        let text = self.texts.value(row);
        let flags = self.flags.as_ref().map_or("", |flags| flags.value(row));
        if !matches!(&self.last, Some((last, of, _)) if last == text && of == flags) {
            let pattern = Pattern::new(text, flags)?;
            self.last = Some((text.to_owned(), flags.to_owned(), pattern));
        }
        Ok(self.last.as_ref().map(|(_, _, pattern)| pattern))
    }
}

/// The arguments of `regexp_replace` in all rows, and the replacement that was parsed last.
struct Rows {
    texts: StringArray,
    patterns: Patterns,
    replacements: StringArray,
    parsed: LastParsed<Vec<Part>>,
}

struct Pattern {
    regex: Regex,
    /// Whether the flags contain `g`.
    all: bool,
}

/// A part of a replacement.
enum Part {
    Text(String),
    /// A group of the pattern. Group 0 is the entire match.
    Group(usize),
}

impl Rows {
    fn new(columns: &[ArrayRef]) -> Result<Rows> {
        let [text, pattern, replacement, flags @ ..] = columns else {
            return Err(argument_error(
                "regexp_replace takes a string, a pattern and a replacement",
            ));
        };
        Ok(Rows {
            texts: texts(text)?,
            patterns: Patterns::new(pattern, flags)?,
            replacements: texts(replacement)?,
            parsed: LastParsed::default(),
        })
    }

    fn at(&mut self, row: usize) -> Result<Option<Replaced<'_>>> {
        if self.texts.is_null(row) || self.replacements.is_null(row) {
            return Ok(None);
        }
        let Some(pattern) = self.patterns.at(row)? else {
            return Ok(None);
        };
        let replacement = self.replacements.value(row);
        let parts = self.parsed.get(replacement, |text| Ok(parts(text)))?;
        let text = self.texts.value(row);
        Ok(Some(Replaced {
            text,
            pattern,
            parts,
        }))
    }
}

/// Compiles a pattern with flags. Ignores the flag `g`, which concerns only replacements.
pub(crate) fn compiled(pattern: &str, flags: &str) -> std::result::Result<Regex, regex::Error> {
    match flags.replace('g', "").as_str() {
        "" => Regex::new(pattern),
        flags => Regex::new(&format!("(?{flags}){pattern}")),
    }
}

impl Pattern {
    fn new(pattern: &str, flags: &str) -> Result<Pattern> {
        Ok(Pattern {
            regex: compiled(pattern, flags).map_err(failed)?,
            all: flags.contains('g'),
        })
    }
}

/// Splits a replacement into its parts.
fn parts(replacement: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut characters = replacement.chars().peekable();
    while let Some(character) = characters.next() {
        let next = characters.peek().copied().filter(|_| character == '\\');
        let group = match next {
            Some('&') => Some(0),
            Some(digit) => digit.to_digit(10),
            None => None,
        };
        if let Some(group) = group {
            parts.push(Part::Text(std::mem::take(&mut text)));
            parts.push(Part::Group(group as usize));
        } else {
            text.push(character);
        }
        if group.is_some() || next == Some('\\') {
            characters.next();
        }
    }
    parts.push(Part::Text(text));
    parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
    parts
}

/// The text of a row. In this text, the matches of `pattern` are replaced by `parts`.
struct Replaced<'r> {
    text: &'r str,
    pattern: &'r Pattern,
    parts: &'r [Part],
}

impl Replaced<'_> {
    /// Returns the maximum number of matches to replace.
    fn max_matches(&self) -> usize {
        if self.pattern.all { usize::MAX } else { 1 }
    }

    fn write(&self, out: &mut impl Write) -> std::fmt::Result {
        let mut end = 0;
        let has_groups = self.parts.iter().any(|part| matches!(part, Part::Group(_)));
        if has_groups {
            for groups in self
                .pattern
                .regex
                .captures_iter(self.text)
                .take(self.max_matches())
            {
                let Some(found) = groups.get(0) else {
                    continue;
                };
                out.write_str(&self.text[end..found.start()])?;
                for part in self.parts {
                    out.write_str(match part {
                        Part::Text(text) => text,
                        Part::Group(group) => groups.get(*group).map_or("", |found| found.as_str()),
                    })?;
                }
                end = found.end();
            }
        } else {
            for found in self
                .pattern
                .regex
                .find_iter(self.text)
                .take(self.max_matches())
            {
                out.write_str(&self.text[end..found.start()])?;
                for part in self.parts {
                    if let Part::Text(text) = part {
                        out.write_str(text)?;
                    }
                }
                end = found.end();
            }
        }
        out.write_str(&self.text[end..])
    }

    /// Returns an upper bound of the size in bytes.
    ///
    /// If the pattern replaces all matches, counts the matches. If `is_counted` is false, assumes instead that each position
    /// of the text matches.
    fn max_bytes(&self, is_counted: bool) -> u64 {
        let length = self.text.len() as u64;
        let (count, matched) = match (self.pattern.all, is_counted) {
            (false, _) => (1, length),
            (true, false) => (length + 1, length),
            (true, true) => {
                let found = self.pattern.regex.find_iter(self.text);
                found.fold((0, 0), |(count, bytes), found| {
                    (count + 1, bytes + found.len() as u64)
                })
            }
        };
        let (mut literal, mut groups) = (0, 0);
        for part in self.parts {
            match part {
                Part::Text(text) => literal += text.len() as u64,
                Part::Group(_) => groups += 1,
            }
        }
        let replaced = literal.saturating_mul(count);
        length
            .saturating_add(replaced)
            .saturating_add(matched.saturating_mul(groups))
    }
}
