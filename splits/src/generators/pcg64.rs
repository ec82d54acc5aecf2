//! The PCG64 generator (XSL-RR 128/64) of NumPy's `default_rng`, and NumPy's `SeedSequence`, which expands a seed.
//!
//! Source of the generator: M. O'Neill, "PCG: A family of simple fast space-efficient statistically good algorithms for
//! random number generation", HMC-CS-2014-0905.
//!
//! Source of the seed sequence: M. O'Neill, "Developing a seed_seq alternative" (2015), with NumPy's constants.

use std::num::ParseIntError;

use serde::{Deserialize, Serialize};

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

/// The serialized form. 128-bit integers are hexadecimal strings, because JSON readers cannot represent them as numbers.
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

    /// Returns the next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.step();
        let folded = (self.state >> 64) as u64 ^ self.state as u64;
        folded.rotate_right((self.state >> 122) as u32)
    }

    /// Returns the next 32 random bits: the lower half of a 64-bit draw. The next call returns the upper half of this draw.
    pub fn next_u32(&mut self) -> u32 {
        if let Some(half) = self.half.take() {
            return half;
        }
        let both = self.next_u64();
        self.half = Some((both >> 32) as u32);
        both as u32
    }

    fn step(&mut self) {
        self.state = self
            .state
            .wrapping_mul(MULTIPLIER)
            .wrapping_add(self.increment);
    }
}

/// Number of 32-bit words of the pool of a seed sequence.
const POOL: usize = 4;
// The constants of NumPy's `SeedSequence`, with NumPy's names. Multipliers that end in `A` hash the words of the seed,
// those that end in `B` the words of the pool.
const INIT_A: u32 = 0x43b0_d7e5;
const MULT_A: u32 = 0x931e_8875;
const INIT_B: u32 = 0x8b51_f9dd;
const MULT_B: u32 = 0x58f3_8ded;
const MIX_L: u32 = 0xca01_f9dd;
const MIX_R: u32 = 0x4973_f715;
const SHIFT: u32 = 16;

/// The mixed pool of `numpy.random.SeedSequence(seed)`.
#[derive(Debug, Clone)]
pub struct SeedSequence {
    pool: [u32; POOL],
}

impl SeedSequence {
    /// Mixes the 32-bit words of the seed, lowest first, into the pool.
    pub fn new(seed: u64) -> Self {
        // The pool has four words. NumPy hashes the missing words of a short seed as zeros.
        let entropy = [seed as u32, (seed >> 32) as u32, 0, 0];
        let mut multiplier = INIT_A;
        let mut pool = entropy.map(|word| hash(word, &mut multiplier, MULT_A));
        for source in 0..POOL {
            for target in 0..POOL {
                if source != target {
                    pool[target] = mix(pool[target], hash(pool[source], &mut multiplier, MULT_A));
                }
            }
        }
        SeedSequence { pool }
    }

    /// `generate_state(N, uint64)`: N words, each consisting of two 32-bit words, the lower half first.
    pub fn generate_state<const WORDS: usize>(&self) -> [u64; WORDS] {
        let mut multiplier = INIT_B;
        let mut source = self.pool.iter().cycle();
        let mut next = || {
            let word = source.next().copied().unwrap_or_default();
            u64::from(hash(word, &mut multiplier, MULT_B))
        };
        std::array::from_fn(|_| {
            let low = next();
            low | next() << 32
        })
    }
}

/// Hashes a word with the current multiplier, and multiplies the multiplier by `factor` for the next word.
fn hash(word: u32, multiplier: &mut u32, factor: u32) -> u32 {
    let word = word ^ *multiplier;
    *multiplier = multiplier.wrapping_mul(factor);
    let word = word.wrapping_mul(*multiplier);
    word ^ (word >> SHIFT)
}

/// Combines a word of the pool with a hashed word.
fn mix(left: u32, right: u32) -> u32 {
    let mixed = MIX_L
        .wrapping_mul(left)
        .wrapping_sub(MIX_R.wrapping_mul(right));
    mixed ^ (mixed >> SHIFT)
}
