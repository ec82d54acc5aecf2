//! Facts about the spelling of cells of test tables, independent of their values.

use std::collections::BTreeSet;

use super::{Channel, ItemFacts};
use crate::table::{CellTexts, is_missing, is_mixed};
use crate::text::{number, time_of};

/// The order of elements is examined only for this number of elements at the beginning of a list.
const MAX_ELEMENTS: usize = 1 << 16;

/// `name` contains the column and its file.
pub(crate) fn collect(name: &str, kind: CellKind, item: usize, cell: &str, facts: &mut ItemFacts) {
    let mut form = |what: &str, value: &str| {
        facts.add(Channel::Form, &format!("{what} of {name}"), item, value);
    };
    let leading = cell.len() - cell.trim_start().len();
    let trailing = cell.len() - cell.trim_end().len();
    let spaces = format!("leading {leading}, trailing {trailing}");
    form("the spaces around cells", &spaces);
    if is_missing(cell) {
        form("the text for missing values", cell.trim());
    }
    form("the unusual characters", &unusual(cell));
    if kind == CellKind::Texts {
        let double = cell.trim().contains("  ");
        form("double spaces", if double { "yes" } else { "no" });
        form("the first letter", first_letter(cell));
        form("the quotation marks and dashes", &typographic(cell));
        let last = cell.trim_end().chars().last();
        let sign = last.filter(|c| !c.is_alphanumeric()).map(String::from);
        form("the last punctuation mark", &sign.unwrap_or_default());
        form("line endings", line_endings(cell));
    } else if kind == CellKind::Others {
        let text = cell.trim();
        form("the spelling", spelling(text));
        form("the length", &text.chars().count().to_string());
        if let Some(shape) = shape(text) {
            form("the shape", &shape);
        }
        let is_number = text.parse::<f64>().is_ok();
        let decimals = text.split_once('.').map_or(0, |(_, tail)| {
            tail.chars().take_while(char::is_ascii_digit).count()
        });
        // If an instrument measures in steps such as 0.25, the last two decimals show this.
        if is_number && decimals >= 2 || !is_number && time_of(text).is_some() {
            form("the last two digits", last_two(text));
        }
        if is_number {
            form("the number of decimals", &decimals.to_string());
            let last = text.chars().rev().find(char::is_ascii_digit);
            form(
                "the last digit",
                &last.map(String::from).unwrap_or_default(),
            );
        } else if number(text).is_none() {
            form("the separators", &signs(text));
            if let Some(order) = order_of_elements(text) {
                form("the order of the elements", order);
            }
        }
    }
    let missing = if is_missing(cell) { "missing" } else { "there" };
    let what = format!("whether {name} has a value");
    facts.add(Channel::Missing, &what, item, missing);
}

pub(super) fn line_endings(text: &str) -> &'static str {
    match (text.contains("\r\n"), text.contains('\n')) {
        (true, _) => "CR LF",
        (_, true) => "LF",
        _ => "none",
    }
}

fn last_two(number: &str) -> &str {
    let digits = number.trim_end_matches(|c: char| !c.is_ascii_digit());
    let begin = digits.len().saturating_sub(2);
    digits.get(begin..).unwrap_or_default()
}

/// Returns the distinct runs of characters that are neither letters nor digits, for example `[` and `, ` of `[a, b, c`.
fn signs(text: &str) -> String {
    let stretches = text.split(char::is_alphanumeric);
    let stretches: BTreeSet<&str> = stretches.filter(|one| !one.is_empty()).collect();
    stretches.into_iter().collect::<Vec<_>>().join("_")
}

/// Returns how the elements of a list in a cell are ordered, for example `rises`. `None` if there are fewer than three
/// elements.
fn order_of_elements(text: &str) -> Option<&'static str> {
    let mut signs = ['|', ';', ','].into_iter();
    let sign = signs.find(|sign| text.contains(*sign))?;
    let elements = text
        .trim_matches(|c: char| "[](){}".contains(c))
        .split(sign);
    let elements = elements.map(str::trim).take(MAX_ELEMENTS);
    let elements: Vec<&str> = elements.collect();
    if elements.len() < 3 {
        return None;
    }
    let numbers: Vec<f64> = elements.iter().filter_map(|one| one.parse().ok()).collect();
    Some(match numbers.len() == elements.len() {
        true => order_of(&numbers),
        false => order_of(&elements),
    })
}

fn order_of<T: PartialOrd>(elements: &[T]) -> &'static str {
    let rises = elements.is_sorted();
    match (rises, elements.is_sorted_by(|one, other| one >= other)) {
        (true, true) => "equal",
        (true, false) => "rises",
        (false, true) => "falls",
        (false, false) => "none",
    }
}

fn first_letter(cell: &str) -> &'static str {
    match cell.trim_start().chars().next() {
        Some(letter) if letter.is_uppercase() => "upper case",
        Some(letter) if letter.is_lowercase() => "lower case",
        _ => "other",
    }
}

/// Returns which variants of quotation marks, dashes and ellipses a text contains.
fn typographic(cell: &str) -> String {
    let signs = [
        '\'', '"', '`', '\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}', '\u{2013}', '\u{2014}',
        '\u{2026}',
    ];
    let found = signs.into_iter().filter(|sign| cell.contains(*sign));
    found.collect()
}

/// Returns the pattern of a number or date: `9` for each run of digits and `a` for each run of letters. Leading minus
/// signs are ignored. Returns `None` for words.
fn shape(text: &str) -> Option<String> {
    number(text)?;
    let mut shape = String::new();
    for letter in text.trim_start_matches('-').chars() {
        let letter = match letter {
            letter if letter.is_ascii_digit() => '9',
            letter if letter.is_alphabetic() => 'a',
            letter => letter,
        };
        if !(matches!(letter, '9' | 'a') && shape.ends_with(letter)) {
            shape.push(letter);
        }
    }
    Some(shape)
}

