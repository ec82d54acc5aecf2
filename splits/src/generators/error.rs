//! Errors of random draws.

use thiserror::Error;

/// A random draw that is impossible.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum RandomError {
    /// The interval contains no integer.
    #[error("there is no integer to draw between {low} and {high}")]
    EmptyRange {
        /// Lower bound.
        low: i64,
        /// Upper bound; whether it is included depends on the function.
        high: i64,
    },
    /// Bounds for which NumPy raises an error.
    #[error("NumPy rejects the bounds {low} and {high} of a uniform draw")]
    BadBounds {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// A sample without replacement that is larger than the population.
    #[error("cannot draw {wanted} different items from only {population} items; draw fewer")]
    SampleTooLarge {
        /// Number of requested items.
        wanted: u64,
        /// Number of available items.
        population: u64,
    },
    /// NumPy's legacy generator accepts seeds of 32 bits only.
    #[error("the seed {seed} is too large; NumPy's `RandomState` takes 0 to 4294967295")]
    SeedTooLarge {
        /// The seed as given.
        seed: u64,
    },
    /// The library of the generator, or this crate, has no such draw.
    #[error("the generator `{generator}` does not support the draw `{draw}`")]
    Unsupported {
        /// Name of the generator in a pipeline, for example `numpy_generator`.
        generator: &'static str,
        /// The requested kind of draw, for example `sample`.
        draw: &'static str,
    },
}
