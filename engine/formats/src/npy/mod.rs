//! NumPy's array files: their header, gathering of rows under the header that
//! NumPy 1.26 writes, and elements as values.

mod array;
mod elements;
mod header;
mod literal;
mod mask;

pub use array::NpyArray;
pub use elements::{Element, ElementKind, Elements};
pub use header::NpyHeader;
pub use mask::{MaskCode, mask_code};

use std::io;

/// Why a file is refused.
#[derive(Debug, thiserror::Error)]
pub enum NpyError {
    /// The bytes are something else.
    #[error("got {found}, expected a NumPy array (.npy)")]
    NotNpy {
        /// What it looks like.
        found: crate::sniff::Looks,
    },
    /// A format version after 3.0.
    #[error("the array file has format version {major}.{minor}; 1.0 to 3.0 can be read")]
    UnknownVersion {
        /// Major version.
        major: u8,
        /// Minor version.
        minor: u8,
    },
    /// The header is not what NumPy writes.
    #[error("the header of the array file is damaged: {reason}")]
    BadHeader {
        /// What is wrong.
        reason: String,
    },
    /// Python objects or records as elements.
    #[error(
        "the array holds elements of type {descr}; only plain numbers, texts and dates of fixed size can be read"
    )]
    UnsupportedType {
        /// The type, as in the header.
        descr: String,
    },
    /// Rows of an array in Fortran order do not lie together.
    #[error("the array is in Fortran order; its rows cannot be gathered")]
    FortranOrder,
    /// A row that is not there.
    #[error("row {row} was asked for, but the array has {rows} rows")]
    NoSuchRow {
        /// The row asked for, from 0.
        row: u64,
        /// Number of rows.
        rows: u64,
    },
    /// A text that NumPy itself could not print.
    #[error("row {row} of the array holds the number {code:#x}, which is no character")]
    NoCharacter {
        /// The row, from 0.
        row: u64,
        /// What stands in the place of a character.
        code: u32,
    },
    /// The data is shorter than the header says.
    #[error(
        "the array file has {there} bytes of data, its header asks for {needed}; fetch it again"
    )]
    Truncated {
        /// Bytes there.
        there: u64,
        /// Bytes needed.
        needed: u64,
    },
    /// Reading or writing failed.
    #[error("reading or writing the array failed")]
    Io(#[from] io::Error),
}
