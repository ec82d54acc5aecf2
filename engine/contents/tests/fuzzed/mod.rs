//! The checks of the fuzz targets. Both the fuzzer and `tests/fuzz.rs` call them.

pub mod entries;
pub mod pairing;
pub mod pixels;
pub mod tables;
