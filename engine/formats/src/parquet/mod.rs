//! Reads Parquet files as Arrow batches, and writes them like pandas with the engine fastparquet.
//!
//! [`ParquetWriter`] writes the same content as fastparquet. [`FastparquetWriter`] writes the same bytes as a given
//! version of fastparquet. Rows keep the order of the file. Reading needs memory for one batch, and writing for one row
//! group.

mod error;
mod fastparquet;
mod footer;
mod pages;
mod pandas_metadata;
mod read;
mod texts;
mod thrift;
mod write;

use arrow::datatypes::Schema;

pub use error::ParquetError;
pub use fastparquet::{
    FastparquetWriter, ParquetFooter, VersionError, WriterVersions, with_versions,
};
pub use read::{ParquetBatches, ParquetTable};
pub use write::{DEFAULT_ROW_GROUP_ROWS, ParquetWriter};

fn describe(schema: &Schema) -> String {
    let columns = schema
        .fields()
        .iter()
        .map(|field| format!("{}: {}", field.name(), field.data_type()));
    columns.collect::<Vec<_>>().join(", ")
}
