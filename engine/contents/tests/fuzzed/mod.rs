//! The fuzz targets, which the fuzzer and the tests use.

pub mod entries;
pub mod pairing;
pub mod pixels;
pub mod tables;
