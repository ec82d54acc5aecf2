//! Exact sums of doubles and of their squares.
//!
//! Every double is an integer times 2^-1074, and its square is an integer times 2^-2148. Sums of integers are exact, so
//! the order of the terms does not matter.
//!
//! A sum is stored in two's complement as 64-bit limbs. The lowest limbs are left out if they are zero. Numbers of similar
//! magnitude need two or three limbs, and the full range needs 66.

use num_bigint::BigInt;

/// Squares of doubles are multiples of 2^-2148.
pub(super) const SQUARE_EXPONENT: i64 = -2148;
/// Doubles are multiples of 2^-1074.
pub(super) const DOUBLE_EXPONENT: i64 = -1074;

const LIMB_BITS: usize = 64;

/// An exact sum. Numbers that were added can be removed again.
#[derive(Debug, Clone, Default)]
pub(super) struct ExactSum {
    limbs: Vec<u64>,
    /// Number of lowest limbs that are not stored. All of them are zero.
    low: usize,
    /// The number of added values that were NaN, +infinity and -infinity.
    special: Option<Box<[u64; 3]>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Add,
    Remove,
}

/// Splits a finite double into mantissa, position and sign: its magnitude is `mantissa * 2^(position - 1074)`.
fn parts(value: f64) -> (u64, usize, bool) {
    const FRACTION_BITS: u32 = 52;
    let bits = value.to_bits();
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    match (bits >> FRACTION_BITS) & 0x7FF {
        0 => (fraction, 0, value.is_sign_negative()),
        exponent => (
            fraction | 1 << FRACTION_BITS,
            exponent as usize - 1,
            value.is_sign_negative(),
        ),
    }
}

impl ExactSum {
    /// Adds or removes a value.
    pub(super) fn change(&mut self, value: f64, change: Change) {
        if value.is_finite() {
            let (mantissa, position, negative) = parts(value);
            let position = position + (DOUBLE_EXPONENT - SQUARE_EXPONENT) as usize;
            self.change_at(mantissa.into(), position, negative, change);
            return;
        }
        let place = match value {
            f64::INFINITY => 1,
            f64::NEG_INFINITY => 2,
            _ => 0,
        };
        let counts = self.special.get_or_insert_default();
        match change {
            Change::Add => counts[place] += 1,
            Change::Remove => counts[place] = counts[place].saturating_sub(1),
        }
    }

    /// Adds or removes the square of a finite value.
    pub(super) fn change_square(&mut self, value: f64, change: Change) {
        let (mantissa, position, _) = parts(value);
        self.change_at(u128::from(mantissa).pow(2), 2 * position, false, change);
    }

    /// Adds or removes `magnitude * 2^(position + SQUARE_EXPONENT)`. `magnitude` has at most 106 bits.
    fn change_at(&mut self, magnitude: u128, position: usize, negative: bool, change: Change) {
        let (first, shift) = (position / LIMB_BITS, position % LIMB_BITS);
        let low = u128::from(magnitude as u64) << shift;
        let high = (magnitude >> LIMB_BITS) << shift;
        let middle = (low >> LIMB_BITS) + u128::from(high as u64);
        let top = (high >> LIMB_BITS) + (middle >> LIMB_BITS);
        let parts = [low as u64, middle as u64, top as u64];
        let count = parts.iter().rposition(|part| *part != 0);
        let Some(last) = count else {
            return;
        };
        self.reach(first, first + last + 1);
        let is_added = negative == (change == Change::Remove);
        let start = first - self.low;
        let mut carry = false;
        for (index, limb) in self.limbs.iter_mut().skip(start).enumerate() {
            let part = parts.get(index).copied().unwrap_or(0);
            if index > last && !carry {
                break;
            }
            let (changed, carries) = match is_added {
                true => limb.carrying_add(part, carry),
                false => limb.borrowing_sub(part, carry),
            };
            (*limb, carry) = (changed, carries);
        }
    }

    /// Extends the limbs to the positions from `first` to `end` (exclusive), and by one limb for the sign.
    fn reach(&mut self, first: usize, end: usize) {
        if self.limbs.is_empty() {
            self.low = first;
        } else if first < self.low {
            let below = self.low - first;
            self.limbs.splice(0..0, std::iter::repeat_n(0, below));
            self.low = first;
        }
        let is_signed = matches!(self.limbs.last(), Some(&(0 | u64::MAX)));
        let len = self.limbs.len() + usize::from(!is_signed);
        let sign = self.sign();
        self.limbs.resize(len.max(end + 1 - self.low), sign);
    }

