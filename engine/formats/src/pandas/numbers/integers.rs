//! Parses integers as pandas does: spaces, an optional sign, digits, spaces.

/// The result of parsing a cell as `int64` or `uint64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Integer<T> {
    /// A number in range.
    Value(T),
    /// The digits exceed the range. The text after the digits is not checked.
    Overflow,
    /// For `uint64` only: the cell begins with a minus. The rest is not checked.
    Negative,
    /// Anything else.
    Invalid,
}

/// Whether C's `isspace` is true for a byte.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Removes leading spaces.
pub(crate) fn skip_spaces(cell: &[u8]) -> &[u8] {
    let skip = cell.iter().take_while(|byte| is_space(**byte)).count();
    cell.get(skip..).unwrap_or_default()
}

/// Removes a leading sign. Returns whether it is a minus, and the rest.
pub(crate) fn take_sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    }
}

/// Parses the digits at the beginning of `text`. Returns their value (`None` if it exceeds `u64`) and the text after
/// them. Returns an error if there are no digits.
fn digits(text: &[u8]) -> Result<(Option<u64>, &[u8]), ()> {
    let mut value = Some(0u64);
    let mut count = 0;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = if count < 19 {
            // 19 digits cannot overflow.
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

/// Parses a cell as `int64`.
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

/// Parses a cell as `uint64`.
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

/// If the cell is an integer below 1e18 in Python's format, returns whether it is negative. `None` means that the cell
/// may or may not be such an integer.
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

/// Whether a cell that is an integer has Python's format: no plus, no leading zeros, no spaces, not `-0`.
pub(crate) fn is_canonical_integer(cell: &[u8]) -> bool {
    let digits = match cell {
        b"0" => return true,
        [b'-', rest @ ..] => rest,
        rest => rest,
    };
    matches!(digits.first(), Some(b'1'..=b'9')) && digits.iter().all(u8::is_ascii_digit)
}
