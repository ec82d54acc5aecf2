//! Reads Parquet files as Arrow batches, and writes them like pandas with the engine fastparquet.
//!
//! - [`ParquetWriter`] writes files with the same content as fastparquet, but different bytes.
//! - [`FastparquetWriter`] writes the same bytes as a given version of fastparquet.
//! - A reader keeps one batch in memory, and a [`ParquetWriter`] keeps one row group.

mod fastparquet;
mod footer;
mod pages;
mod read;
mod texts;
mod write;

use arrow::datatypes::{DataType, Schema};
use prep_failure::{Quoted, units};

use crate::sniff::FileType;

pub use fastparquet::{
    FastparquetWriter, ParquetFooter, VersionError, WriterVersions, with_versions,
};
pub use read::{ParquetBatches, ParquetTable};
pub use write::{DEFAULT_ROW_GROUP_ROWS, ParquetWriter};

/// Returns the names and types of the columns, for messages.
fn describe(schema: &Schema) -> String {
    let columns = schema
        .fields()
        .iter()
        .map(|field| format!("{}: {}", field.name(), field.data_type()));
    columns.collect::<Vec<_>>().join(", ")
}

/// A Parquet file that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ParquetError {
    /// The file is not a Parquet file, or is truncated.
    #[error("got {found}, {}, expected a complete Parquet file", units::bytes(*.size))]
    NotParquet {
        /// The type that its first bytes indicate.
        found: FileType,
        /// Size in bytes.
        size: u64,
    },
    /// The file declares more rows than a file of its size may contain.
    #[error("the Parquet file of {} declares {rows} rows, more than the limit of {limit}", units::bytes(*.size))]
    TooManyRows {
        /// Number of rows according to the footer.
        rows: u64,
        /// Size of the file in bytes.
        size: u64,
        /// Maximum number of rows for this size.
        limit: u64,
    },
    /// Groups of columns are nested too deeply.
    #[error("the columns of the Parquet file are nested more than {limit} levels deep")]
    TooDeep {
        /// Maximum number of groups around a column.
        limit: usize,
    },
    /// A requested column does not exist.
    #[error("there is no column {column}; the columns are {}", .columns.join(", "), column = Quoted(.column))]
    UnknownColumn {
        /// The requested name.
        column: String,
        /// The names of the existing columns.
        columns: Vec<String>,
    },
    /// The type of the column is not one of pandas' plain types.
    #[error(
        "column {column} has type {data_type}, which cannot be written; cast it to a number, text or boolean type", column = Quoted(.column))]
    UnsupportedType {
        /// Name of the column.
        column: String,
        /// Type of the column.
        data_type: DataType,
    },
    /// The columns of a batch differ from those of the file.
    #[error("a batch has the columns {found}, expected {expected}")]
    OtherSchema {
        /// Columns of the batch.
        found: String,
        /// Columns of the file.
        expected: String,
    },
    /// The size of a page exceeds the range of the format.
    #[error(
        "a page has {0} bytes or rows, but the format allows at most 2147483647 of each; make the strings shorter"
    )]
    PageTooLarge(u64),
    /// The file is damaged, and the decoder failed.
    #[error("the Parquet file is damaged; fetch it again")]
    Damaged,
    /// The file is damaged, or an I/O error occurred.
    #[error("the Parquet file cannot be read or written")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A batch is damaged or has an unsupported type.
    #[error("a batch of the Parquet file cannot be built")]
    Arrow(#[from] arrow::error::ArrowError),
    /// An I/O error.
    #[error("reading or writing the Parquet file failed")]
    Io(#[from] std::io::Error),
}
