//! What a fuzzer tries any bytes on: `check` panics where a promise is broken.

pub mod load;
