//! Errors.

use arrow::datatypes::DataType;

use crate::sniff::{HumanSize, Looks};

/// Why a parquet file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ParquetError {
    /// The bytes are something else, or cut off.
    #[error("got {found}, {}, expected a complete Parquet file", HumanSize(*.size))]
    NotParquet {
        /// What it looks like.
        found: Looks,
        /// Size in bytes.
        size: u64,
    },
    /// A table of more rows than a file of this size holds.
    #[error("the Parquet file has {rows} rows in {}, more than {limit}", HumanSize(*.size))]
    TooManyRows {
        /// Rows, as the footer says.
        rows: u64,
        /// Size of the file in bytes.
        size: u64,
        /// Most rows for a file of this size.
        limit: u64,
    },
    /// A column was asked for that is not there.
    #[error("there is no column {column:?}; the columns are {}", .columns.join(", "))]
    UnknownColumn {
        /// The name asked for.
        column: String,
        /// The names that there are.
        columns: Vec<String>,
    },
    /// A column type that pandas' plain types do not cover.
    #[error(
        "column {column:?} has type {data_type}, which is not written; cast it to a number, text or boolean type"
    )]
    UnsupportedType {
        /// Column name.
        column: String,
        /// Its type.
        data_type: DataType,
    },
    /// A batch does not have the schema of the file.
    #[error("a batch has the columns {found}, expected {expected}")]
    OtherSchema {
        /// Columns of the batch.
        found: String,
        /// Columns of the file.
        expected: String,
    },
    /// A page whose size the format cannot say.
    #[error("a page of {0} bytes or rows is too large for the format; make the texts shorter")]
    PageTooLarge(u64),
    /// Damaged content that the decoder cannot go on with.
    #[error("the Parquet file is damaged; fetch it again")]
    Damaged,
    /// Damaged content, or input and output that failed.
    #[error("the Parquet file cannot be read or written")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A damaged or unsupported batch.
    #[error("a batch of the Parquet file cannot be built")]
    Arrow(#[from] arrow::error::ArrowError),
    /// Reading the head of the file, or writing failed.
    #[error("reading or writing the Parquet file failed")]
    Io(#[from] std::io::Error),
}
