//! Fuzzing without a fuzzer: tries a fixed number of random mutations of seeds.
//!
//! This finds fewer bugs than a coverage-guided fuzzer, but is fast and needs no tools, so it can be part of the tests.
//!
//! Each run tries the same mutations. `SEED=n` tries others, and `PREP_FUZZ=60` tries new ones for 60 seconds.
//! If an input makes a check fail or costs too much ([`cost`]), the message names a file with that input.

pub mod cost;
#[allow(dead_code, reason = "each crate uses a part")]
pub mod deep;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Maximum length of an input in bytes. Longer seeds are truncated, because they take more time, but find no more bugs.
const LONGEST: usize = 1 << 14;

/// Boundary values of numbers and lengths, and sequences that are special in text formats.
const SPECIAL: &[&[u8]] = &[
    b"\0",
    b"\x01",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\xff\xff\xff\xff",
    b"\0\0\0\0",
    b"\xff\xff\xff\x7f",
    b"\n",
    b"\r",
    b"\r\n",
    b"\"",
    b"\"\"",
    b",",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b" ",
    b"-",
    b"1e999",
    b"-0",
    b"9223372036854775808",
    b"\xc3\xa9",
    b"%",
    b"\\u0000",
    b"null",
];

/// A random generator (xorshift).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end.max(1) as u64).expect("a small number")
    }
}

fn change(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], chance: &mut Chance) {
    let place = chance.below(bytes.len() + 1);
    let end = place + chance.below((bytes.len() - place).min(64) + 1);
    match chance.below(7) {
        0 => {
            if let Some(byte) = bytes.get_mut(place) {
                *byte ^= 1 << chance.below(8);
            }
        }
        1 => {
            if let Some(byte) = bytes.get_mut(place) {
                *byte = u8::try_from(chance.below(256)).expect("a byte");
            }
        }
        2 => {
            bytes.drain(place..end);
        }
        3 => {
            let piece = bytes[place..end].to_vec();
            bytes.splice(place..place, piece);
        }
        4 => {
            let special = SPECIAL[chance.below(SPECIAL.len())];
            bytes.splice(place..place, special.iter().copied());
        }
        5 => {
            let special = SPECIAL[chance.below(SPECIAL.len())];
            let end = bytes.len().min(place + special.len());
            bytes.splice(place..end, special.iter().copied());
        }
        _ => {
            let other = &seeds[chance.below(seeds.len())];
            let from = chance.below(other.len() + 1);
            let to = other.len().min(from + chance.below(256));
            bytes.splice(place..end, other[from..to].iter().copied());
        }
    }
    bytes.truncate(LONGEST);
}

/// Returns the contents of the files with these names, and of the files in directories with these names.
pub fn seeds(root: &Path, names: &[&str]) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for name in names {
        let path = root.join(name);
        let mut paths: Vec<PathBuf> = match fs::read_dir(&path) {
            Ok(entries) => entries.map(|entry| entry.expect("entry").path()).collect(),
            Err(_) => vec![path],
        };
        // The mutations depend on the order of seeds.
        paths.sort();
        for path in paths.iter().filter(|path| path.is_file()) {
            let mut bytes = fs::read(path).expect("a seed");
            bytes.truncate(LONGEST);
            seeds.push(bytes);
        }
    }
    assert!(!seeds.is_empty(), "{names:?}");
    seeds
}

/// Returns `None` if the environment variable is not set.
fn number_from_env(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

fn seed_from_clock() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::from(now.expect("a time after 1970").subsec_nanos())
}

/// Tries the seeds, and then `mutations` random mutations of them. `PREP_FUZZ` sets a time instead of this number.
pub fn fuzz(name: &str, seeds: &[Vec<u8>], mutations: u64, check: fn(&[u8])) {
    for input in seeds {
        attempt(name, input, check);
    }
    let seconds = number_from_env("PREP_FUZZ");
    let seed = number_from_env("SEED").unwrap_or_else(|| seconds.map_or(1, |_| seed_from_clock()));
    // The state of the generator must not be zero.
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut mutate = || {
        let mut input = seeds[chance.below(seeds.len())].clone();
        for _ in 0..=chance.below(6) {
            change(&mut input, seeds, &mut chance);
        }
        attempt(name, &input, check);
    };
    match seconds {
        None => (0..mutations).for_each(|_| mutate()),
        Some(seconds) => {
            let started = Instant::now();
            while started.elapsed() < Duration::from_secs(seconds) {
                mutate();
            }
        }
    }
}

fn attempt(name: &str, input: &[u8], check: fn(&[u8])) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| cost::bounded(input, check))) {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}"));
        fs::write(&path, input).expect("the input is kept");
        eprintln!(
            "{name} breaks its promise on the {} bytes in {}",
            input.len(),
            path.display()
        );
        std::panic::resume_unwind(panic);
    }
}
