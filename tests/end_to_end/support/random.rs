/// A random generator (xorshift). Without the variable `SEED`, each run of a test gets the same numbers.
pub struct Random {
    /// A failed test prints the seed.
    pub seed: u64,
    state: u64,
}

impl Random {
    pub fn new() -> Random {
        let seed = std::env::var("SEED").map_or(1, |text| text.parse().expect("SEED is a number"));
        // A small state would first produce small numbers.
        let state = u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15) | 1;
        Random { seed, state }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).expect("a small number")
    }

    /// Returns a number from 0 to 1.
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
