//! Python's generator `random.Random` as in CPython 3.11. The numbers for a seed have been the same since Python 3.2.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::error::RandomError;
use crate::generators::mt19937::Mt19937;

/// The generator `random.Random(seed)` for an integer seed.
///
/// ```
/// use prep_splits::PythonRandom;
/// assert_eq!(PythonRandom::new(42).randint(0, 1009), Ok(654));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PythonRandom {
    twister: Mt19937,
}

impl PythonRandom {
    /// Seeds the generator with the 32-bit words of the integer, lowest first.
    pub fn new(seed: u64) -> Self {
        let words = [seed as u32, (seed >> 32) as u32];
        let used = if words[1] == 0 { 1 } else { 2 };
        PythonRandom {
            twister: Mt19937::from_words(&words[..used]),
        }
    }

    /// `getrandbits(bits)`, for at most 64 bits. Up to 32 bits are the top bits of one word. More bits come from two words,
    /// of which the first contains the lower 32 bits.
    pub fn getrandbits(&mut self, bits: u32) -> u64 {
        let mut top = |bits: u32| u64::from(self.twister.next_u32() >> (32 - bits));
        match bits {
            0 => 0,
            1..=32 => top(bits),
            _ => top(32) | top(bits.min(64) - 32) << 32,
        }
    }

    /// `_randbelow(n)`: a number in 0..n. Draws numbers with as many bits as `n`, until a number is below `n`. Returns
    /// 0 without drawing if `n` is 0.
    pub fn randbelow(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        let bits = u64::BITS - n.leading_zeros();
        loop {
            let candidate = self.getrandbits(bits);
            if candidate < n {
                return candidate;
            }
        }
    }

    /// `random()`: a double in [0, 1) with 53 random bits.
    pub fn random(&mut self) -> f64 {
        self.twister.next_f64()
    }

    /// `uniform(low, high)`: `low + (high - low) * random()`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.random()
    }

    /// `randint(low, high)`: an integer in low..=high, both ends included.
    ///
    /// # Errors
    /// [`RandomError::EmptyRange`] if `low > high`, or if the range contains all 2^64 integers.
    pub fn randint(&mut self, low: i64, high: i64) -> Result<i64, RandomError> {
        let width = i128::from(high) - i128::from(low) + 1;
        match u64::try_from(width) {
            Ok(width) if width > 0 => Ok(low.wrapping_add(self.randbelow(width) as i64)),
            _ => Err(RandomError::EmptyRange { low, high }),
        }
    }

    /// `randrange(low, high)`: an integer in low..high.
    ///
    /// # Errors
    /// [`RandomError::EmptyRange`] if `low >= high`.
    pub fn randrange(&mut self, low: i64, high: i64) -> Result<i64, RandomError> {
        if low >= high {
            return Err(RandomError::EmptyRange { low, high });
        }
        Ok(low.wrapping_add(self.randbelow(high.wrapping_sub(low) as u64) as i64))
    }

    /// `choice(items)`. Returns `None` without drawing if there are no items.
    pub fn choice<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let at = self.randbelow(items.len() as u64);
        items.get(at as usize)
    }

    /// `shuffle(items)`: Fisher-Yates from the end, swapping i with `randbelow(i + 1)`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.randbelow(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }

    /// `sample(range(n), k)`: k different numbers of 0..n in random order.
    ///
    /// As in CPython, the numbers are drawn from a pool, from which each drawn number is removed. If the population is
    /// large compared with `k`, numbers are drawn from the entire population instead, and duplicates are rejected.
    ///
    /// # Errors
    /// [`RandomError::SampleTooLarge`] if `k > n`.
    pub fn sample(&mut self, n: u32, k: u32) -> Result<Vec<u32>, RandomError> {
        if k > n {
            return Err(RandomError::SampleTooLarge {
                wanted: k.into(),
                population: n.into(),
            });
        }
        if u64::from(n) <= max_pool(k) {
            return Ok(self.sample_pool(n, k));
        }
        let mut seen = HashSet::with_capacity(k as usize);
        let mut drawn = Vec::with_capacity(k as usize);
        while drawn.len() < k as usize {
            let candidate = self.randbelow(n.into()) as u32;
            if seen.insert(candidate) {
                drawn.push(candidate);
            }
        }
        Ok(drawn)
    }

    /// Draws `k` numbers from a pool that initially contains 0..n.
    fn sample_pool(&mut self, n: u32, k: u32) -> Vec<u32> {
        let mut pool: Vec<u32> = (0..n).collect();
        (0..k)
            .map(|_| {
                let at = self.randbelow(pool.len() as u64) as usize;
                // As in CPython, the last number of the pool replaces the drawn one.
                pool.swap_remove(at)
            })
            .collect()
    }
}

/// Returns the largest population for which CPython draws k numbers from a pool. This is 21 if k <= 5, otherwise 21 plus the
/// smallest power of four that is at least 3k.
fn max_pool(k: u32) -> u64 {
    let mut power = 1u64;
    while k > 5 && power < 3 * u64::from(k) {
        power *= 4;
    }
    if k > 5 { 21 + power } else { 21 }
}
