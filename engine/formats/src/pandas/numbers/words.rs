//! Recognizes cells with a special meaning: missing values, booleans, infinities.

use crate::pandas::numbers::integers::take_sign;

/// Whether `read_csv` treats a cell as missing. The spelling must be exact; quotes do not matter.
#[inline]
pub(crate) fn is_missing(cell: &[u8]) -> bool {
    // Fast path: no spelling of a missing value ends with a digit or is longer than 9 bytes.
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

/// Parses `true` and `false` in any case.
pub(crate) fn parse_bool(cell: &[u8]) -> Option<bool> {
    if cell.eq_ignore_ascii_case(b"true") {
        Some(true)
    } else if cell.eq_ignore_ascii_case(b"false") {
        Some(false)
    } else {
        None
    }
}

/// Parses `inf` and `infinity` in any case, with an optional sign and without spaces.
pub(crate) fn parse_infinity(cell: &[u8]) -> Option<f64> {
    let (negative, text) = take_sign(cell);
    let value = if negative {
        f64::NEG_INFINITY
    } else {
        f64::INFINITY
    };
    (text.eq_ignore_ascii_case(b"inf") || text.eq_ignore_ascii_case(b"infinity")).then_some(value)
}
