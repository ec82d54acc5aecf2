//! The PCG64 generator (XSL-RR 128/64), on which NumPy's `default_rng` is based.
//!
//! Source: M. O'Neill, "PCG: A family of simple fast space-efficient statistically good algorithms for random number
//! generation", HMC-CS-2014-0905.

use std::num::ParseIntError;

use serde::{Deserialize, Serialize};

use crate::generators::seed_sequence::SeedSequence;

/// The multiplier of the linear congruential step.
const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;

/// The generator: a 128-bit linear congruential generator whose output is permuted to 64 bits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Saved", try_from = "Saved")]
pub struct Pcg64 {
    state: u128,
    increment: u128,
    /// The upper half of a draw, if [`Pcg64::next_u32`] has returned only the lower half.
    half: Option<u32>,
}

/// The serialized form. 128-bit integers are hex digits, because JSON readers cannot represent them.
#[derive(Serialize, Deserialize)]
struct Saved {
    state: String,
    increment: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    half: Option<u32>,
}

impl From<Pcg64> for Saved {
    fn from(generator: Pcg64) -> Self {
        Saved {
            state: format!("{:x}", generator.state),
            increment: format!("{:x}", generator.increment),
            half: generator.half,
        }
    }
}

impl TryFrom<Saved> for Pcg64 {
    type Error = ParseIntError;

    fn try_from(saved: Saved) -> Result<Self, Self::Error> {
        Ok(Pcg64 {
            state: u128::from_str_radix(&saved.state, 16)?,
            increment: u128::from_str_radix(&saved.increment, 16)?,
            half: saved.half,
        })
    }
}

impl Pcg64 {
    /// `numpy.random.PCG64(seed)`: a [`SeedSequence`] determines the state and the increment.
    pub fn new(seed: u64) -> Self {
        let [state_high, state_low, stream_high, stream_low] =
            SeedSequence::new(seed).generate_state();
        let join = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
        let increment = join(stream_high, stream_low) << 1 | 1;
        let mut generator = Pcg64 {
            state: 0,
            increment,
            half: None,
        };
        generator.step();
        generator.state = generator.state.wrapping_add(join(state_high, state_low));
        generator.step();
        generator
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.step();
        let folded = (self.state >> 64) as u64 ^ self.state as u64;
        folded.rotate_right((self.state >> 122) as u32)
    }

    /// The next 32 random bits: alternately the lower half of a new draw and the upper half of the same draw.
    pub fn next_u32(&mut self) -> u32 {
        if let Some(half) = self.half.take() {
            return half;
        }
        let both = self.next_u64();
        self.half = Some((both >> 32) as u32);
        both as u32
    }

    /// Advances the state by one step.
    fn step(&mut self) {
        self.state = self
            .state
            .wrapping_mul(MULTIPLIER)
            .wrapping_add(self.increment);
    }
}
