//! Parses numbers as pandas does.

use crate::pandas::FloatParser;

/// Parses a cell as a double. Returns `None` if pandas rejects the cell, for example because of overflow.
pub fn parse_f64(cell: &[u8], parser: FloatParser) -> Option<f64> {
    let value = match parser {
        FloatParser::RoundTrip => round_trip(cell),
        FloatParser::Fast => fast(cell),
    };
    value.or_else(|| parse_infinity(cell))
}

/// The parts of a decimal. All slices contain only digits.
struct Decimal<'a> {
    negative: bool,
    integer: &'a [u8],
    fraction: &'a [u8],
    /// Whether the exponent is negative, and its digits.
    exponent: Option<(bool, &'a [u8])>,
}

/// Splits `text` after the digits at its beginning.
fn take_digits(text: &[u8]) -> (&[u8], &[u8]) {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    text.split_at(count)
}

impl<'a> Decimal<'a> {
    /// Parses spaces, sign, digits with an optional point, an optional exponent, and spaces.
    fn parse(cell: &'a [u8]) -> Option<Self> {
        let (negative, text) = take_sign(skip_spaces(cell));
        let (integer, text) = take_digits(text);
        let (fraction, text) = match text {
            [b'.', rest @ ..] => take_digits(rest),
            rest => (b"".as_slice(), rest),
        };
        if integer.is_empty() && fraction.is_empty() {
            return None;
        }
        let (exponent, text) = match text {
            [b'e' | b'E', rest @ ..] => {
                let (negative, rest) = take_sign(rest);
                let (digits, rest) = take_digits(rest);
                if digits.is_empty() {
                    return None;
                }
                (Some((negative, digits)), rest)
            }
            rest => (None, rest),
        };
        skip_spaces(text).is_empty().then_some(Self {
            negative,
            integer,
            fraction,
            exponent,
        })
    }
}

/// Returns the correctly rounded double. As in pandas, overflow to `+inf` is rejected, but overflow to `-inf` is not.
fn round_trip(cell: &[u8]) -> Option<f64> {
    // Fast path for a number without spaces, in a format that both pandas and `fast_float2` accept.
    if let ([b'-', b'0'..=b'9', ..] | [b'0'..=b'9', ..], Some(b'0'..=b'9')) = (cell, cell.last())
        && let Ok(value) = fast_float2::parse::<f64, _>(cell)
    {
        return (value != f64::INFINITY).then_some(value);
    }
    let decimal = Decimal::parse(cell)?;
    let text = skip_spaces(cell);
    let end = text
        .iter()
        .rposition(|byte| !is_space(*byte))
        .map_or(0, |last| last + 1);
    let text = text.get(..end).unwrap_or_default();
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let value: f64 = match fast_float2::parse(text) {
        Ok(value) => value,
        // The library might reject a point without digits on one side.
        Err(_) => assemble(&decimal).parse().ok()?,
    };
    (value != f64::INFINITY).then_some(value)
}

/// Formats a decimal with digits on both sides of the point.
fn assemble(decimal: &Decimal<'_>) -> String {
    let mut text = String::new();
    if decimal.negative {
        text.push('-');
    }
    text.push('0');
    text.push_str(&String::from_utf8_lossy(decimal.integer));
    text.push('.');
    text.push_str(&String::from_utf8_lossy(decimal.fraction));
    text.push('0');
    if let Some((negative, digits)) = decimal.exponent {
        text.push('e');
        if negative {
            text.push('-');
        }
        text.push_str(&String::from_utf8_lossy(digits));
    }
    text
}

/// Number of digits that pandas' default parser uses, including leading zeros.
const FAST_DIGITS: usize = 17;

/// pandas' default parser: accumulates 17 digits in a double, and multiplies or divides it once by a power of ten.
fn fast(cell: &[u8]) -> Option<f64> {
    let decimal = Decimal::parse(cell)?;
    let mut value = 0.0f64;
    let mut digits = 0;
    let mut exponent = 0i64;
    for digit in decimal.integer {
        if digits < FAST_DIGITS {
            value = value * 10.0 + f64::from(digit - b'0');
            digits += 1;
        } else {
            exponent += 1;
        }
    }
    for digit in decimal.fraction.iter().take(FAST_DIGITS - digits) {
        value = value * 10.0 + f64::from(digit - b'0');
        exponent -= 1;
    }
    if decimal.negative {
        value = -value;
    }
    if let Some((negative, digits)) = decimal.exponent {
        if digits.len() > FAST_DIGITS {
            return None;
        }
        // pandas accumulates the exponent in an `int`, which wraps around.
        let n = digits.iter().fold(0i32, |n, digit| {
            n.wrapping_mul(10).wrapping_add(i32::from(digit - b'0'))
        });
        exponent += i64::from(if negative { n.wrapping_neg() } else { n });
    }
    let value = match exponent {
        309.. => return None,
        1.. => value * power_of_ten(exponent),
        -308..=0 => value / power_of_ten(-exponent),
        -616..=-309 => value / power_of_ten(-308 - exponent) / power_of_ten(308),
        // For smaller exponents, pandas returns zero without a sign.
        _ => 0.0,
    };
    value.is_finite().then_some(value)
}

/// 10^n for 0 <= n <= 308, correctly rounded.
fn power_of_ten(n: i64) -> f64 {
    const POWERS: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ];
    match usize::try_from(n).ok().and_then(|n| POWERS.get(n)) {
        Some(power) => *power,
        None => format!("1e{n}").parse().unwrap_or(f64::INFINITY),
    }
}

