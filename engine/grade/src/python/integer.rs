//! Python's `int(text)`.

use prep_formats::python::{decimal_digit, trim_number};

/// Maximum number of digits that Python accepts (`sys.set_int_max_str_digits`).
const MAX_DIGITS: usize = 4_300;

/// The modulus of Python's hash of integers.
const HASH_MODULUS: u64 = (1 << 61) - 1;

/// An integer of any size, parsed from a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BigInteger {
    negative: bool,
    /// Decimal digits without leading zeros. Empty for zero, which is never negative.
    digits: Vec<u8>,
}

impl BigInteger {
    /// Parses an integer like Python's `int`, which allows surrounding white space, a sign, decimal digits of any
    /// script, and `_` between digits. Returns `None` if Python raises `ValueError`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = trim_number(text);
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
            digits.push(u8::try_from(decimal_digit(c)?).ok()?);
            after_digit = true;
        }
        if !after_digit || digits.len() > MAX_DIGITS {
            return None;
        }
        let zeros = digits
            .iter()
            .take_while(|decimal_digit| **decimal_digit == 0)
            .count();
        digits.drain(..zeros);
        Some(BigInteger {
            negative: negative && !digits.is_empty(),
            digits,
        })
    }

    /// Returns the integer if it fits into 128 bits.
    pub fn value(&self) -> Option<i128> {
        let value = self.digits.iter().try_fold(0i128, |value, decimal_digit| {
            value
                .checked_mul(10)?
                .checked_add(i128::from(*decimal_digit))
        })?;
        Some(if self.negative { -value } else { value })
    }

    /// Returns the integer, clamped to 120 bits.
    fn clamped(&self) -> i128 {
        const LIMIT: i128 = 1 << 120;
        let beyond = if self.negative { -LIMIT } else { LIMIT };
        self.value()
            .map_or(beyond, |value| value.clamp(-LIMIT, LIMIT))
    }

    /// Returns Python's hash of the integer. Some libraries (Levenshtein) compare elements by their hash, and integers
    /// that are equal modulo 2^61 - 1 have the same hash. Python never uses the hash -1. This function returns it only
    /// for the integer -1.
    pub fn hash(&self) -> i64 {
        let remainder = self.digits.iter().fold(0u64, |value, decimal_digit| {
            let next = u128::from(value) * 10 + u128::from(*decimal_digit);
            (next % u128::from(HASH_MODULUS)) as u64
        });
        let value = remainder as i64;
        match if self.negative { -value } else { value } {
            -1 if self.digits != [1] => -2,
            value => value,
        }
    }
}

/// Parses an integer like [`BigInteger::parse`], but also returns `None` for integers beyond 128 bits.
pub fn python_int(text: &str) -> Option<i128> {
    BigInteger::parse(text)?.value()
}

/// Like [`python_int`], but clamps integers beyond 120 bits to the largest or smallest integer of 120 bits.
pub fn python_int_clamped(text: &str) -> Option<i128> {
    Some(BigInteger::parse(text)?.clamped())
}