    /// Returns the value that each limb above the highest stored limb has.
    fn sign(&self) -> u64 {
        let is_negative = self.limbs.last().is_some_and(|limb| limb >> 63 == 1);
        if is_negative { u64::MAX } else { 0 }
    }

    /// Adds all values of another sum.
    pub(super) fn merge(&mut self, other: &ExactSum) {
        if let Some(more) = &other.special {
            let counts = self.special.get_or_insert_default();
            for (count, more) in counts.iter_mut().zip(more.iter()) {
                *count += more;
            }
        }
        if other.limbs.is_empty() {
            return;
        }
        self.reach(other.low, other.low + other.limbs.len());
        let start = other.low - self.low;
        let parts = other.limbs.iter().copied();
        let parts = parts.chain(std::iter::repeat(other.sign()));
        let mut carry = false;
        for (limb, part) in self.limbs.iter_mut().skip(start).zip(parts) {
            (*limb, carry) = limb.carrying_add(part, carry);
        }
    }

    /// Returns the sum, which is NaN or infinite, if a value is not finite. Returns `None` if all values are finite.
    pub(super) fn non_finite(&self) -> Option<f64> {
        match self.special.as_deref()? {
            [0, 0, 0] => None,
            [0, _, 0] => Some(f64::INFINITY),
            [0, 0, _] => Some(f64::NEG_INFINITY),
            _ => Some(f64::NAN),
        }
    }

    /// Returns the sum of the finite values as `(integer, exponent)`: the sum is `integer * 2^exponent`.
    pub(super) fn integer(&self) -> (BigInt, i64) {
        let bytes = self.limbs.iter().flat_map(|limb| limb.to_le_bytes());
        let bytes: Vec<u8> = bytes.collect();
        let exponent = SQUARE_EXPONENT + (self.low * LIMB_BITS) as i64;
        (BigInt::from_signed_bytes_le(&bytes), exponent)
    }

    pub(super) fn heap(&self) -> usize {
        let special = self.special.as_ref().map_or(0, |_| size_of::<[u64; 3]>());
        self.limbs.capacity() * size_of::<u64>() + special
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend((self.low as u16).to_le_bytes());
        out.push(self.limbs.len() as u8);
        out.push(self.special.is_some().into());
        out.extend(self.limbs.iter().flat_map(|limb| limb.to_le_bytes()));
        let special = self.special.iter().flat_map(|counts| counts.iter());
        out.extend(special.flat_map(|count| count.to_le_bytes()));
    }

    pub(super) fn read(state: &mut &[u8]) -> Option<ExactSum> {
        let (&[a, b, len, special], rest) = state.split_first_chunk::<4>()?;
        *state = rest;
        let limbs = (0..len).map(|_| read_word(state));
        let limbs = limbs.collect::<Option<Vec<u64>>>()?;
        let special = match special {
            0 => None,
            _ => Some(Box::new([
                read_word(state)?,
                read_word(state)?,
                read_word(state)?,
            ])),
        };
        Some(ExactSum {
            limbs,
            low: u16::from_le_bytes([a, b]).into(),
            special,
        })
    }
}

