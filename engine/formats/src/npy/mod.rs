//! Reads NumPy's array files (.npy), and writes selected rows with the same bytes as NumPy 1.26.
//!
//! ```
//! use prep_formats::npy::NpyHeader;
//!
//! let header = NpyHeader {
//!     descr: "<f4".to_owned(),
//!     fortran_order: false,
//!     shape: vec![2, 3],
//!     item_size: 4,
//!     data_offset: 128,
//! };
//! let bytes = header.to_bytes()?;
//! assert_eq!(bytes.len(), 128);
//! assert_eq!(NpyHeader::read(bytes.as_slice())?, header);
//! # Ok::<(), prep_formats::npy::NpyError>(())
//! ```

mod elements;
mod header;

pub use elements::{Element, ElementKind, MaskCode, NpyArray, mask_code};
pub use header::NpyHeader;

use std::io;

/// An array file that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum NpyError {
    /// The file is not an array file.
    #[error("got {found}, expected a NumPy array (.npy)")]
    NotNpy {
        /// The type that its first bytes indicate.
        found: crate::sniff::FileType,
    },
    /// The format version is above 3.0.
    #[error("the array file has format version {major}.{minor}; 1.0 to 3.0 can be read")]
    UnknownVersion {
        /// Major version.
        major: u8,
        /// Minor version.
        minor: u8,
    },
    /// The header is invalid.
    #[error("the header of the array file is damaged: {reason}")]
    BadHeader {
        /// The violated rule.
        reason: String,
    },
    /// The elements have a type that is not supported, for example Python objects or records.
    #[error(
        "the array has elements of type {descr}; only plain numbers, strings and dates of fixed size can be read"
    )]
    UnsupportedType {
        /// The type as in the header.
        descr: String,
    },
    /// The array is in Fortran order, in which the bytes of a row are not contiguous.
    #[error("the array is in Fortran order; single rows can be read only from arrays in C order")]
    FortranOrder,
    /// A requested row does not exist.
    #[error("row {row}, counted from 0, was requested, but the array has {rows} rows")]
    NoSuchRow {
        /// The requested row, from 0.
        row: u64,
        /// Number of rows.
        rows: u64,
    },
    /// A string contains a number that is not a character.
    #[error("row {row} of the array contains the number {code:#x}, which is not a character")]
    NoCharacter {
        /// The row, from 0.
        row: u64,
        /// The invalid code point.
        code: u32,
    },
    /// The file has less data than the header declares.
    #[error("the array file has {available} bytes of data instead of {needed}; fetch it again")]
    Truncated {
        /// Bytes in the file.
        available: u64,
        /// Bytes that the header declares.
        needed: u64,
    },
    /// The run-length code of a mask is too long.
    #[error(
        "the run-length code of the mask is longer than {limit} bytes; the array is probably not a mask"
    )]
    LongCode {
        /// Maximum length in bytes.
        limit: usize,
    },
    /// An I/O error.
    #[error("reading or writing the array failed")]
    Io(#[from] io::Error),
}
