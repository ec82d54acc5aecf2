use num_bigint::BigInt;

use super::round::{fraction, rounded};
use super::sum::{Change, DOUBLE_EXPONENT, ExactSum};

/// A xorshift generator with a fixed seed, so that a failure is reproducible.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a double that is of any magnitude, of a similar magnitude as others, one of the largest, or one that
    /// cancels others.
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

/// Returns `integer * 2^exponent`: formats it as decimal digits and parses them with the standard library. `exponent`
/// must not be positive.
fn read(integer: &BigInt, exponent: i64) -> f64 {
    let digits = integer * BigInt::from(5).pow(-exponent as u32);
    let text = format!("{digits}e{exponent}");
    text.parse().unwrap_or(f64::NAN)
}

/// Returns a double as a multiple of 2^-1074.
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

/// Compares the rounded fraction with the adjacent doubles: neither may be closer to the exact fraction, and ties go to
/// even.
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