/// The result of parsing a cell as an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Integer<T> {
    Value(T),
    /// The digits exceed the range. The text after them is not checked.
    Overflow,
    /// For `uint64` only: the cell begins with a minus. The rest is not checked.
    Negative,
    /// The cell is not an integer.
    Invalid,
}

/// Returns whether C's `isspace` treats a byte as whitespace.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

pub(crate) fn skip_spaces(cell: &[u8]) -> &[u8] {
    let skip = cell.iter().take_while(|byte| is_space(**byte)).count();
    cell.get(skip..).unwrap_or_default()
}

/// Returns whether `text` begins with a minus, and the text after a plus or minus.
pub(crate) fn take_sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    }
}

/// Parses the digits at the beginning of `text`. Returns their value (`None` above `u64`) and the rest, or an error.
fn digits(text: &[u8]) -> Result<(Option<u64>, &[u8]), ()> {
    let mut value = Some(0u64);
    let mut count = 0;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = if count < 19 {
            value.map(|v| v * 10 + u64::from(digit))
        } else {
            value.and_then(|v| v.checked_mul(10)?.checked_add(u64::from(digit)))
        };
        count += 1;
    }
    if count == 0 {
        Err(())
    } else {
        Ok((value, text.get(count..).unwrap_or_default()))
    }
}

/// Parses a cell as `int64`. Spaces around the integer and a plus sign are allowed.
pub(crate) fn parse_i64(cell: &[u8]) -> Integer<i64> {
    let (negative, text) = take_sign(skip_spaces(cell));
    let Ok((magnitude, rest)) = digits(text) else {
        return Integer::Invalid;
    };
    let value = magnitude.and_then(|m| {
        if negative {
            0i64.checked_sub_unsigned(m)
        } else {
            i64::try_from(m).ok()
        }
    });
    match value {
        None => Integer::Overflow,
        Some(value) if rest.is_empty() || skip_spaces(rest).is_empty() => Integer::Value(value),
        Some(_) => Integer::Invalid,
    }
}

/// Parses a cell as `uint64`. Spaces around the integer and a plus sign are allowed.
pub(crate) fn parse_u64(cell: &[u8]) -> Integer<u64> {
    let text = match skip_spaces(cell) {
        [b'-', ..] => return Integer::Negative,
        [b'+', rest @ ..] => rest,
        rest => rest,
    };
    match digits(text) {
        Err(()) => Integer::Invalid,
        Ok((None, _)) => Integer::Overflow,
        Ok((Some(value), rest)) if skip_spaces(rest).is_empty() => Integer::Value(value),
        Ok(_) => Integer::Invalid,
    }
}

/// Returns whether the integer in a cell is negative. Returns `None` unless the integer has Python's format and at most 18
/// digits.
#[inline]
pub(crate) fn plain_integer(cell: &[u8]) -> Option<bool> {
    let (negative, digits) = match cell {
        [b'0'..=b'9'] => return Some(false),
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let is_plain = matches!(digits, [b'1'..=b'9', ..])
        && digits.len() <= 18
        && digits.iter().all(u8::is_ascii_digit);
    is_plain.then_some(negative)
}

/// Returns whether the integer in a cell has Python's format: no plus, no leading zeros, no spaces, not `-0`.
pub(crate) fn is_canonical_integer(cell: &[u8]) -> bool {
    let digits = match cell {
        b"0" => return true,
        [b'-', rest @ ..] => rest,
        rest => rest,
    };
    matches!(digits.first(), Some(b'1'..=b'9')) && digits.iter().all(u8::is_ascii_digit)
}

/// Returns whether `read_csv` treats a cell as missing: it is empty, or exactly one of the texts below, such as `NA`. A
/// missing cell may be in quotes.
#[inline]
pub(crate) fn is_missing(cell: &[u8]) -> bool {
    // Fast path: no text for a missing cell ends with a digit or is longer than 9 bytes.
    match cell.last() {
        None => return true,
        Some(last) if cell.len() > 9 || last.is_ascii_digit() => return false,
        Some(_) => {}
    }
    matches!(
        cell,
        b"#N/A"
            | b"#N/A N/A"
            | b"#NA"
            | b"-1.#IND"
            | b"-1.#QNAN"
            | b"-NaN"
            | b"-nan"
            | b"1.#IND"
            | b"1.#QNAN"
            | b"<NA>"
            | b"N/A"
            | b"NA"
            | b"NULL"
            | b"NaN"
            | b"None"
            | b"n/a"
            | b"nan"
            | b"null"
    )
}

/// Parses `true` and `false`, in upper or lower case.
pub(crate) fn parse_bool(cell: &[u8]) -> Option<bool> {
    if cell.eq_ignore_ascii_case(b"true") {
        Some(true)
    } else if cell.eq_ignore_ascii_case(b"false") {
        Some(false)
    } else {
        None
    }
}

/// Parses `inf` and `infinity`, in upper or lower case, with an optional sign and without spaces.
pub(crate) fn parse_infinity(cell: &[u8]) -> Option<f64> {
    let (negative, text) = take_sign(cell);
    let value = if negative {
        f64::NEG_INFINITY
    } else {
        f64::INFINITY
    };
    (text.eq_ignore_ascii_case(b"inf") || text.eq_ignore_ascii_case(b"infinity")).then_some(value)
}