/// Reads 8 bytes from the front of `state`.
pub(super) fn read_word(state: &mut &[u8]) -> Option<u64> {
    let (bytes, rest) = state.split_first_chunk::<8>()?;
    *state = rest;
    Some(u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;

    use super::super::round::{fraction, rounded};
    use super::*;

    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }

        fn double(&mut self) -> f64 {
            let bits = self.next();
            let value = match bits % 5 {
                0 => f64::from_bits(self.next()),
                1 => f64::MAX,
                2 => f64::from_bits(self.next() & 0x000F_FFFF_FFFF_FFFF),
                3 => (self.next() % 2000) as f64 / 100.0 - 10.0,
                _ => 1e16 + (self.next() % 9) as f64,
            };
            let value = if bits & 1 << 40 == 0 { value } else { -value };
            if value.is_finite() { value } else { 0.1 }
        }
    }

    /// Computes `integer * 2^exponent` with the decimal parser of the standard library. `exponent` must be at most 0.
    fn read(integer: &BigInt, exponent: i64) -> f64 {
        let digits = integer * BigInt::from(5).pow(-exponent as u32);
        let text = format!("{digits}e{exponent}");
        text.parse().unwrap_or(f64::NAN)
    }

    fn integer(value: f64) -> BigInt {
        let bits = value.abs().to_bits();
        let (exponent, fraction) = (bits >> 52, bits & ((1 << 52) - 1));
        let magnitude = match exponent {
            0 => BigInt::from(fraction),
            _ => BigInt::from(fraction | 1 << 52) << (exponent - 1),
        };
        if value.is_sign_negative() {
            -magnitude
        } else {
            magnitude
        }
    }

    fn value(sum: &ExactSum) -> f64 {
        let (integer, exponent) = sum.integer();
        rounded(&integer, exponent)
    }

    #[test]
    fn a_sum_rounds_to_the_nearest_double_however_terms_are_grouped() {
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        for round in 0..400 {
            let values: Vec<f64> = (0..1 + random.next() % 40)
                .map(|_| random.double())
                .collect();
            let expected: BigInt = values.iter().map(|value| integer(*value)).sum();
            let expected = read(&expected, DOUBLE_EXPONENT);
            let mut parts = vec![ExactSum::default(); 1 + (random.next() % 4) as usize];
            for value in &values {
                let place = (random.next() % parts.len() as u64) as usize;
                parts[place].change(*value, Change::Add);
                // A value that is added and removed again does not change the sum.
                let passing = random.double();
                let other = (random.next() % parts.len() as u64) as usize;
                parts[place].change(passing, Change::Add);
                parts[other].change(passing, Change::Remove);
            }
            let mut sum = ExactSum::default();
            for part in &parts {
                let mut state = Vec::new();
                part.write(&mut state);
                sum.merge(&ExactSum::read(&mut state.as_slice()).unwrap_or_default());
            }
            let found = value(&sum);
            assert_eq!(
                found.to_bits(),
                expected.to_bits(),
                "{round}: {values:?}: {found:?}, not {expected:?}"
            );
        }
    }

    #[test]
    fn squares_are_exact() {
        let mut random = Random(5);
        for _ in 0..300 {
            let values: Vec<f64> = (0..1 + random.next() % 9)
                .map(|_| random.double())
                .collect();
            let mut sum = ExactSum::default();
            for value in &values {
                sum.change_square(*value, Change::Add);
            }
            let expected: BigInt = values.iter().map(|value| integer(*value).pow(2)).sum();
            let expected = read(&expected, 2 * DOUBLE_EXPONENT);
            let found = value(&sum);
            assert_eq!(
                found.to_bits(),
                expected.to_bits(),
                "{values:?}: {found:?}, not {expected:?}"
            );
        }
    }

    #[test]
    fn non_finite_values_can_be_removed_again() {
        let (plus, minus) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut sum = ExactSum::default();
        sum.change(1.5, Change::Add);
        assert_eq!(sum.non_finite(), None);
        sum.change(plus, Change::Add);
        assert_eq!(sum.non_finite(), Some(plus));
        sum.change(minus, Change::Add);
        assert!(sum.non_finite().is_some_and(f64::is_nan));
        sum.change(plus, Change::Remove);
        assert_eq!(sum.non_finite(), Some(minus));
        let mut state = Vec::new();
        sum.write(&mut state);
        let mut read = ExactSum::read(&mut state.as_slice()).unwrap_or_default();
        read.change(f64::NAN, Change::Add);
        assert!(read.non_finite().is_some_and(f64::is_nan));
        read.change(f64::NAN, Change::Remove);
        read.change(minus, Change::Remove);
        assert_eq!((read.non_finite(), value(&read)), (None, 1.5));
    }

    /// Compares the rounded fraction with the adjacent doubles. Neither may be nearer, and ties go to even.
    #[test]
    fn a_fraction_rounds_to_the_nearest_double() {
        let mut random = Random(99);
        for _ in 0..2000 {
            let numerator =
                BigInt::from(random.next() >> (random.next() % 60)) * integer(random.double());
            let denominator = BigInt::from(random.next() >> (random.next() % 60)) + 1;
            let found = fraction(&numerator, &denominator, DOUBLE_EXPONENT);
            if found.is_infinite() {
                let limit = (BigInt::from(2) << (1024 + 1074)) - (BigInt::from(1) << (971 + 1074));
                assert!(BigInt::from(numerator.magnitude().clone()) * 2 >= limit * &denominator);
                continue;
            }
            let distance = |value: f64| {
                let off = &numerator - integer(value) * &denominator;
                BigInt::from(off.magnitude().clone())
            };
            let own = distance(found);
            for neighbor in [found.next_up(), found.next_down()] {
                if neighbor.is_finite() {
                    let other = distance(neighbor);
                    assert!(
                        own < other || (own == other && found.to_bits() & 1 == 0),
                        "{numerator} / {denominator}"
                    );
                }
            }
        }
    }
}
