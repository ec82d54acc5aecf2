//! NumPy's `SeedSequence`: expands a seed to the number of state words that a generator needs.
//!
//! Source: M. O'Neill, "Developing a seed_seq alternative" (2015), with NumPy's constants and its pool of four words,
//! which NEP 19 keeps stable.

const POOL: usize = 4;
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
        // Missing words are hashed as zeros, so two words represent every 64-bit seed.
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

fn hash(word: u32, multiplier: &mut u32, factor: u32) -> u32 {
    let word = word ^ *multiplier;
    *multiplier = multiplier.wrapping_mul(factor);
    let word = word.wrapping_mul(*multiplier);
    word ^ (word >> SHIFT)
}

fn mix(left: u32, right: u32) -> u32 {
    let mixed = MIX_L
        .wrapping_mul(left)
        .wrapping_sub(MIX_R.wrapping_mul(right));
    mixed ^ (mixed >> SHIFT)
}
