//! Formats numbers as Python does.
//!
//! [`is_surely_canonical`] checks without formatting whether a cell is the decimal that Python writes for its value.
//!
//! A decimal of up to 15 digits is always preserved by a conversion to double and back. A text with 16 or 17 digits, `k` of
//! them after the point, has the value `w / 10^k` with an integer `w`. The nearest double is `x = m * 2^e` with an integer
//! `m`.
//!
//! Python formats `x` as this text if no shorter decimal rounds to `x`, and no decimal of the same length is closer to `x`.
//!
//! To check both conditions with integers, all values are multiplied by `2^-e * 5^k`. The text becomes `w << s` with
//! `s = -(e + k)`, the double becomes `m * 5^k`, and an ulp becomes `5^k`. The check needs only the difference between
//! text and double. This difference fits into 64 bits. Therefore a wrapping subtraction is correct even if both
//! values overflow.

use std::io::Write;
use std::ops::Range;

use crate::pandas::FloatParser;

/// Appends the shortest decimal that parses back to `value`, like Python's `repr`. Appends nothing for NaN.
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

/// Magnitudes that Python formats without an exponent. The crate `zmij` formats them like Python.
const POSITIONAL_MAGNITUDES: Range<f64> = 1e-4..1e16;

/// Appends the shortest decimal that parses back to the same `f32`, in the format of [`push_f64`].
pub fn push_f32(out: &mut Vec<u8>, value: f32) {
    if value.is_nan() {
    } else if value.is_infinite() {
        out.extend_from_slice(if value > 0.0 { b"inf" } else { b"-inf" });
    } else {
        // NumPy decides by the value, not by the digits, whether to write an exponent. The float32 nearest to 0.0001 is
        // smaller than 0.0001. Therefore NumPy writes `1e-04`.
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

/// Returns whether `value` is formatted as `cell`.
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
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "e{sign}{:02}", exponent.unsigned_abs());
    }
}

fn parse_exponent(text: &[u8]) -> i32 {
    let text = std::str::from_utf8(text).unwrap_or_default();
    text.parse().unwrap_or(0)
}

/// Decimals whose digits form an integer below this number are always preserved by a conversion to double and back.
const SAFE_DIGITS: u64 = 10u64.pow(15);
/// Decimals whose digits form a larger integer have more than 17 digits, which Python never writes.
const TOO_MANY_DIGITS: u64 = 10u64.pow(17);
const MANTISSA_MASK: u64 = (1 << 52) - 1;
/// Number of digits that always fit into 64 bits.
const MAX_DIGITS: usize = 19;

/// Returns the powers of `base` with the exponents 0 to [`MAX_DIGITS`].
const fn powers(base: u64) -> [u64; MAX_DIGITS + 1] {
    let mut powers = [1; MAX_DIGITS + 1];
    let mut k = 1;
    while k <= MAX_DIGITS {
        powers[k] = powers[k - 1] * base;
        k += 1;
    }
    powers
}

const POWERS_OF_FIVE: [u64; MAX_DIGITS + 1] = powers(5);
const POWERS_OF_TEN: [u64; MAX_DIGITS + 1] = powers(10);

/// Returns true if parsing and formatting a cell certainly gives the same text. Returns false if the check cannot decide.
pub(crate) fn is_surely_canonical(cell: &[u8], parser: FloatParser) -> bool {
    let Some(decimal) = PlainDecimal::parse(cell) else {
        return false;
    };
    match decimal.digits {
        // Both parsers compute one division of exact numbers and round it correctly.
        0..SAFE_DIGITS => true,
        SAFE_DIGITS..TOO_MANY_DIGITS => parser == FloatParser::RoundTrip && decimal.is_shortest(),
        _ => false,
    }
}

/// A decimal in Python's format without exponent: digits on both sides of a point, no superfluous zeros.
struct PlainDecimal {
    /// All digits as one integer, without the point.
    digits: u64,
    /// Number of digits after the point.
    decimals: usize,
}

