//! Parquet files: read as Arrow batches, written with the content that pandas
//! with fastparquet stores.
//!
//! Rows keep the order of the file. A batch never spans row groups' worth of
//! memory: reading holds one batch, writing one row group.

mod error;
mod pandas_metadata;
mod read;
mod write;

pub use error::ParquetError;
pub use read::{ParquetBatches, ParquetTable};
pub use write::{DEFAULT_ROW_GROUP_ROWS, ParquetWriter};
