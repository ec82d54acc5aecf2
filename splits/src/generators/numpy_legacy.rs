//! NumPy's legacy generator, `numpy.random.RandomState`, which NEP 19 keeps stable. scikit-learn and pandas use it.
//!
//! This generator draws bounded integers by masking and rejection: it keeps only the bits of a draw that the largest
//! allowed integer needs, and draws again if the result is too large.

use serde::{Deserialize, Serialize};

use super::error::RandomError;
use crate::generators::mt19937::Mt19937;

/// Number of indices that [`RandomState::shuffle`] draws before it swaps.
const BLOCK: usize = 1024;

/// The generator `numpy.random.RandomState(seed)`.
///
/// ```
/// use prep_splits::RandomState;
/// assert_eq!(RandomState::new(0).permutation(5), [2, 0, 1, 3, 4]);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RandomState {
    twister: Mt19937,
}

impl RandomState {
    /// Seeds the generator with one word. NumPy accepts no larger seeds.
    pub fn new(seed: u32) -> Self {
        RandomState {
            twister: Mt19937::from_word(seed),
        }
    }

    /// `permutation(n)`: the numbers 0..n in random order.
    pub fn permutation(&mut self, n: u32) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..n).collect();
        self.shuffle(&mut numbers);
        numbers
    }

    /// `shuffle(items)`: Fisher-Yates from the end. Each item i is swapped with a random one of the items 0..=i.
    ///
    /// Indices are drawn in blocks, so that the processor can overlap the memory accesses of the swaps. Positions have 32
    /// bits. Therefore only the first 2^32 items are shuffled.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        let mut block = [0u32; BLOCK];
        let mut last = u32::try_from(items.len().saturating_sub(1)).unwrap_or(u32::MAX);
        while last > 0 {
            let mask = u32::MAX >> last.leading_zeros();
            // All indices of a block are drawn with the same mask. The mask changes at each power of two, so a block
            // also ends there.
            let same_mask = last - (mask >> 1);
            let wanted = BLOCK.min(same_mask as usize);
            let mut drawn = 0;
            while drawn < wanted {
                // A candidate that is too large stays at this position until the next candidate replaces it.
                let candidate = self.twister.next_u32() & mask;
                block[drawn] = candidate;
                drawn += usize::from(candidate <= last - drawn as u32);
            }
            for (offset, &other) in block[..wanted].iter().enumerate() {
                items.swap(last as usize - offset, other as usize);
            }
            last -= wanted as u32;
        }
    }

    /// `randint(low, high)` with the default type (64-bit integers): an integer in low..high.
    ///
    /// A range of at most 2^32 numbers uses one 32-bit word of the generator per attempt. A range of one number uses no
    /// word.
    ///
    /// # Errors
    /// [`RandomError::EmptyRange`] if `low >= high`.
    pub fn randint(&mut self, low: i64, high: i64) -> Result<i64, RandomError> {
        if low >= high {
            return Err(RandomError::EmptyRange { low, high });
        }
        let largest = high.wrapping_sub(1).wrapping_sub(low) as u64;
        Ok(low.wrapping_add(self.at_most(largest) as i64))
    }

    /// Returns a number in 0..=largest. Draws nothing if `largest` is 0.
    #[inline]
    fn at_most(&mut self, largest: u64) -> u64 {
        if largest == 0 {
            return 0;
        }
        let mask = u64::MAX >> largest.leading_zeros();
        loop {
            let word = match u32::try_from(largest) {
                Ok(_) => u64::from(self.twister.next_u32()),
                Err(_) => self.twister.next_u64(),
            };
            if word & mask <= largest {
                return word & mask;
            }
        }
    }

    /// `random_sample()`: a double in [0, 1) with 53 random bits.
    #[inline]
    pub fn random_sample(&mut self) -> f64 {
        self.twister.next_f64()
    }

    /// `uniform(low, high)`: `low + (high - low) * random_sample()`.
    #[inline]
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.random_sample()
    }

    /// `choice(n, size, replace=False)`: the first `size` numbers of a permutation of 0..n.
    ///
    /// # Errors
    /// [`RandomError::SampleTooLarge`] if `size > n`.
    pub fn choice(&mut self, n: u32, size: u32) -> Result<Vec<u32>, RandomError> {
        if size > n {
            return Err(RandomError::SampleTooLarge {
                wanted: size.into(),
                population: n.into(),
            });
        }
        let mut chosen = self.permutation(n);
        chosen.truncate(size as usize);
        Ok(chosen)
    }
}
