#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod error;
mod first_fit;
mod group_split;
mod groups;
mod keys;
mod method;
mod mt19937;
mod numpy_generator;
mod numpy_legacy;
mod pcg64;
mod python_random;
mod python_sample;
mod rng;
mod sample;
mod seed_sequence;
mod sets;
mod shuffle_split;
mod size;
mod stratified;

pub use error::{RandomError, SplitError};
pub use first_fit::first_fit;
pub use group_split::group_split;
pub use groups::Groups;
pub use keys::{KeyRole, SplitKeys};
pub use method::{SplitAlgorithm, split};
pub use mt19937::Mt19937;
pub use numpy_generator::NumpyGenerator;
pub use numpy_legacy::RandomState;
pub use pcg64::Pcg64;
pub use python_random::PythonRandom;
pub use python_sample::python_sample;
pub use rng::{Rng, RngKind};
pub use sample::sample;
pub use seed_sequence::SeedSequence;
pub use sets::{set, set_names, sets_of};
pub use shuffle_split::{Split, SplitOrder, shuffle_split};
pub use size::{PartSizes, SplitSize};
pub use stratified::stratified_split;
