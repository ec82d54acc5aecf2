//! The targets of the fuzzer. `check` panics if the loader breaks a promise.

pub mod load;
