//! Parses and formats numbers, and recognizes spaces, as Python does.

/// Code points of the digit zero in all scripts (Unicode 14, category Nd). The digits 1 to 9 follow each zero.
const ZERO_CODE_POINTS: &[u32] = &[
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66,
    0xde6, 0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90,
    0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10,
    0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650,
    0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50,
    0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

/// Python's `float(text)`, or `None` if Python raises `ValueError`.
///
/// Accepts [spaces around the number](trim_number), `_` between digits, digits of any script, `inf`, `infinity` and `nan`.
pub fn python_float(text: &str) -> Option<f64> {
    let text = trim_number(text);
    if !text.is_ascii() {
        // The text may be a large document, so the conversion stops at the first character that numbers do not contain.
        let mapped = text.chars().map(|c| match decimal_digit(c) {
            Some(value) => char::from_digit(value, 10),
            None => "+-._infatyeINFATYE".contains(c).then_some(c),
        });
        return python_float(&mapped.collect::<Option<String>>()?);
    }
    if !text.contains('_') {
        return parse_decimal(text);
    }
    let bytes = text.as_bytes();
    let is_digit = |index: Option<usize>| {
        index
            .and_then(|i| bytes.get(i))
            .is_some_and(u8::is_ascii_digit)
    };
    let between = (0..bytes.len())
        .filter(|&index| bytes.get(index) == Some(&b'_'))
        .all(|index| is_digit(index.checked_sub(1)) && is_digit(Some(index + 1)));
    if between {
        parse_decimal(&text.replace('_', ""))
    } else {
        None
    }
}

/// Formats a double like Python's `repr`: `1.0`, `1e-05`, `1e+16`, `inf`, `nan`.
pub fn python_repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    let mut text = Vec::new();
    crate::pandas::push_f64(&mut text, value);
    String::from_utf8(text).unwrap_or_default()
}

/// Removes the leading and trailing spaces that `float` and `int` ignore. Unlike `str.strip`, keeps U+001C to U+001F.
pub fn trim_number(text: &str) -> &str {
    text.trim()
}

/// Returns whether Python's `str.strip` and `str.split` treat a character as whitespace.
pub fn is_python_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// Parses an ASCII number. Rust accepts the same grammar as Python.
fn parse_decimal(text: &str) -> Option<f64> {
    text.parse().ok()
}

/// Returns the value of a decimal digit of any script.
pub fn decimal_digit(c: char) -> Option<u32> {
    let code = u32::from(c);
    let zero = ZERO_CODE_POINTS.get(
        ZERO_CODE_POINTS
            .partition_point(|zero| *zero <= code)
            .checked_sub(1)?,
    )?;
    (code - zero < 10).then_some(code - zero)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `tests/data/python/record.py` recorded the characters that Python's `float` and `int` accept before and after a
    /// digit.
    #[test]
    fn spaces_around_numbers_are_those_of_python() {
        let accepted: Vec<char> = include_str!("../tests/data/python/spaces.txt")
            .split_whitespace()
            .map(|code| char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap())
            .collect();
        assert_eq!(accepted.len(), 25);
        for c in (0..=0x3000).filter_map(char::from_u32) {
            for text in [format!("{c}1"), format!("1{c}"), format!("{c}\u{661}{c}")] {
                if decimal_digit(c).is_some() || matches!(c, '+' | '-' | '.') {
                    continue;
                }
                let expected = accepted.contains(&c);
                assert_eq!(
                    trim_number(&text).chars().count() == 1,
                    expected,
                    "{text:?}"
                );
                assert_eq!(python_float(&text).is_some(), expected, "{text:?}");
            }
        }
    }

    #[test]
    fn numbers_are_parsed_like_python_float() {
        for (text, value) in [
            ("٣", Some(3.0)),
            ("\u{2003}-１_0.5e٢ ", Some(-1050.0)),
            ("ｉｎｆ", None),
            ("+iNfinity", Some(f64::INFINITY)),
            ("٣ ٣", None),
            ("٣é", None),
            ("é", None),
            ("1_٣", Some(13.0)),
            ("_٣", None),
            ("", None),
        ] {
            assert_eq!(python_float(text), value, "{text}");
        }
    }
}
