//! Parses and formats single JSON values like ujson, the library that pandas bundles for `read_json` and `to_json`.
//!
//! Columns and their types are handled in `frame` and `inference`.

use super::{JsonErrorKind, JsonString, JsonValue, JsonWriteError};

/// Number of fraction digits that ujson reads. It ignores further digits.
const FRACTION_DIGITS: usize = 15;
/// The value of the last digit of a fraction, by the number of its digits.
const UNITS: [f64; FRACTION_DIGITS + 1] = [
    1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14,
    1e-15,
];
/// 10 to the number of fraction digits that `to_json` writes (`double_precision=10`).
const SCALE: f64 = 1e10;

/// Parses the number at the beginning of a text with ujson's rules. Returns its value and its length in bytes.
///
/// ujson accepts more than Python: leading zeros, and a sign, point or exponent without digits. Integers that exceed 64
/// bits are errors, even before a decimal point.
pub(super) fn number(text: &[u8]) -> Result<(JsonValue, usize), JsonErrorKind> {
    let digits = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        rest.get(..count).unwrap_or_default()
    };
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
        let is_small = text.get(end) == Some(&b'-');
        end += usize::from(matches!(text.get(end), Some(b'+' | b'-')));
        let exponent = digits(end);
        end += exponent.len();
        let size = exponent
            .iter()
            .fold(0.0, |sum, digit| sum * 10.0 + f64::from(digit - b'0'));
        value *= 10_f64.powf(if is_small { -size } else { size });
    }
    Ok((JsonValue::Float(value), end))
}

fn integer(is_negative: bool, magnitude: u64) -> Result<JsonValue, JsonErrorKind> {
    let value = i128::from(magnitude);
    let value = if is_negative { -value } else { value };
    match i64::try_from(value) {
        Ok(value) => Ok(JsonValue::Int(value)),
        Err(_) if is_negative => Err(JsonErrorKind::IntegerTooLarge),
        Err(_) => Ok(JsonValue::BigInt(magnitude.to_string().into())),
    }
}

impl JsonValue {
    /// Appends the value as `to_json` formats it: no spaces, ten decimals, `/` escaped, `null` for NaN and infinities.
    ///
    /// # Errors
    /// [`JsonWriteError::LoneSurrogate`] if a text contains an unpaired surrogate.
    pub fn push_pandas(&self, out: &mut Vec<u8>) -> Result<(), JsonWriteError> {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(true) => out.extend_from_slice(b"true"),
            Self::Bool(false) => out.extend_from_slice(b"false"),
            Self::Int(int) => out.extend_from_slice(itoa::Buffer::new().format(*int).as_bytes()),
            Self::BigInt(digits) => out.extend_from_slice(digits.as_bytes()),
            Self::Float(float) => push_float(out, *float),
            Self::String(text) => push_string(out, text)?,
            Self::List(list) => {
                out.push(b'[');
                for (index, value) in list.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    value.push_pandas(out)?;
                }
                out.push(b']');
            }
            Self::Object(object) => {
                out.push(b'{');
                for (index, (key, value)) in object.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    push_string(out, key)?;
                    out.push(b':');
                    value.push_pandas(out)?;
                }
                out.push(b'}');
            }
        }
        Ok(())
    }
}

fn push_string(out: &mut Vec<u8>, text: &JsonString) -> Result<(), JsonWriteError> {
    if text.as_str().is_none() {
        return Err(JsonWriteError::LoneSurrogate {
            text: text.to_string_lossy().into_owned(),
        });
    }
    super::write::push_escaped(out, text, special);
    Ok(())
}

/// Returns a nonzero value if the byte is the first byte of a character that is escaped.
pub(super) fn special(byte: u8) -> u8 {
    let marks = u8::from(byte == b'"') | u8::from(byte == b'\\') | u8::from(byte == b'/');
    marks | u8::from(byte < 0x20) | u8::from(byte >= 0x80)
}

/// Appends a double as `to_json` formats it.
pub(super) fn push_float(out: &mut Vec<u8>, value: f64) {
    if !value.is_finite() {
        out.extend_from_slice(b"null");
        return;
    }
    let size = value.abs();
    if size > 1e16 - 1.0 || (size > 0.0 && size < 1e-15) {
        out.extend_from_slice(ten_digits(value).as_bytes());
        return;
    }
    let mut integer_part = size.trunc();
    let scaled = (size - integer_part) * SCALE;
    let mut fraction = scaled.trunc();
    let rest = scaled - fraction;
    // Halves are rounded up after an odd digit and after zero.
    if rest > 0.5 || rest == 0.5 && (fraction == 0.0 || fraction % 2.0 == 1.0) {
        fraction += 1.0;
    }
    if fraction >= SCALE {
        fraction = 0.0;
        integer_part += 1.0;
    }
    let digits = format!("{fraction:010}");
    let digits = digits.trim_end_matches('0');
    let sign = if value < 0.0 { "-" } else { "" };
    let digits = if digits.is_empty() { "0" } else { digits };
    out.extend_from_slice(format!("{sign}{integer_part}.{digits}").as_bytes());
}

/// Formats a number like C's `%.10g` in exponential notation.
fn ten_digits(value: f64) -> String {
    let printed = format!("{value:.9e}");
    let (mantissa, exponent) = printed.split_once('e').unwrap_or((&printed, "0"));
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}
