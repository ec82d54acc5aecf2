//! A seeded generator of NumPy or Python, whose state can be saved and restored.

use serde::{Deserialize, Serialize};

use crate::generators::error::RandomError;
use crate::generators::numpy_generator::NumpyGenerator;
use crate::generators::numpy_legacy::RandomState;
use crate::generators::python_random::PythonRandom;

/// The library and the class of a generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RngKind {
    /// `numpy.random.RandomState`. NumPy's global generator, which `numpy.random.seed` seeds, has this class.
    Numpy,
    /// `numpy.random.default_rng`.
    NumpyGenerator,
    /// `random.Random`. Python's global generator, which `random.seed` seeds, has this class.
    Python,
}

impl RngKind {
    /// Returns the name in a pipeline.
    pub fn name(self) -> &'static str {
        match self {
            RngKind::Numpy => "numpy",
            RngKind::NumpyGenerator => "numpy_generator",
            RngKind::Python => "python",
        }
    }
}

/// A seeded generator. Serializing saves its complete state, so a deserialized generator continues the sequence.
///
/// ```
/// use prep_splits::{Rng, RngKind};
/// let mut rng = Rng::new(RngKind::Python, 0)?;
/// rng.permutation(3);
/// let mut later: Rng = serde_json::from_str(&serde_json::to_string(&rng).unwrap()).unwrap();
/// assert_eq!(later.random(), rng.random());
/// # Ok::<(), prep_splits::RandomError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "generator", rename_all = "snake_case")]
pub enum Rng {
    /// See [`RngKind::Numpy`].
    Numpy(RandomState),
    /// See [`RngKind::NumpyGenerator`].
    NumpyGenerator(NumpyGenerator),
    /// See [`RngKind::Python`].
    Python(PythonRandom),
}

impl Rng {
    /// Creates a generator in its initial state.
    ///
    /// # Errors
    /// [`RandomError::SeedTooLarge`] if `seed` has more than 32 bits and `kind` is [`RngKind::Numpy`].
    pub fn new(kind: RngKind, seed: u64) -> Result<Self, RandomError> {
        Ok(match kind {
            RngKind::Numpy => {
                let seed = u32::try_from(seed).map_err(|_| RandomError::SeedTooLarge { seed })?;
                Rng::Numpy(RandomState::new(seed))
            }
            RngKind::NumpyGenerator => Rng::NumpyGenerator(NumpyGenerator::new(seed)),
            RngKind::Python => Rng::Python(PythonRandom::new(seed)),
        })
    }

    /// Returns the kind of this generator.
    pub fn kind(&self) -> RngKind {
        match self {
            Rng::Numpy(_) => RngKind::Numpy,
            Rng::NumpyGenerator(_) => RngKind::NumpyGenerator,
            Rng::Python(_) => RngKind::Python,
        }
    }

    /// Returns a double in [0, 1): NumPy's `random_sample()` (legacy) or `random()`, or Python's `random()`.
    pub fn random(&mut self) -> f64 {
        match self {
            Rng::Numpy(generator) => generator.random_sample(),
            Rng::NumpyGenerator(generator) => generator.random(),
            Rng::Python(generator) => generator.random(),
        }
    }

    /// `uniform(low, high)`: `low + (high - low) * random()` in NumPy's `RandomState`, in NumPy's newer generator and in
    /// Python's `random`.
    ///
    /// # Errors
    /// [`RandomError::BadBounds`] if NumPy rejects the bounds. NumPy rejects a difference `high - low` that is infinite or
    /// NaN. The newer generator also rejects a negative difference.
    pub fn uniform(&mut self, low: f64, high: f64) -> Result<f64, RandomError> {
        let range = high - low;
        let is_accepted = match self {
            Rng::Numpy(_) => range.is_finite(),
            Rng::NumpyGenerator(_) => range.is_finite() && range >= 0.0,
            Rng::Python(_) => true,
        };
        match is_accepted {
            true => Ok(low + range * self.random()),
            false => Err(RandomError::BadBounds { low, high }),
        }
    }

    /// Returns an integer in low..high, like `randint(low, high)`, `integers(low, high)` or `randrange(low, high)` of the
    /// generator's library.
    ///
    /// # Errors
    /// [`RandomError::EmptyRange`] if `low >= high`.
    pub fn integers(&mut self, low: i64, high: i64) -> Result<i64, RandomError> {
        match self {
            Rng::Numpy(generator) => generator.randint(low, high),
            Rng::NumpyGenerator(generator) => generator.integers(low, high),
            Rng::Python(generator) => generator.randrange(low, high),
        }
    }

    /// Returns the index that `choice` selects among `n` items.
    ///
    /// # Errors
    /// [`RandomError::EmptyRange`] if `n` is 0.
    pub fn choice(&mut self, n: u32) -> Result<u32, RandomError> {
        self.integers(0, n.into()).map(|index| index as u32)
    }

    /// Returns the numbers 0..n in random order: `permutation(n)` of NumPy, `random.shuffle` of a list in Python.
    pub fn permutation(&mut self, n: u32) -> Vec<u32> {
        match self {
            Rng::Numpy(generator) => generator.permutation(n),
            Rng::NumpyGenerator(generator) => generator.permutation(n),
            Rng::Python(generator) => {
                let mut numbers: Vec<u32> = (0..n).collect();
                generator.shuffle(&mut numbers);
                numbers
            }
        }
    }

    /// Returns `k` different numbers of 0..n in random order, like `choice(n, k, replace=False)` or
    /// `random.sample(range(n), k)`.
    ///
    /// # Errors
    /// [`RandomError::SampleTooLarge`] if `k > n`, and [`RandomError::Unsupported`] for NumPy's newer generator.
    pub fn sample(&mut self, n: u32, k: u32) -> Result<Vec<u32>, RandomError> {
        match self {
            Rng::Numpy(generator) => generator.choice(n, k),
            Rng::NumpyGenerator(_) => Err(RandomError::Unsupported {
                generator: self.kind().name(),
                draw: "sample",
            }),
            Rng::Python(generator) => generator.sample(n, k),
        }
    }
}
