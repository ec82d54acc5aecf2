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

/// More digits than this Python refuses to read (`sys.set_int_max_str_digits`).
const MOST_DIGITS: usize = 4_300;

/// The modulus of Python's hash of integers.
const MERSENNE: u64 = (1 << 61) - 1;

/// An integer of any size, as a text spells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spelled {
    negative: bool,
    /// Without leading zeros; empty for zero, which is not negative.
    digits: Vec<u8>,
}

impl Spelled {
    /// The integer that a text spells for Python: blanks around, a sign, decimal digits of any script, `_` between
    /// digits. `None` where Python raises `ValueError`.
    pub fn of(text: &str) -> Option<Self> {
        let text = text.trim_matches(is_python_blank);
        let (negative, text) = match text.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let mut digits = Vec::with_capacity(text.len());
        let mut after_digit = false;
        for c in text.chars() {
            if c == '_' && after_digit {
                after_digit = false;
                continue;
            }
            digits.push(u8::try_from(digit(c)?).ok()?);
            after_digit = true;
        }
        if !after_digit || digits.len() > MOST_DIGITS {
            return None;
        }
        let zeros = digits.iter().take_while(|digit| **digit == 0).count();
        digits.drain(..zeros);
        Some(Spelled {
            negative: negative && !digits.is_empty(),
            digits,
        })
    }

    /// The integer, if 128 bits hold it.
    pub fn value(&self) -> Option<i128> {
        let value = self.digits.iter().try_fold(0i128, |value, digit| {
            value.checked_mul(10)?.checked_add(i128::from(*digit))
        })?;
        Some(if self.negative { -value } else { value })
    }

    /// The integer, or the nearest of 120 bits.
    fn clamped(&self) -> i128 {
        const LIMIT: i128 = 1 << 120;
        let beyond = if self.negative { -LIMIT } else { LIMIT };
        self.value()
            .map_or(beyond, |value| value.clamp(-LIMIT, LIMIT))
    }

    /// What the integer is for libraries that compare elements by Python's hash (Levenshtein): integers that are equal
    /// modulo 2^61 - 1 are alike. -1 is the hash of none; only the integer -1 itself is given it.
    pub fn hash(&self) -> i64 {
        let remainder = self.digits.iter().fold(0u64, |value, digit| {
            let next = u128::from(value) * 10 + u128::from(*digit);
            (next % u128::from(MERSENNE)) as u64
        });
        let value = remainder as i64;
        match if self.negative { -value } else { value } {
            -1 if self.digits != [1] => -2,
            value => value,
        }
    }
}

/// The integer that a text spells for Python; see [`Spelled::of`]. `None` also beyond 128 bits.
pub fn python_int(text: &str) -> Option<i128> {
    Spelled::of(text)?.value()
}

/// As [`python_int`], but integers beyond 120 bits are taken as the largest or smallest of that size.
pub fn python_int_clamped(text: &str) -> Option<i128> {
    Some(Spelled::of(text)?.clamped())
}

/// The value of a decimal digit of any script.
pub(crate) fn digit(c: char) -> Option<u32> {
    let code = u32::from(c);
    let zero = ZEROS.get(ZEROS.partition_point(|zero| *zero <= code).checked_sub(1)?)?;
    (code - zero < 10).then_some(code - zero)
}
