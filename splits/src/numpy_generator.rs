//! NumPy's `Generator` as `numpy.random.default_rng(seed)` makes it.

use crate::error::RandomError;
use crate::pcg64::Pcg64;

/// `numpy.random.default_rng(seed)`.
///
/// ```
/// use prep_splits::Generator;
/// assert_eq!(Generator::new(0).random(), 0.6369616873214543);
/// ```
#[derive(Debug, Clone)]
pub struct Generator {
    bits: Pcg64,
}

impl Generator {
    /// Seeds through a seed sequence; NumPy accepts larger seeds, too, this crate 64 bits.
    pub fn new(seed: u64) -> Self {
        Generator {
            bits: Pcg64::new(seed),
        }
    }

    /// `random()`: a double in [0, 1) from the upper 53 bits of a draw.
    pub fn random(&mut self) -> f64 {
        (self.bits.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// `uniform(low, high)`: `low + (high - low) * random()`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.random()
    }

    /// `choice(n, p=weights)`: a position, drawn with one double.
    pub fn choice(&mut self, weights: &Weights) -> usize {
        let draw = self.random();
        weights.cumulative.partition_point(|&edge| edge <= draw)
    }
}

/// The probabilities of a weighted choice, checked and accumulated.
#[derive(Debug, Clone)]
pub struct Weights {
    /// Running sums divided by their last, as NumPy does it.
    cumulative: Vec<f64>,
}

impl Weights {
    /// # Errors
    /// [`RandomError::Weights`] if one is negative or not a number, or the sum is not 1 within 1.5e-8 (NumPy's bound).
    pub fn new(probabilities: &[f64]) -> Result<Self, RandomError> {
        let mut sum = 0.0;
        let mut cumulative: Vec<f64> = probabilities
            .iter()
            .map(|p| {
                sum += p;
                sum
            })
            .collect();
        let negative = probabilities.iter().any(|p| p.is_nan() || *p < 0.0);
        let near_one = (sum - 1.0).abs() <= f64::EPSILON.sqrt();
        if negative || !near_one {
            return Err(RandomError::Weights { sum });
        }
        cumulative.iter_mut().for_each(|edge| *edge /= sum);
        Ok(Weights { cumulative })
    }
}