impl PlainDecimal {
    /// Parses a cell. Returns `None` if the cell does not have this format, or has too many digits.
    #[inline]
    fn parse(cell: &[u8]) -> Option<PlainDecimal> {
        let text = cell.strip_prefix(b"-").unwrap_or(cell);
        if text.len() > MAX_DIGITS + 1 {
            return None;
        }
        let mut integer = 0u64;
        let mut point = 0;
        for byte in text.iter().take(MAX_DIGITS) {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            integer = integer * 10 + u64::from(digit);
            point += 1;
        }
        let (before, fraction) = (text.get(..point)?, text.get(point + 1..)?);
        if text.get(point) != Some(&b'.') || fraction.is_empty() {
            return None;
        }
        let integer_is_plain = match before {
            [b'0'] => fraction == b"0" || fraction.iter().take(4).any(|digit| *digit != b'0'),
            [b'1'..=b'9', ..] => point <= 16,
            _ => false,
        };
        let ends_plainly = fraction.len() == 1 || fraction.last() != Some(&b'0');
        let digits = append_digits(integer, fraction)?;
        (integer_is_plain && ends_plainly).then_some(PlainDecimal {
            digits,
            decimals: fraction.len(),
        })
    }

    /// Returns whether Python writes this decimal of 16 or 17 digits for its value. Also returns `false` if the check
    /// would need more precision.
    #[inline]
    fn is_shortest(&self) -> bool {
        let (Some(five), Some(ten)) = (
            POWERS_OF_FIVE.get(self.decimals),
            POWERS_OF_TEN.get(self.decimals),
        ) else {
            return false;
        };
        // The power of ten is exact, so two roundings keep the quotient within one ulp of the text.
        let near = (self.digits as f64 / *ten as f64).to_bits();
        // The exponent of an integer mantissa: the bias is 1023, and the mantissa has 52 bits after the point.
        let (exponent, mantissa) = (
            (near >> 52) as i32 - 1075,
            (near & MANTISSA_MASK) | (1 << 52),
        );
        let shift = -(exponent + self.decimals as i32);
        if !(0..=47).contains(&shift) {
            return false;
        }
        let ulp = *five as i64;
        // The difference is below two ulps, so it fits into 64 bits. The higher bits cancel out.
        let difference = (self.digits << shift).wrapping_sub(mantissa.wrapping_mul(*five)) as i64;
        // An ulp is odd, so the difference is never exactly half an ulp.
        let step = i64::from(2 * difference > ulp) - i64::from(2 * difference < -ulp);
        let difference = difference - step * ulp;
        // Below a power of two, the doubles are closer together, so the last check would be wrong.
        if (mantissa as i64 + step) << 12 == 0 {
            return false;
        }
        // `difference` is the text minus the nearest double. `lower` and `upper` are the nearest decimals with one digit less
        // minus this double.
        let lower = difference - (((self.digits % 10) as i64) << shift);
        let upper = lower + (10 << shift);
        2 * difference.abs() < 1 << shift && 2 * lower < -ulp && 2 * upper > ulp
    }
}

/// Appends the digits of `text` to `value`. The new value must have at most 19 digits. Returns `None` if `text` contains
/// another character.
#[inline]
fn append_digits(mut value: u64, mut text: &[u8]) -> Option<u64> {
    if let (9..=16, Some((first, _)), Some((_, last))) = (
        text.len(),
        text.split_first_chunk::<8>(),
        text.split_last_chunk::<8>(),
    ) {
        // Parses two overlapping chunks of 8 bytes without a loop. The digits that are in both chunks are masked in the second.
        let (more, again) = (text.len() - 8, 16 - text.len());
        let second = eight_digits(*last, u64::MAX << (8 * again))?;
        let ten = POWERS_OF_TEN.get(more)?;
        return Some((value * 100_000_000 + eight_digits(*first, u64::MAX)?) * ten + second);
    }
    while let Some((eight, rest)) = text.split_first_chunk::<8>() {
        value = value * 100_000_000 + eight_digits(*eight, u64::MAX)?;
        text = rest;
    }
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    Some(value)
}

