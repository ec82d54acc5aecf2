//! Random generators, equal to those of NumPy and Python.

pub(crate) mod error;
pub(crate) mod mt19937;
pub(crate) mod numpy_generator;
pub(crate) mod numpy_legacy;
pub(crate) mod pcg64;
pub(crate) mod python_random;
pub(crate) mod rng;
