//! The fuzz targets. Each `check` function panics if the loader violates a guarantee.

pub mod load;
