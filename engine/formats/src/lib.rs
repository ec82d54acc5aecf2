//! Reads and writes file formats: archives, tables, arrays and images.
//!
//! The readers and writers produce the same values and bytes as the Python libraries that MLE-bench uses.
//!
//! All input is untrusted: [`limits`] bounds the memory, disk space and time that a file can demand.
//!
//! | Group | Modules |
//! |---|---|
//! | archives | [`archive`] (all formats), [`zip`], [`tar`], [`sevenz`], [`gzip`]; random access to compressed data: [`inflated`], [`spans`] |
//! | tables | [`pandas`] (CSV), [`parquet`], [`json`], [`bson`], [`lines`] |
//! | arrays and records | [`npy`], [`matlab`], [`tfrecord`] |
//! | images | [`png`], [`image`] (sizes of many formats), [`rle`] (masks) |
//! | text | [`hex`], [`text_encoding`], [`printf`], [`python`] (numbers) |
//! | shared | [`checked`], [`paths`], [`read_at`], [`sniff`] |
//!
//! ```
//! use prep_formats::sniff::FileType;
//!
//! assert_eq!(FileType::detect(b"PK\x03\x04"), FileType::Zip);
//! ```

#![warn(missing_docs)]

pub mod archive;
pub mod bson;
pub mod checked;
mod deflate;
pub mod gzip;
pub mod hex;
pub mod image;
pub mod inflated;
pub mod json;
pub mod limits;
pub mod lines;
pub mod matlab;
pub mod npy;
pub mod pandas;
pub mod parquet;
pub mod paths;
pub mod png;
pub mod printf;
pub mod python;
pub mod read_at;
pub mod rle;
pub mod sevenz;
pub mod sniff;
pub mod spans;
pub mod tar;
pub mod text_encoding;
pub mod tfrecord;
pub mod zip;
