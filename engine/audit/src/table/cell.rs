//! Finds the cause of the difference between two cells.

use std::borrow::Cow;

use prep_formats::pandas::{FloatParser, parse_f64};

use crate::causes::Cause;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Difference {
    LineEnds,
    MissingWords,
    BooleanWords,
    DecimalComma,
    NumberSpelling,
    /// `007` and `7`.
    LeadingZeros,
    /// Two almost equal doubles, which differ by `ulps` units in the last place. `parser` is true if pandas' default
    /// parser causes the difference: it reads one of the two cells as the number in the other cell.
    LastDigit {
        ulps: u64,
        parser: bool,
    },
    /// One of the numbers is the other one, rounded to single precision.
    Single,
    /// One of the numbers is the other one, rounded to fewer decimals.
    Rounded,
    Blanks,
    LetterCase,
    Mojibake,
    Value,
}

/// Doubles that two parsers read from the same text differ by at most this number of units in the last place.
const MAX_ULPS: u64 = 4;

impl Difference {
    /// Returns how two different cells differ. The first rule that explains the difference wins.
    pub(crate) fn classify(theirs: &[u8], ours: &[u8]) -> Difference {
        if *with_lf(theirs) == *with_lf(ours) {
            return Difference::LineEnds;
        }
        if is_missing(theirs) && is_missing(ours) {
            return Difference::MissingWords;
        }
        // In the cells of typed formats, a string that looks like a number is in quotes.
        if let Some(text) = quoted(theirs).xor(quoted(ours))
            && (text == theirs || text == ours)
            && number(text).is_some()
        {
            return Difference::NumberSpelling;
        }
        if let (Some(a), Some(b)) = (number(theirs), number(ours)) {
            return numbers(theirs, ours, a, b);
        }
        let point =
            |cell, other| number(&with_point(cell)?).filter(|one| number(other) == Some(*one));
        if point(theirs, ours)
            .or_else(|| point(ours, theirs))
            .is_some()
        {
            return Difference::DecimalComma;
        }
        if let (Some(a), Some(b)) = (boolean(theirs), boolean(ours)) {
            return if a == b {
                Difference::BooleanWords
            } else {
                Difference::Value
            };
        }
        if theirs.trim_ascii() == ours.trim_ascii() {
            return Difference::Blanks;
        }
        if let (Ok(a), Ok(b)) = (std::str::from_utf8(theirs), std::str::from_utf8(ours)) {
            if undo_mojibake(a).as_deref() == Some(b) || undo_mojibake(b).as_deref() == Some(a) {
                return Difference::Mojibake;
            }
            if a.to_lowercase() == b.to_lowercase() {
                return Difference::LetterCase;
            }
        }
        Difference::Value
    }

    pub(crate) fn cause(self) -> Cause {
        match self {
            Difference::LineEnds => Cause::LineEnds,
            Difference::MissingWords => Cause::MissingWords,
            Difference::BooleanWords => Cause::BooleanWords,
            Difference::DecimalComma => Cause::DecimalComma,
            Difference::NumberSpelling => Cause::NumberSpelling,
            Difference::LeadingZeros => Cause::LeadingZeros,
            Difference::LastDigit { .. } => Cause::FloatLastDigit,
            Difference::Single => Cause::FloatSingle,
            Difference::Rounded => Cause::FloatRounded,
            Difference::Blanks => Cause::Blanks,
            Difference::LetterCase => Cause::LetterCase,
            Difference::Mojibake => Cause::Mojibake,
            Difference::Value => Cause::ValuesChanged,
        }
    }
}

fn with_lf(cell: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\r', cell).is_none() {
        return Cow::Borrowed(cell);
    }
    let mut out = Vec::with_capacity(cell.len());
    let mut bytes = cell.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte == b'\r' {
            bytes.next_if_eq(&b'\n');
            out.push(b'\n');
        } else {
            out.push(byte);
        }
    }
    Cow::Owned(out)
}

/// Returns the text between quotes. `None` without quotes.
fn quoted(cell: &[u8]) -> Option<&[u8]> {
    cell.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// Returns whether pandas, NumPy or Python write this text for missing values.
fn is_missing(cell: &[u8]) -> bool {
    let words: [&[u8]; 14] = [
        b"", b"NaN", b"nan", b"None", b"NULL", b"null", b"NA", b"N/A", b"<NA>", b"n/a", b"#N/A",
        b"NaT", b"-nan", b"-NaN",
    ];
    words.contains(&cell)
}

/// States whether all cells of a column are numbers, and whether all cells are booleans. If neither is true, the cells are
/// text: `007` differs from `7`, and `1e5` differs from `100000`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ColumnType {
    pub numbers: bool,
    pub booleans: bool,
}

impl ColumnType {
    /// The type of columns in formats that distinguish text from numbers.
    pub(crate) const TYPED: ColumnType = ColumnType {
        numbers: true,
        booleans: true,
    };

