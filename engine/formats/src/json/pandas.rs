//! JSON as pandas reads and writes it (`read_json`, `to_json`; its bundled
//! ujson), as far as single values go: columns and types are not its business.

use super::{JsonErrorKind, JsonString, JsonWriteError, Value};

/// Fraction digits that ujson takes into account.
const FRACTION_DIGITS: usize = 15;
/// The value of the last of that many fraction digits.
const UNITS: [f64; FRACTION_DIGITS + 1] = [
    1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14,
    1e-15,
];
/// Fraction digits that `to_json` prints (`double_precision=10`).
const SCALE: f64 = 1e10;

/// The number at the front of a text, and its length. Integers beyond 64 bits are refused.
pub(super) fn number(text: &[u8]) -> Result<(Value, usize), JsonErrorKind> {
    let (value, length) = super::number::read(text)?;
    let spelled = text
        .get(..length)
        .and_then(|text| std::str::from_utf8(text).ok());
    let spelled = spelled.unwrap_or_default();
    match value {
        Value::BigInt(digits) if digits.parse::<u64>().is_ok() => {
            Ok((Value::BigInt(digits), length))
        }
        Value::BigInt(_) => Err(JsonErrorKind::TooManyDigits),
        Value::Float(_) => Ok((Value::Float(float(spelled)?), length)),
        other => Ok((other, length)),
    }
}

fn float(spelled: &str) -> Result<f64, JsonErrorKind> {
    let (sign, digits) = match spelled.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, spelled),
    };
    let (decimal, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, ""));
    let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
    let whole: u64 = whole.parse().map_err(|_| JsonErrorKind::TooManyDigits)?;
    let fraction = fraction
        .get(..FRACTION_DIGITS.min(fraction.len()))
        .unwrap_or_default();
    let numerator = fraction
        .bytes()
        .fold(0.0, |sum, digit| sum * 10.0 + f64::from(digit - b'0'));
    let unit = UNITS.get(fraction.len()).copied().unwrap_or(1.0);
    let value = (whole as f64 + numerator * unit) * sign;
    if exponent.is_empty() {
        return Ok(value);
    }
    let exponent: f64 = exponent.parse().map_err(|_| JsonErrorKind::TooManyDigits)?;
    Ok(value * 10_f64.powf(exponent))
}

impl Value {
    /// Appends the value as `to_json` prints it: no blanks, ten decimals, `/`
    /// escaped, `null` for what is not finite.
    ///
    /// # Errors
    /// [`JsonWriteError::LoneSurrogate`].
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

/// Not 0 for the first bytes of what is escaped.
pub(super) fn special(byte: u8) -> u8 {
    let marks = u8::from(byte == b'"') | u8::from(byte == b'\\') | u8::from(byte == b'/');
    marks | u8::from(byte < 0x20) | u8::from(byte >= 0x80)
}

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
    let mut whole = size.trunc();
    let scaled = (size - whole) * SCALE;
    let mut fraction = scaled.trunc();
    let rest = scaled - fraction;
    // Halves go up from odd digits, and from zero.
    if rest > 0.5 || rest == 0.5 && (fraction == 0.0 || fraction % 2.0 == 1.0) {
        fraction += 1.0;
    }
    if fraction >= SCALE {
        fraction = 0.0;
        whole += 1.0;
    }
    let digits = format!("{fraction:010}");
    let digits = digits.trim_end_matches('0');
    let sign = if value < 0.0 { "-" } else { "" };
    let digits = if digits.is_empty() { "0" } else { digits };
    out.extend_from_slice(format!("{sign}{whole}.{digits}").as_bytes());
}

/// C's `%.10g` where it uses an exponent.
fn ten_digits(value: f64) -> String {
    let printed = format!("{value:.9e}");
    let (mantissa, exponent) = printed.split_once('e').unwrap_or((&printed, "0"));
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}
