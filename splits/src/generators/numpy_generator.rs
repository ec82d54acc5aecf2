//! NumPy's newer generator, `numpy.random.default_rng(seed)`.

use serde::{Deserialize, Serialize};

use super::error::RandomError;
use crate::generators::pcg64::Pcg64;

/// The generator that `numpy.random.default_rng(seed)` returns.
///
/// ```
/// use prep_splits::NumpyGenerator;
/// assert_eq!(NumpyGenerator::new(0).random(), 0.6369616873214543);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NumpyGenerator {
    bits: Pcg64,
}

impl NumpyGenerator {
    /// Seeds the generator through a [`SeedSequence`](crate::SeedSequence). Unlike NumPy, accepts no seeds above 64 bits.
    pub fn new(seed: u64) -> Self {
        NumpyGenerator {
            bits: Pcg64::new(seed),
        }
    }

    /// `random()`: a double in [0, 1). It is the upper 53 bits of a 64-bit draw, divided by 2^53.
    pub fn random(&mut self) -> f64 {
        (self.bits.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// `uniform(low, high)`: `low + (high - low) * random()`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.random()
    }

    /// `integers(low, high)`: an integer in low..high, drawn with Lemire's method.
    ///
    /// A range of at most 2^32 numbers uses half of a 64-bit draw per attempt. A range of one number uses no draw.
    ///
    /// Lemire's method multiplies a draw by the size of the range. The upper half of the product is the result. If the
    /// lower half is below a threshold, the draw is rejected, so that all results are equally probable.
    ///
    /// Source: D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29 (2019).
    ///
    /// # Errors
    /// [`RandomError::EmptyRange`] if `low >= high`.
    pub fn integers(&mut self, low: i64, high: i64) -> Result<i64, RandomError> {
        if low >= high {
            return Err(RandomError::EmptyRange { low, high });
        }
        let largest = high.wrapping_sub(1).wrapping_sub(low) as u64;
        Ok(low.wrapping_add(self.at_most(largest) as i64))
    }

    /// Returns a number in 0..=largest. Draws nothing if `largest` is 0.
    fn at_most(&mut self, largest: u64) -> u64 {
        match u32::try_from(largest) {
            Ok(0) => 0,
            // Every number of 32 bits is in the range.
            Ok(u32::MAX) => self.bits.next_u32().into(),
            Ok(largest) => {
                // `threshold` is 2^32 modulo `range`.
                let range = largest + 1;
                let threshold = (u32::MAX - largest) % range;
                loop {
                    let product = u64::from(self.bits.next_u32()) * u64::from(range);
                    if product as u32 >= threshold {
                        return product >> 32;
                    }
                }
            }
            // `high` is excluded, so the range has at most 2^64 - 1 numbers.
            Err(_) => {
                let range = largest.wrapping_add(1);
                let threshold = (u64::MAX - largest) % range.max(1);
                loop {
                    let product = u128::from(self.bits.next_u64()) * u128::from(range);
                    if product as u64 >= threshold {
                        return (product >> 64) as u64;
                    }
                }
            }
        }
    }

    /// `permutation(n)`: the numbers 0..n in random order. For each swap, a draw keeps only the bits that the largest
    /// allowed index needs. If the result is too large, it is drawn again.
    pub fn permutation(&mut self, n: u32) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..n).collect();
        for last in (1..n).rev() {
            let mask = u32::MAX >> last.leading_zeros();
            let other = loop {
                let candidate = self.bits.next_u32() & mask;
                if candidate <= last {
                    break candidate;
                }
            };
            numbers.swap(last as usize, other as usize);
        }
        numbers
    }
}
