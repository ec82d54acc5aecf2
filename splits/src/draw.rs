//! Random columns: made-up predictions of sample submissions, and labels that are drawn.
//!
//! A [`Draw`] is one call, or one loop of calls, of a seeded generator, with a value for every row.

use serde::{Deserialize, Serialize};

use crate::error::RandomError;
use crate::numpy_generator::Generator;
use crate::numpy_legacy::RandomState;
use crate::python_random::PythonRandom;

/// A column to draw. The generator is seeded once, before the first row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "draw", rename_all = "snake_case", deny_unknown_fields)]
pub enum Draw {
    /// `numpy.random.RandomState(seed).randint(low, high, rows)`: integers in low..high.
    NumpyRandint {
        /// Smallest value.
        low: i64,
        /// One above the largest value.
        high: i64,
        /// Seed of the legacy generator.
        seed: u32,
    },
    /// `numpy.random.default_rng(seed).uniform(low, high, rows)`: doubles in [low, high).
    NumpyUniform {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
        /// Seed of the generator.
        seed: u64,
    },
    /// `random.choice` in every row: the number of the chosen option, from 0.
    ///
    /// With several levels, the last option of a level leads to the next one, and options are numbered over all levels:
    /// `[2, 3]` chooses option 0 or, if not, one of the options 1, 2, 3 by a second draw.
    PythonChoice {
        /// Options of each level.
        levels: Vec<u32>,
        /// Seed of Python's `random`.
        seed: u64,
        /// The same generator has shuffled the rows before (`random.shuffle` of a list of that length).
        #[serde(default)]
        after_shuffle: bool,
    },
    /// `random.sample(range(low, high), k)` in every row: k different integers.
    PythonSample {
        /// Smallest value.
        low: i64,
        /// One above the largest value.
        high: i64,
        /// Values in each row.
        k: u32,
        /// Seed of Python's `random`.
        seed: u64,
    },
}

/// The values of a [`Draw`], one per row.
#[derive(Debug, Clone, PartialEq)]
pub enum Drawn {
    /// Whole numbers.
    Integers(Vec<i64>),
    /// Doubles.
    Floats(Vec<f64>),
    /// Lists of the same length.
    Lists(Vec<Vec<i64>>),
}

impl Draw {
    /// Draws the column.
    ///
    /// # Errors
    /// [`RandomError`] for an empty range, a choice of nothing, or a sample larger than its population.
    pub fn column(&self, rows: usize) -> Result<Drawn, RandomError> {
        match *self {
            Draw::NumpyRandint { low, high, seed } => {
                let mut generator = RandomState::new(seed);
                (0..rows)
                    .map(|_| generator.randint(low, high))
                    .collect::<Result<_, _>>()
                    .map(Drawn::Integers)
            }
            Draw::NumpyUniform { low, high, seed } => {
                let mut generator = Generator::new(seed);
                Ok(Drawn::Floats(
                    (0..rows).map(|_| generator.uniform(low, high)).collect(),
                ))
            }
            Draw::PythonChoice {
                ref levels,
                seed,
                after_shuffle,
            } => {
                if levels.is_empty() || levels.contains(&0) {
                    return Err(RandomError::EmptyRange { low: 0, high: 0 });
                }
                let mut generator = PythonRandom::new(seed);
                if after_shuffle {
                    generator.shuffle(&mut vec![(); rows]);
                }
                Ok(Drawn::Integers(
                    (0..rows).map(|_| choose(&mut generator, levels)).collect(),
                ))
            }
            Draw::PythonSample { low, high, k, seed } => {
                let wrong = RandomError::EmptyRange { low, high };
                let population = high
                    .checked_sub(low)
                    .and_then(|n| u32::try_from(n).ok())
                    .ok_or(wrong)?;
                let mut generator = PythonRandom::new(seed);
                let mut list = || {
                    let places = generator.sample(population, k)?;
                    Ok(places.into_iter().map(|at| low + i64::from(at)).collect())
                };
                (0..rows)
                    .map(|_| list())
                    .collect::<Result<_, _>>()
                    .map(Drawn::Lists)
            }
        }
    }
}

fn choose(generator: &mut PythonRandom, levels: &[u32]) -> i64 {
    let mut before = 0;
    let mut chosen = 0;
    for &options in levels {
        chosen = generator.randbelow(options.into()) as i64;
        let last = i64::from(options) - 1;
        if chosen != last {
            break;
        }
        before += last;
        chosen = 0;
    }
    before + chosen
}
