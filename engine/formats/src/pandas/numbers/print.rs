//! Formats numbers as Python does.

use std::io::Write;
use std::ops::Range;

/// Appends the shortest decimal that parses back to `value`, in the format of Python's `repr`: with an exponent if
/// the magnitude is below 1e-4 or at least 1e16, otherwise with a point. For NaN nothing is appended, as in `to_csv`.
pub fn push_f64(out: &mut Vec<u8>, value: f64) {
    if value.is_nan() {
    } else if value.is_infinite() {
        out.extend_from_slice(if value > 0.0 { b"inf" } else { b"-inf" });
    } else {
        let mut buffer = zmij::Buffer::new();
        let digits = buffer.format_finite(value).as_bytes();
        match POSITIONAL_MAGNITUDES.contains(&value.abs()) {
            true => out.extend_from_slice(digits),
            false => push_digits(out, digits, value),
        }
    }
}

/// Magnitudes that Python formats without an exponent. For these, the number library produces Python's format.
const POSITIONAL_MAGNITUDES: Range<f64> = 1e-4..1e16;

/// Appends the shortest decimal that parses back to the same `f32`, in the format of [`push_f64`].
pub fn push_f32(out: &mut Vec<u8>, value: f32) {
    if value.is_nan() {
    } else if value.is_infinite() {
        out.extend_from_slice(if value > 0.0 { b"inf" } else { b"-inf" });
    } else {
        // NumPy decides by the value, not by the digits: the float32 nearest to 0.0001 is smaller and becomes `1e-04`.
        push_digits(
            out,
            zmij::Buffer::new().format_finite(value).as_bytes(),
            f64::from(value),
        );
    }
}

/// Appends an integer.
pub fn push_integer(out: &mut Vec<u8>, value: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends `True` or `False`.
pub fn push_bool(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"True" } else { b"False" });
}

/// Whether `cell` equals the output of [`push_f64`] for `value`.
pub(crate) fn is_canonical_f64(cell: &[u8], value: f64) -> bool {
    if POSITIONAL_MAGNITUDES.contains(&value.abs()) {
        return zmij::Buffer::new().format_finite(value).as_bytes() == cell;
    }
    let mut printed = Vec::with_capacity(24);
    push_f64(&mut printed, value);
    printed == cell
}

/// Converts the digits of `value` from any format (`0.00001`, `1e+16`, `1.5e-7`) to Python's.
fn push_digits(out: &mut Vec<u8>, text: &[u8], value: f64) {
    let text = match text {
        [b'-', rest @ ..] => {
            out.push(b'-');
            rest
        }
        rest => rest,
    };
    let (mantissa, exponent) = match text.iter().position(|byte| *byte == b'e') {
        Some(at) => (&text[..at], parse_exponent(&text[at + 1..])),
        None => (text, 0),
    };
    let point = mantissa
        .iter()
        .position(|byte| *byte == b'.')
        .unwrap_or(mantissa.len());
    let mut digits = [0u8; 32];
    let mut count = 0;
    let mut leading = 0;
    for byte in mantissa.iter().filter(|byte| **byte != b'.') {
        if count == 0 && *byte == b'0' {
            leading += 1;
        } else if let Some(slot) = digits.get_mut(count) {
            *slot = *byte;
            count += 1;
        }
    }
    while count > 0 && digits[count - 1] == b'0' {
        count -= 1;
    }
    let digits = &digits[..count];
    let Some((first, others)) = digits.split_first() else {
        out.extend_from_slice(b"0.0");
        return;
    };
    // The decimal exponent of the first digit.
    let exponent = exponent + point as i32 - leading - 1;
    if POSITIONAL_MAGNITUDES.contains(&value.abs()) {
        if exponent < 0 {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + (-exponent - 1) as usize, b'0');
            out.extend_from_slice(digits);
        } else {
            let integer_digits = exponent as usize + 1;
            if integer_digits >= count {
                out.extend_from_slice(digits);
                out.resize(out.len() + integer_digits - count, b'0');
                out.extend_from_slice(b".0");
            } else {
                out.extend_from_slice(&digits[..integer_digits]);
                out.push(b'.');
                out.extend_from_slice(&digits[integer_digits..]);
            }
        }
    } else {
        out.push(*first);
        if !others.is_empty() {
            out.push(b'.');
            out.extend_from_slice(others);
        }
        // Writing to a vector cannot fail.
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "e{sign}{:02}", exponent.unsigned_abs());
    }
}

fn parse_exponent(text: &[u8]) -> i32 {
    let text = std::str::from_utf8(text).unwrap_or_default();
    text.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// For magnitudes without an exponent, the number library produces Python's format.
        #[test]
        fn doubles_are_formatted_like_python_repr(mantissa in -1e16..1e16_f64, power in 0..21, is_integer: bool) {
            let value = mantissa / 10f64.powi(power);
            let value = if is_integer { value.trunc() } else { value };
            let (mut printed, mut formatted) = (Vec::new(), Vec::new());
            push_f64(&mut printed, value);
            push_digits(&mut formatted, zmij::Buffer::new().format_finite(value).as_bytes(), value);
            prop_assert_eq!(printed, formatted);
        }
    }
}
