//! Parquet files: read as Arrow batches, written with the content that pandas
//! with fastparquet stores, or byte by byte as a version of it does.
//!
//! Rows keep the order of the file. A batch never spans row groups' worth of
//! memory: reading holds one batch, writing one row group.

mod error;
mod fastparquet;
mod pages;
mod pandas_metadata;
mod read;
mod write;

use arrow::datatypes::Schema;

pub use error::ParquetError;
pub use fastparquet::{FastparquetWriter, Tail, VersionError, Versions, with_versions};
pub use read::{ParquetBatches, ParquetTable};
pub use write::{DEFAULT_ROW_GROUP_ROWS, ParquetWriter};

fn describe(schema: &Schema) -> String {
    let columns = schema
        .fields()
        .iter()
        .map(|field| format!("{}: {}", field.name(), field.data_type()));
    columns.collect::<Vec<_>>().join(", ")
}
