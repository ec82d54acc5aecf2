//! Rounds a fraction of integers to the nearest double.

use num_bigint::{BigInt, BigUint, Sign};

/// Number of significant bits of a double.
const DOUBLE_BITS: i64 = 53;
/// Exponent of the smallest positive double.
const MIN_EXPONENT: i64 = -1074;
/// Bits of a quotient that suffice for rounding, if it is known whether the remainder is zero.
const QUOTIENT_BITS: i64 = 66;

/// Returns the double nearest to `numerator / denominator * 2^exponent`. `denominator` must be positive.
pub(super) fn fraction(numerator: &BigInt, denominator: &BigInt, exponent: i64) -> f64 {
    let (sign, numerator) = (numerator.sign(), numerator.magnitude());
    let denominator = denominator.magnitude();
    let shift = QUOTIENT_BITS + denominator.bits() as i64 - numerator.bits() as i64;
    let (numerator, denominator) = match shift > 0 {
        true => (numerator << shift, denominator.clone()),
        false => (numerator.clone(), denominator << -shift),
    };
    let quotient = &numerator / &denominator;
    let is_exact = &quotient * &denominator == numerator;
    signed(sign, nearest(&quotient, is_exact, exponent - shift))
}

/// Returns the double nearest to `integer * 2^exponent`, ties to even.
pub(super) fn rounded(integer: &BigInt, exponent: i64) -> f64 {
    signed(integer.sign(), nearest(integer.magnitude(), true, exponent))
}

fn signed(sign: Sign, magnitude: f64) -> f64 {
    if sign == Sign::Minus {
        -magnitude
    } else {
        magnitude
    }
}

/// Returns the double nearest to a number, ties to even.
///
/// If `is_exact` is true, the number is `integer * 2^exponent`. Otherwise the number is strictly between this product and
/// `(integer + 1) * 2^exponent`.
fn nearest(integer: &BigUint, is_exact: bool, exponent: i64) -> f64 {
    let bits = integer.bits() as i64;
    let dropped = (bits - DOUBLE_BITS).max(MIN_EXPONENT - exponent);
    if dropped > bits + 1 || bits == 0 {
        return 0.0;
    }
    let kept = match dropped > 0 {
        true => integer >> dropped,
        false => integer << -dropped,
    };
    let kept = kept.iter_u64_digits().next().unwrap_or(0);
    let rounds_up = dropped > 0 && {
        let is_half = integer.bit(dropped as u64 - 1);
        let is_more = !is_exact
            || integer
                .trailing_zeros()
                .is_some_and(|zeros| (zeros as i64) < dropped - 1);
        is_half && (is_more || kept & 1 == 1)
    };
    // A carry out of the fraction increments the exponent, which is the next field of a double.
    let field = exponent + dropped - MIN_EXPONENT;
    let infinity = f64::INFINITY.to_bits();
    if field >= (infinity >> (DOUBLE_BITS - 1)) as i64 {
        return f64::INFINITY;
    }
    let encoded = ((field as u64) << (DOUBLE_BITS - 1)) + kept + u64::from(rounds_up);
    f64::from_bits(encoded.min(infinity))
}