/// Parses eight digits at once, pair by pair. Digits outside `mask` are treated as zeros.
#[inline]
fn eight_digits(text: [u8; 8], mask: u64) -> Option<u64> {
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    let word = u64::from_le_bytes(text);
    let digits = word.wrapping_sub(ZEROS);
    // A byte below `0` borrows, and a byte above `9` carries. Both set a high bit.
    let outside = (word.wrapping_add(0x4646_4646_4646_4646) | digits) & 0x8080_8080_8080_8080;
    if outside != 0 {
        return None;
    }
    let digits = digits & mask;
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// For magnitudes that Python formats without an exponent, [`push_f64`] does not change the text of the crate `zmij`.
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

#[cfg(test)]
mod shortest_tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pandas::numbers::parse::parse_f64;
    use {is_canonical_f64, push_f64};

    fn is_canonical(cell: &[u8]) -> bool {
        parse_f64(cell, FloatParser::RoundTrip).is_some_and(|value| is_canonical_f64(cell, value))
    }

    #[test]
    fn formats_of_other_programs_are_not_accepted() {
        for cell in [
            "",
            "-",
            ".",
            "1",
            "1.",
            ".5",
            "01.5",
            "1.50",
            "1.00",
            "00.5",
            "-.5",
            "+1.5",
            "1.5 ",
            "1e5",
            "1.5e5",
            "0.00001",
            "0.00",
            "1..5",
            "1.5.5",
            "1,5",
            "1.23456789a",
            "1.a2345678",
            "1.:2345678",
            "1./2345678",
            "12345678901234567.5",
            "0.12345678901234567890",
        ] {
            assert!(
                !is_surely_canonical(cell.as_bytes(), FloatParser::RoundTrip),
                "{cell}"
            );
        }
    }

    #[test]
    fn decimals_of_fifteen_digits_are_unchanged() {
        let both = [FloatParser::RoundTrip, FloatParser::Fast];
        for cell in [
            "0.0",
            "-0.0",
            "1.0",
            "0.0001",
            "-73.9876543210123",
            "999999999999.999",
            "12345678901234.5",
        ] {
            assert!(
                both.iter()
                    .all(|parser| is_surely_canonical(cell.as_bytes(), *parser)),
                "{cell}"
            );
        }
        // The fast parser is not exact for 16 digits.
        let cell = b"-73.98765432101234";
        assert_eq!(
            both.map(|parser| is_surely_canonical(cell, parser)),
            [true, false]
        );
    }

    fn nearly_canonical() -> impl Strategy<Value = String> {
        let magnitude = prop_oneof![
            1e-4..1e-2,
            0.0..1.0,
            1.0..256.0,
            1e3..1e9,
            1e9..1e16,
            (-13i32..53, -2i64..3).prop_map(|(power, step)| {
                f64::from_bits((2f64.powi(power).to_bits() as i64 + step) as u64)
            }),
        ];
        (magnitude, any::<bool>(), "[0-9]{0,3}", 0usize..4).prop_map(
            |(value, negative, end, cut): (f64, bool, String, usize)| {
                let mut text = Vec::new();
                push_f64(&mut text, if negative { -value } else { value });
                let mut text = String::from_utf8_lossy(&text).into_owned();
                text.truncate(text.len().saturating_sub(cut));
                text + &end
            },
        )
    }

    proptest! {
        #[test]
        fn accepted_decimals_are_formatted_unchanged(cell in nearly_canonical()) {
            if is_surely_canonical(cell.as_bytes(), FloatParser::RoundTrip) {
                prop_assert!(is_canonical(cell.as_bytes()), "{}", cell);
            }
        }

        /// For about half of all doubles, the nearest decimal of 16 or 17 digits is longer than necessary. Such a
        /// decimal must not be accepted.
        #[test]
        fn nearest_decimals_are_accepted_only_if_shortest(value in 1f64..100.0, decimals in 14usize..17) {
            let cell = format!("{value:.decimals$}");
            prop_assert_eq!(
                is_surely_canonical(cell.as_bytes(), FloatParser::RoundTrip),
                is_canonical(cell.as_bytes()),
                "{}", cell
            );
        }

        #[test]
        fn formatted_doubles_are_accepted(value in prop_oneof![1e-2f64..1.0, 1.0..1e4]) {
            // Powers of two and ties between two decimals are not accepted. Here their probability is 2^-28.
            let mut cell = Vec::new();
            push_f64(&mut cell, value);
            prop_assert!(is_surely_canonical(&cell, FloatParser::RoundTrip), "{}", String::from_utf8_lossy(&cell));
        }

        #[test]
        fn arbitrary_text_is_accepted_only_if_formatted_unchanged(cell in "[-0-9.]{0,24}") {
            if is_surely_canonical(cell.as_bytes(), FloatParser::RoundTrip) {
                prop_assert!(is_canonical(cell.as_bytes()), "{}", cell);
            }
        }
    }
}
