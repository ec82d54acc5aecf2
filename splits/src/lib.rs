#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod error;
mod keys;
mod part_sizes;
mod sets;
mod size;

mod generators {
    //! Random generators, equal to those of NumPy and Python.

    pub(crate) mod error;
    pub(crate) mod mt19937;
    pub(crate) mod numpy_generator;
    pub(crate) mod numpy_legacy;
    pub(crate) mod pcg64;
    pub(crate) mod python_random;
    pub(crate) mod rng;
}

mod methods {
    //! Methods of splitting rows.

    pub(crate) mod algorithm;
    pub(crate) mod cut;
    pub(crate) mod groups;
    pub(crate) mod sample;
    pub(crate) mod shuffle_split;
    pub(crate) mod stratified;
}

pub use error::SplitError;
pub use generators::error::RandomError;
pub use generators::mt19937::Mt19937;
pub use generators::numpy_generator::NumpyGenerator;
pub use generators::numpy_legacy::RandomState;
pub use generators::pcg64::{Pcg64, SeedSequence};
pub use generators::python_random::PythonRandom;
pub use generators::rng::{Rng, RngKind};
pub use keys::{KeyRole, Split, SplitKeys, SplitOrder};
pub use methods::algorithm::{SplitAlgorithm, split};
pub use methods::cut::{CutPoint, CutTies, cut};
pub use methods::groups::{Groups, group_split};
pub use methods::sample::{first_fit, python_sample, sample};
pub use methods::shuffle_split::shuffle_split;
pub use methods::stratified::stratified_split;
pub use part_sizes::PartSizes;
pub use sets::{set, set_names, sets_of};
pub use size::SplitSize;
