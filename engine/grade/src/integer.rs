//! Python's `int(text)`.

use crate::numeric::is_python_blank;

/// Code points of the digit zero in every script; the other nine digits follow each (Unicode 14, category Nd).
const ZEROS: &[u32] = &[
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66,
    0xde6, 0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90,
    0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10,
    0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650,
    0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50,
    0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

/// The integer that a text spells for Python: blanks around, a sign, decimal digits of any script, `_` between digits.
/// `None` where Python raises `ValueError`, and beyond 128 bits.
pub fn python_int(text: &str) -> Option<i128> {
    match read(text)? {
        Read::Exact(value) => Some(value),
        Read::Beyond { .. } => None,
    }
}

/// As [`python_int`], but integers beyond 120 bits are taken as the largest or smallest of that size.
pub fn python_int_clamped(text: &str) -> Option<i128> {
    const LIMIT: i128 = 1 << 120;
    match read(text)? {
        Read::Exact(value) => Some(value.clamp(-LIMIT, LIMIT)),
        Read::Beyond { negative } => Some(if negative { -LIMIT } else { LIMIT }),
    }
}

/// Python reads no more digits than these.
const MOST_DIGITS: usize = 4_300;

enum Read {
    Exact(i128),
    /// Beyond 128 bits.
    Beyond {
        negative: bool,
    },
}

fn read(text: &str) -> Option<Read> {
    let text = text.trim_matches(is_python_blank);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut value: Option<i128> = Some(0);
    let mut after_digit = false;
    let mut count = 0;
    for c in digits.chars() {
        if c == '_' && after_digit {
            after_digit = false;
            continue;
        }
        let digit = i128::from(digit(c)?);
        value = value.and_then(|value| value.checked_mul(10)?.checked_add(digit));
        after_digit = true;
        count += 1;
    }
    (after_digit && count <= MOST_DIGITS).then_some(match value {
        Some(value) => Read::Exact(if negative { -value } else { value }),
        None => Read::Beyond { negative },
    })
}

/// The value of a decimal digit of any script.
pub(crate) fn digit(c: char) -> Option<u32> {
    let code = u32::from(c);
    let zero = ZEROS.get(ZEROS.partition_point(|zero| *zero <= code).checked_sub(1)?)?;
    (code - zero < 10).then_some(code - zero)
}
