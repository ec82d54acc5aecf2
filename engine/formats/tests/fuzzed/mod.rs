//! The fuzz targets. Each has a function `check` that panics if a property is violated.

pub mod archives;
pub mod bson;
pub mod image_header;
pub mod json;
pub mod json_elements;
pub mod lines;
pub mod matlab;
pub mod npy;
pub mod pandas;
pub mod parquet;
pub mod png;
pub mod printf;
pub mod sevenz_header;
pub mod tfrecord;
pub mod zip;
