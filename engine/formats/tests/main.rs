//! The tests of `prep-formats`, one file per subject.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod archives;
mod arrays;
mod bson_documents;
mod codes_and_formats;
mod fastparquet;
mod hex;
mod image_headers;
mod images;
mod inflated;
mod json_elements;
mod json_frames;
mod json_pandas;
mod json_python;
mod json_reformat;
mod mapped;
mod pandas_blocks;
mod pandas_recorded;
mod pandas_support;
mod pandas_table;
mod pandas_writer;
mod parquet_files;
mod support;
mod text_lines;
mod tfrecords;
mod type_mismatch;
mod zip_refusals;
mod zip_round_trip;
