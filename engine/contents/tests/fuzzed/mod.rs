//! The targets, for the fuzzer and for the tests.

pub mod entries;
pub mod pairing;
pub mod pixels;
pub mod tables;