    /// Adds a cell of the column. Missing cells have no type.
    pub(crate) fn add(&mut self, cell: &[u8]) {
        let cell = cell.trim_ascii();
        if !is_missing(cell) {
            let is_number = |cell: &[u8]| number(cell).is_some();
            let has_comma = || with_point(cell).is_some_and(|cell| is_number(&cell));
            self.numbers = self.numbers && (is_number(cell) || has_comma());
            self.booleans = self.booleans && boolean(cell).is_some();
        }
    }

    /// Returns `Value` for a different spelling of a number or boolean, unless the column has this type. Returns other
    /// differences unchanged.
    pub(crate) fn adjust(self, difference: Difference) -> Difference {
        match difference {
            Difference::NumberSpelling
            | Difference::DecimalComma
            | Difference::LastDigit { .. }
            | Difference::Single
                if !self.numbers =>
            {
                Difference::Value
            }
            Difference::BooleanWords if !self.booleans => Difference::Value,
            other => other,
        }
    }
}

/// Replaces a decimal comma by a point. `None` unless there is exactly one comma, between digits.
fn with_point(cell: &[u8]) -> Option<Vec<u8>> {
    let at = memchr::memchr(b',', cell)?;
    let (before, after) = (cell.get(..at)?, cell.get(at + 1..)?);
    let is_of_digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let unsigned = before.strip_prefix(b"-").unwrap_or(before);
    (is_of_digits(unsigned) && is_of_digits(after)).then(|| [before, b".", after].concat())
}

/// Parses a boolean. Some writers use `1` and `0`.
fn boolean(cell: &[u8]) -> Option<bool> {
    match cell {
        b"True" | b"true" | b"TRUE" | b"1" | b"1.0" => Some(true),
        b"False" | b"false" | b"FALSE" | b"0" | b"0.0" => Some(false),
        _ => None,
    }
}

pub(crate) fn number(cell: &[u8]) -> Option<f64> {
    // pandas also reads `inf` and `infinity` as numbers.
    let first = *cell.first()?;
    if !(first.is_ascii_digit() || matches!(first, b'-' | b'+' | b'.' | b'i' | b'I')) {
        return None;
    }
    parse_f64(cell, FloatParser::RoundTrip)
}

/// Returns how two numbers with different spellings differ. `a` is the value of `theirs`, and `b` is the value of `ours`.
fn numbers(theirs: &[u8], ours: &[u8], a: f64, b: f64) -> Difference {
    if a == b {
        // Doubles represent all integers only up to 2^53.
        let exact = a.abs() < 9_007_199_254_740_992.0 || plain(theirs) == plain(ours);
        let has_zeros = |cell: &[u8]| matches!(cell, [b'0', b'0'..=b'9', ..]);
        // `007` becomes `7.0` if it is read as a float and written again.
        let integer = |cell: &[u8]| plain(cell.strip_suffix(b".0").unwrap_or(cell)).is_some();
        let lost = integer(theirs) && integer(ours);
        return if lost && has_zeros(theirs) != has_zeros(ours) {
            Difference::LeadingZeros
        } else if exact {
            Difference::NumberSpelling
        } else {
            Difference::Value
        };
    }
    if a.is_nan() || b.is_nan() || plain(theirs).is_some() && plain(ours).is_some() {
        return Difference::Value;
    }
    let ulps = ordered(a).abs_diff(ordered(b));
    if ulps <= MAX_ULPS {
        let fast = |cell| parse_f64(cell, FloatParser::Fast);
        let parser = fast(ours) == Some(a) || fast(theirs) == Some(b);
        return Difference::LastDigit { ulps, parser };
    }
    let (short, long) = if digits(theirs) <= digits(ours) {
        (theirs, b)
    } else {
        (ours, a)
    };
    let single = |text: &[u8], value: f64| {
        let text = std::str::from_utf8(text).ok()?;
        Some(text.parse::<f32>().ok()? == value as f32)
    };
    // If a double with many digits equals a single-precision number, it was converted from this number.
    let was_single = f64::from(long as f32) == long && digits(theirs).max(digits(ours)) > 9;
    let is_short = digits(short) <= 9 && (digits(short) >= 6 || was_single);
    if is_short && single(short, long) == Some(true) {
        return Difference::Single;
    }
    if (a as f32) == (b as f32) && (f64::from(a as f32) == a || f64::from(b as f32) == b) {
        return Difference::Single;
    }
    match decimals(short) {
        Some(places @ 1..) if digits(theirs) != digits(ours) && rounds_to(long, places, short) => {
            Difference::Rounded
        }
        _ => Difference::Value,
    }
}

/// Maps doubles to integers so that adjacent doubles have adjacent integers.
fn ordered(value: f64) -> i64 {
    let bits = value.to_bits().cast_signed();
    if bits < 0 {
        i64::MIN.wrapping_sub(bits)
    } else {
        bits
    }
}

