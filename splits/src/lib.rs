#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod error;
mod generators;
mod keys;
mod methods;
mod part_sizes;
mod parts;
mod sets;
mod size;

pub use error::SplitError;
pub use generators::error::RandomError;
pub use generators::mt19937::Mt19937;
pub use generators::numpy_generator::NumpyGenerator;
pub use generators::numpy_legacy::RandomState;
pub use generators::pcg64::Pcg64;
pub use generators::python_random::PythonRandom;
pub use generators::rng::{Rng, RngKind};
pub use generators::seed_sequence::SeedSequence;
pub use keys::{KeyRole, SplitKeys};
pub use methods::algorithm::{SplitAlgorithm, split};
pub use methods::first_fit::first_fit;
pub use methods::group_split::group_split;
pub use methods::groups::Groups;
pub use methods::python_sample::python_sample;
pub use methods::sample::sample;
pub use methods::shuffle_split::shuffle_split;
pub use methods::stratified::stratified_split;
pub use part_sizes::PartSizes;
pub use parts::{Split, SplitOrder};
pub use sets::{set, set_names, sets_of};
pub use size::SplitSize;
