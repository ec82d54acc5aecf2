//! Parses numbers with the grammar of Python's scanner.

use super::{JsonErrorKind, JsonValue};

/// Maximum number of digits of an integer that Python 3.11 converts from text.
const MAX_DIGITS: usize = 4300;

/// Parses the number at the beginning of `text`. Returns its value and its length in bytes.
///
/// As in Python, a point or an exponent without digits (`1.`, `1e`) is not part of the number. The number ends before
/// it.
pub(super) fn read(text: &[u8]) -> Result<(JsonValue, usize), JsonErrorKind> {
    let sign = usize::from(text.first() == Some(&b'-'));
    let integer_digits = match text.get(sign) {
        Some(b'0') => 1,
        Some(b'1'..=b'9') => digits(text, sign),
        _ => return Err(JsonErrorKind::ExpectedValue),
    };
    let integer_end = sign + integer_digits;
    let mut end = integer_end;
    if text.get(end) == Some(&b'.') {
        let fraction = digits(text, end + 1);
        if fraction > 0 {
            end += 1 + fraction;
        }
    }
    if let Some(b'e' | b'E') = text.get(end) {
        let signed = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(text, end + 1 + signed);
        if exponent > 0 {
            end += 1 + signed + exponent;
        }
    }
    // The number contains only ASCII characters.
    let spelled = std::str::from_utf8(text.get(..end).unwrap_or_default()).unwrap_or_default();
    let value = if end > integer_end {
        JsonValue::Float(spelled.parse().map_err(|_| JsonErrorKind::ExpectedValue)?)
    } else if integer_digits > MAX_DIGITS {
        return Err(JsonErrorKind::TooManyDigits);
    } else {
        spelled
            .parse()
            .map_or_else(|_| JsonValue::BigInt(spelled.into()), JsonValue::Int)
    };
    Ok((value, end))
}

/// Returns the number of digits that begin at `from`.
fn digits(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
}
