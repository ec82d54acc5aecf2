//! Exact sums of doubles and of their squares.
//!
//! Every double is an integer times 2^-1074, and every square of a double is an integer times 2^-2148. So a sum is
//! an integer, and the order of its terms does not matter. It is stored in two's complement as 64-bit limbs, from the
//! lowest nonzero limb to the highest. Numbers of similar magnitude need two or three limbs, and the full range needs
//! 66.

use num_bigint::BigInt;

/// Sums and squares are multiples of two to the power of this exponent.
pub(super) const SQUARE_EXPONENT: i64 = -2148;
/// Doubles are multiples of two to the power of this exponent.
pub(super) const DOUBLE_EXPONENT: i64 = -1074;

const LIMB_BITS: usize = 64;

/// A sum to which numbers can be added, and from which they can be removed again.
#[derive(Debug, Clone, Default)]
pub(super) struct ExactSum {
    limbs: Vec<u64>,
    /// Number of limbs below the first stored limb. They are all zero.
    low: usize,
    /// The numbers of values that were NaN, +infinity and -infinity.
    special: Option<Box<[u64; 3]>>,
}

/// Whether a value is added or removed.
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

    /// Adds or removes the square of a finite double.
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

    /// Extends the limbs to the range from `first` to `end` (exclusive), plus one limb above all others for the sign.
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

    /// Returns the value of all limbs above the highest stored one.
    fn sign(&self) -> u64 {
        let is_negative = self.limbs.last().is_some_and(|limb| limb >> 63 == 1);
        if is_negative { u64::MAX } else { 0 }
    }

    /// Adds another sum.
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

    /// Returns the sum if at least one of its values is not finite, otherwise `None`.
    pub(super) fn non_finite(&self) -> Option<f64> {
        match self.special.as_deref()? {
            [0, 0, 0] => None,
            [0, _, 0] => Some(f64::INFINITY),
            [0, 0, _] => Some(f64::NEG_INFINITY),
            _ => Some(f64::NAN),
        }
    }

    /// Returns the sum as an integer and an exponent of two.
    pub(super) fn integer(&self) -> (BigInt, i64) {
        let bytes = self.limbs.iter().flat_map(|limb| limb.to_le_bytes());
        let bytes: Vec<u8> = bytes.collect();
        let exponent = SQUARE_EXPONENT + (self.low * LIMB_BITS) as i64;
        (BigInt::from_signed_bytes_le(&bytes), exponent)
    }

    /// Returns the number of bytes on the heap.
    pub(super) fn heap(&self) -> usize {
        let special = self.special.as_ref().map_or(0, |_| size_of::<[u64; 3]>());
        self.limbs.capacity() * size_of::<u64>() + special
    }

    /// Appends the sum to a serialized state.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend((self.low as u16).to_le_bytes());
        out.push(self.limbs.len() as u8);
        out.push(self.special.is_some().into());
        out.extend(self.limbs.iter().flat_map(|limb| limb.to_le_bytes()));
        let special = self.special.iter().flat_map(|counts| counts.iter());
        out.extend(special.flat_map(|count| count.to_le_bytes()));
    }

    /// Reads a sum from the beginning of a serialized state and advances `state`.
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

/// Reads a 64-bit number from the beginning of a serialized state and advances `state`.
pub(super) fn read_word(state: &mut &[u8]) -> Option<u64> {
    let (bytes, rest) = state.split_first_chunk::<8>()?;
    *state = rest;
    Some(u64::from_le_bytes(*bytes))
}