/// Lists the unusual characters of a cell: invisible characters, and spaces other than a plain one. Also lists
/// words that mix two alphabets, and accents that are separate characters.
fn unusual(cell: &str) -> String {
    let mut letters = BTreeSet::new();
    for letter in cell.chars() {
        let is_odd = matches!(
            u32::from(letter),
            0x00a0 | 0x00ad | 0x2000..=0x200f | 0x2028..=0x202f | 0x205f..=0x2064 | 0x3000 | 0xfeff
        ) || letter == '\t';
        if is_odd {
            letters.insert(u32::from(letter));
        }
    }
    let letters = letters.into_iter();
    let mut found: Vec<String> = letters.map(|letter| format!("U+{letter:04X}")).collect();
    if cell.split_whitespace().any(is_mixed) {
        found.push("two alphabets in a word".to_owned());
    }
    if cell.contains(|c| matches!(u32::from(c), 0x0300..=0x036f)) {
        found.push("accents as separate characters".to_owned());
    }
    found.sort();
    found.join(", ")
}

/// Describes how a short cell is spelled. [`shape`] describes the pattern of a number.
fn spelling(text: &str) -> &'static str {
    let has = |test: fn(char) -> bool| text.chars().any(test);
    let digits = text.trim_start_matches(['+', '-']);
    match text.parse::<f64>() {
        Ok(_) if digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.") => {
            "a number with leading zeros"
        }
        Ok(_) => "a number",
        _ if !has(char::is_alphabetic) => "without letters",
        _ if !has(char::is_uppercase) => "lower case",
        _ if !has(char::is_lowercase) => "upper case",
        _ if text.starts_with(char::is_uppercase) => "capitalised",
        _ => "mixed case",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellKind {
    /// Most cells are texts of several words.
    Texts,
    /// The cells are integers that occur many times, such as numbers of stores. Their digits are not examined, because
    /// categories are intended features.
    Categories,
    Others,
}

/// Integers are categories only if each occurs in at least this number of cells on average.
const MIN_CATEGORY_CELLS: usize = 8;

pub(crate) fn kind(cells: &CellTexts) -> CellKind {
    let different: BTreeSet<&str> = cells.iter().take(20_000).collect();
    let is_category = different.len() * MIN_CATEGORY_CELLS <= cells.len().min(20_000);
    let mut integers = different.iter().filter(|cell| !is_missing(cell));
    match is_category && integers.all(|cell| cell.parse::<i64>().is_ok()) {
        true => CellKind::Categories,
        false if is_text(cells) => CellKind::Texts,
        false => CellKind::Others,
    }
}

fn is_text(cells: &CellTexts) -> bool {
    let some = cells.iter().filter(|cell| !is_missing(cell)).take(500);
    let (mut words, mut count) = (0, 0);
    for cell in some {
        words += cell.split_whitespace().count();
        count += 1;
    }
    count > 0 && words >= 3 * count
}

/// Returns a string for each row of a CSV file except the header: `q` for each quoted cell and `-` for each other cell, then
/// `r` if the row ends with CR LF.
pub(crate) fn quotes(text: &str, delimiter: u8) -> Vec<String> {
    let mut rows = Vec::new();
    let (mut row, mut is_quoted, mut is_first, mut has_quotes) =
        (String::new(), false, true, false);
    let mut last = 0;
    for byte in text.bytes() {
        if !is_quoted && (byte == delimiter || byte == b'\n') {
            row.push(if has_quotes { 'q' } else { '-' });
            (is_first, has_quotes) = (true, false);
            if byte == b'\n' {
                row.extend((last == b'\r').then_some('r'));
                rows.push(std::mem::take(&mut row));
            }
        } else {
            has_quotes |= is_first && byte == b'"';
            is_quoted ^= byte == b'"';
            is_first = false;
        }
        last = byte;
    }
    if !row.is_empty() || !is_first {
        row.push(if has_quotes { 'q' } else { '-' });
        rows.push(row);
    }
    if !rows.is_empty() {
        rows.remove(0);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_cells_and_line_endings_are_detected() {
        assert_eq!(
            quotes("a,b\n\"x, y\",2\n1,\"2\n3\"\n4,5", b','),
            ["q-", "-q", "--"]
        );
        assert_eq!(quotes("a,b\r\n1,2\r\n3,4\n", b','), ["--r", "--"]);
    }

    #[test]
    fn spellings_and_unusual_characters_are_detected() {
        assert_eq!(spelling("007"), "a number with leading zeros");
        assert_eq!(shape("+1e5").as_deref(), Some("+9a9"));
        assert_eq!(spelling("Red"), "capitalised");
        assert_eq!(unusual("p\u{430}per"), "two alphabets in a word");
        assert_eq!(unusual("plain"), "");
        assert_eq!(shape("-1,234.50 kg").as_deref(), Some("9,9.9 a"));
        assert_eq!(shape("2019/05/01").as_deref(), Some("9/9/9"));
        assert_eq!(shape("A12"), None);
        assert_eq!(typographic("it\u{2019}s"), "\u{2019}");
        assert_eq!((last_two("-12.75"), last_two("3.5e2")), ("75", "e2"));
        assert_eq!(signs("[a, b, c]"), ", _[_]");
        assert_eq!(order_of_elements("[3, 12, 100]"), Some("rises"));
        assert_eq!(order_of_elements("oak|ash|elm"), Some("none"));
        assert_eq!(order_of_elements("a, b"), None);
    }
}
