//! Parses numbers like Python, and like ujson, the library in pandas behind `read_json`.

use super::{JsonErrorKind, JsonValue};

/// Python 3.11 rejects an integer with more digits.
const MAX_DIGITS: usize = 4300;
/// Number of fraction digits that ujson reads. It ignores further digits.
const FRACTION_DIGITS: usize = 15;
/// The power of ten by which the digits of a fraction are multiplied. The index is the number of digits.
const UNITS: [f64; FRACTION_DIGITS + 1] = [
    1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14,
    1e-15,
];

/// Parses the number at the beginning of `text` like Python's scanner. Returns its value and its length in bytes.
///
/// A point or an exponent without digits (`1.`, `1e`) is not part of the number.
pub(super) fn read(text: &[u8]) -> Result<(JsonValue, usize), JsonErrorKind> {
    let sign = usize::from(text.first() == Some(&b'-'));
    let integer_digits = match text.get(sign) {
        Some(b'0') => 1,
        Some(b'1'..=b'9') => digits(text, sign).len(),
        _ => return Err(JsonErrorKind::ExpectedValue),
    };
    let integer_end = sign + integer_digits;
    let mut end = integer_end;
    if text.get(end) == Some(&b'.') {
        let fraction = digits(text, end + 1).len();
        if fraction > 0 {
            end += 1 + fraction;
        }
    }
    if let Some(b'e' | b'E') = text.get(end) {
        let signed = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(text, end + 1 + signed).len();
        if exponent > 0 {
            end += 1 + signed + exponent;
        }
    }
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

/// Returns the digits that begin at the offset `from`, if any.
fn digits(text: &[u8], from: usize) -> &[u8] {
    let rest = text.get(from..).unwrap_or_default();
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    rest.get(..count).unwrap_or_default()
}

/// Parses the number at the beginning of a text like ujson. Returns its value and its length in bytes.
///
/// - ujson also accepts leading zeros, and a sign, point or exponent without digits.
/// - An integer part beyond 64 bits is an error, even in a decimal number.
pub(super) fn read_ujson(text: &[u8]) -> Result<(JsonValue, usize), JsonErrorKind> {
    let digits = |from: usize| digits(text, from);
    let is_negative = text.first() == Some(&b'-');
    let sign = usize::from(is_negative);
    let integer_part = digits(sign);
    if integer_part.is_empty() && !is_negative {
        return Err(JsonErrorKind::ExpectedValue);
    }
    let magnitude = integer_part.iter().try_fold(0_u64, |value, digit| {
        value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    });
    let magnitude = magnitude.ok_or(JsonErrorKind::IntegerTooLarge)?;
    let mut end = sign + integer_part.len();
    let fraction = match text.get(end) {
        Some(b'.') => digits(end + 1),
        _ => &[],
    };
    let has_point = text.get(end) == Some(&b'.');
    end += usize::from(has_point) + fraction.len();
    let has_exponent = matches!(text.get(end), Some(b'e' | b'E'));
    if !has_point && !has_exponent {
        return Ok((integer(is_negative, magnitude)?, end));
    }
    let numerator = fraction.iter().take(FRACTION_DIGITS);
    let numerator = numerator.fold(0.0, |sum, digit| sum * 10.0 + f64::from(digit - b'0'));
    let unit = UNITS.get(fraction.len().min(FRACTION_DIGITS));
    let unit = unit.copied().unwrap_or(1.0);
    let size = magnitude as f64 + numerator * unit;
    let mut value = if is_negative { -size } else { size };
    if has_exponent {
        end += 1;
        let has_minus = text.get(end) == Some(&b'-');
        end += usize::from(matches!(text.get(end), Some(b'+' | b'-')));
        let exponent = digits(end);
        end += exponent.len();
        let size = exponent
            .iter()
            .fold(0.0, |sum, digit| sum * 10.0 + f64::from(digit - b'0'));
        value *= 10_f64.powf(if has_minus { -size } else { size });
    }
    Ok((JsonValue::Float(value), end))
}

/// Returns the integer with this sign and magnitude. As in ujson, an integer below the range of `i64` is an error.
fn integer(is_negative: bool, magnitude: u64) -> Result<JsonValue, JsonErrorKind> {
    let value = i128::from(magnitude);
    let value = if is_negative { -value } else { value };
    match i64::try_from(value) {
        Ok(value) => Ok(JsonValue::Int(value)),
        Err(_) if is_negative => Err(JsonErrorKind::IntegerTooLarge),
        Err(_) => Ok(JsonValue::BigInt(magnitude.to_string().into())),
    }
}