/// Parses an integer of any length: whether it is negative, and its digits without leading zeros.
fn plain(cell: &[u8]) -> Option<(bool, &[u8])> {
    let (is_negative, digits) = match cell {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    let is_plain = digits.iter().all(u8::is_ascii_digit);
    is_plain.then(|| (is_negative, digits.get(zeros..).unwrap_or_default()))
}

fn digits(cell: &[u8]) -> usize {
    let mantissa = cell
        .split(|byte| matches!(byte, b'e' | b'E'))
        .next()
        .unwrap_or_default();
    let digits = mantissa.iter().filter(|byte| byte.is_ascii_digit());
    digits.skip_while(|byte| **byte == b'0').count()
}

/// Returns the number of digits after the decimal point. `None` without a point, or with an exponent.
fn decimals(cell: &[u8]) -> Option<usize> {
    if cell.iter().any(|byte| matches!(byte, b'e' | b'E')) {
        return None;
    }
    let point = memchr::memchr(b'.', cell)?;
    Some(cell.len() - point - 1)
}

fn rounds_to(value: f64, places: usize, short: &[u8]) -> bool {
    let printed = format!("{value:.places$}");
    number(printed.as_bytes()) == number(short)
}

/// Repairs a text whose UTF-8 bytes were decoded as Windows-1252 or Latin-1, if possible.
fn undo_mojibake(text: &str) -> Option<String> {
    if text.is_ascii() {
        return None;
    }
    let bytes: Option<Vec<u8>> = text.chars().map(byte_of).collect();
    String::from_utf8(bytes?).ok()
}

/// Returns the byte of a character in Windows-1252. If Windows-1252 does not have the character, returns its byte in
/// Latin-1.
fn byte_of(character: char) -> Option<u8> {
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž',
        '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}',
        'ž', 'Ÿ',
    ];
    if let Some(place) = HIGH.iter().position(|other| *other == character) {
        return u8::try_from(0x80 + place).ok();
    }
    u8::try_from(u32::from(character)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_differences_are_classified() {
        for (theirs, ours, expected) in [
            ("a\r\nb", "a\nb", Difference::LineEnds),
            ("None", "", Difference::MissingWords),
            ("", "NaN", Difference::MissingWords),
            ("1.0", "1", Difference::NumberSpelling),
            ("1e-05", "0.00001", Difference::NumberSpelling),
            ("9007199254740993", "9007199254740992", Difference::Value),
            ("007", "7", Difference::LeadingZeros),
            ("7.0", "007", Difference::LeadingZeros),
            ("0.1", "0.10000000149011612", Difference::Single),
            (
                "1111111111111111111111111111111111111111",
                "1111111111111111111111111111111111111112",
                Difference::Value,
            ),
            ("1e300", "1.0e300", Difference::NumberSpelling),
            ("\"7\"", "7", Difference::NumberSpelling),
            ("\"7\"", "8", Difference::Value),
            ("\"\"", "", Difference::Value),
            ("9007199254740993.0", "9007199254740992", Difference::Value),
            ("1,5", "1.5", Difference::DecimalComma),
            ("-0.25", "-0,250", Difference::DecimalComma),
            ("12,345", "12345", Difference::Value),
            ("1,5", "1.6", Difference::Value),
            ("true", "True", Difference::BooleanWords),
            ("1", "True", Difference::BooleanWords),
            ("0", "True", Difference::Value),
            ("2.4403958", "2.440395832061767", Difference::Single),
            ("714.25", "714.2500012345", Difference::Single),
            ("0.333333", "0.3333333333333333", Difference::Rounded),
            ("0.33", "0.3333333333333333", Difference::Rounded),
            ("0.34", "0.3333333333333333", Difference::Value),
            ("0.5", "0.4", Difference::Value),
            ("1", "0", Difference::Value),
            ("1", "2", Difference::Value),
            (" a", "a", Difference::Blanks),
            ("Ã©", "é", Difference::Mojibake),
            ("itâ€™s", "it’s", Difference::Mojibake),
            ("Cat", "cat", Difference::LetterCase),
            ("cat", "dog", Difference::Value),
            ("nan", "0", Difference::Value),
        ] {
            assert_eq!(
                Difference::classify(theirs.as_bytes(), ours.as_bytes()),
                expected,
                "{theirs} {ours}"
            );
        }
        let one = Difference::classify(b"0.30000000000000004", b"0.3");
        assert!(
            matches!(one, Difference::LastDigit { ulps: 1, .. }),
            "{one:?}"
        );
        let zero = Difference::classify(b"-5e-324", b"5e-324");
        assert!(
            matches!(zero, Difference::LastDigit { ulps: 2, .. }),
            "{zero:?}"
        );
    }
}
