//! The Mersenne Twister MT19937, on which NumPy's `RandomState` and Python's `random` are based.
//!
//! Source: Matsumoto and Nishimura, "Mersenne Twister: a 623-dimensionally equidistributed uniform pseudo-random number
//! generator", ACM TOMACS 8 (1998), and the seeding functions that they published in 2002.
//!
//! NumPy and Python differ only in the seeding. NumPy's `RandomState(seed)` expands one 32-bit word
//! ([`Mt19937::from_word`]). Python's `random.seed(int)` mixes an array of words ([`Mt19937::from_words`]).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Number of words of the state.
const N: usize = 624;
/// Distance between a state word and the word with which the recurrence combines it.
const M: usize = 397;

/// The generator: a state of 624 words, and the outputs of this state. A vectorized loop computes all outputs at once.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Saved", try_from = "Saved")]
pub struct Mt19937 {
    state: [u32; N],
    outputs: [u32; N],
    /// Number of outputs of this state that have been returned.
    used: usize,
}

/// The serialized form. It does not contain the outputs, which deserialization computes again from `words`.
#[derive(Serialize, Deserialize)]
struct Saved {
    words: Vec<u32>,
    used: usize,
}

impl From<Mt19937> for Saved {
    fn from(generator: Mt19937) -> Self {
        Saved {
            words: generator.state.to_vec(),
            used: generator.used,
        }
    }
}

impl TryFrom<Saved> for Mt19937 {
    type Error = &'static str;

    fn try_from(saved: Saved) -> Result<Self, Self::Error> {
        let state: [u32; N] = saved
            .words
            .try_into()
            .map_err(|_| "the state of a Mersenne Twister must have 624 words")?;
        if saved.used > N {
            return Err("the number of used words of a Mersenne Twister must be at most 624");
        }
        Ok(Mt19937 {
            state,
            outputs: state.map(temper),
            used: saved.used,
        })
    }
}

impl fmt::Debug for Mt19937 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mt19937")
            .field("used", &self.used)
            .finish_non_exhaustive()
    }
}

impl Mt19937 {
    /// Seeds the generator with one word (`init_genrand`), as `numpy.random.RandomState(seed)` does.
    pub fn from_word(seed: u32) -> Self {
        let mut state = [0; N];
        let mut word = seed;
        for (position, slot) in (1u32..).zip(state.iter_mut()) {
            *slot = word;
            word = (word ^ (word >> 30))
                .wrapping_mul(1_812_433_253)
                .wrapping_add(position);
        }
        Mt19937 {
            state,
            outputs: state.map(temper),
            used: N,
        }
    }

    /// Seeds the generator with an array of words (`init_by_array`), as `random.seed(int)` does. An empty array means `[0]`.
    pub fn from_words(key: &[u32]) -> Self {
        let key = if key.is_empty() { &[0][..] } else { key };
        let mut generator = Self::from_word(19_650_218);
        let state = &mut generator.state;
        let mut at = 1;
        let advance = |at: &mut usize, state: &mut [u32; N]| {
            *at += 1;
            if *at >= N {
                state[0] = state[N - 1];
                *at = 1;
            }
        };
        let words = (0u32..).zip(key.iter().copied());
        for (position, word) in words.cycle().take(N.max(key.len())) {
            let before = state[at - 1];
            let mixed = state[at] ^ (before ^ (before >> 30)).wrapping_mul(1_664_525);
            state[at] = mixed.wrapping_add(word).wrapping_add(position);
            advance(&mut at, state);
        }
        for _ in 1..N {
            let before = state[at - 1];
            let mixed = state[at] ^ (before ^ (before >> 30)).wrapping_mul(1_566_083_941);
            state[at] = mixed.wrapping_sub(at as u32);
            advance(&mut at, state);
        }
        state[0] = 0x8000_0000;
        generator.outputs = generator.state.map(temper);
        generator
    }

    /// Returns the next 32 random bits.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        if self.used == N {
            self.refill();
        }
        let word = self.outputs[self.used];
        self.used += 1;
        word
    }

    /// Returns the next 64 random bits in NumPy's order: the first word is the upper half.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let high = u64::from(self.next_u32());
        high << 32 | u64::from(self.next_u32())
    }

    /// Returns a double in [0, 1) with 53 random bits, made from two words. NumPy and Python use this function
    /// (`genrand_res53`).
    #[inline]
    pub fn next_f64(&mut self) -> f64 {
        let high = f64::from(self.next_u32() >> 5);
        let low = f64::from(self.next_u32() >> 6);
        // (high * 2^26 + low) / 2^53
        (high * 67_108_864.0 + low) / 9_007_199_254_740_992.0
    }

    /// Advances the state by 624 words and computes their outputs.
    #[cold]
    fn refill(&mut self) {
        let state = &mut self.state;
        for at in 0..N - M {
            state[at] = state[at + M] ^ twist(state[at], state[at + 1]);
        }
        for at in N - M..N - 1 {
            state[at] = state[at + M - N] ^ twist(state[at], state[at + 1]);
        }
        state[N - 1] = state[M - 1] ^ twist(state[N - 1], state[0]);
        for (output, word) in self.outputs.iter_mut().zip(state.iter()) {
            *output = temper(*word);
        }
        self.used = 0;
    }
}

/// Joins the top bit of `upper` with the other bits of `lower`, and multiplies by the twist matrix.
#[inline]
fn twist(upper: u32, lower: u32) -> u32 {
    let joined = (upper & 0x8000_0000) | (lower & 0x7fff_ffff);
    (joined >> 1) ^ (joined & 1).wrapping_neg() & 0x9908_b0df
}

/// Applies the output transformation, which improves the distribution of a state word.
#[inline]
fn temper(mut word: u32) -> u32 {
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c_5680;
    word ^= (word << 15) & 0xefc6_0000;
    word ^ (word >> 18)
}
