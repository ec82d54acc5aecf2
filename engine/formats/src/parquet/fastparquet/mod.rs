//! Writes files with the same bytes as pandas' `to_parquet(engine="fastparquet", index=False)`.
//!
//! - Files have format version 1. Row groups have about equal sizes, and at most 50 million rows.
//! - In a row group, a column consists of PLAIN data pages of at most 500 MiB. Pages begin with definition levels and
//!   are compressed with Snappy.
//! - In the file, sizes precede the data that they describe. Therefore columns are collected in temporary files. Memory
//!   usage does not depend on the size of the table.
//! - [`WriterVersions`] defines the details that depend on the versions of fastparquet and pandas.

mod chunk;
mod column;
mod footer;
mod versions;

use std::io::Write;
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;

use super::ParquetError;
use chunk::{Chunk, ChunkOptions, write_chunk};
use column::{ColumnSpool, ColumnValues};
use footer::RowGroup;

pub(super) use column::numpy_type;
pub use versions::{ParquetFooter, VersionError, WriterVersions, with_versions};

const MAGIC: &[u8] = b"PAR1";

/// fastparquet's maximum number of rows in a row group.
const ROW_GROUP_ROWS: u64 = 50_000_000;

/// Writes batches with the same schema.
pub struct FastparquetWriter<W> {
    out: W,
    versions: WriterVersions,
    columns: Vec<ColumnSpool>,
    /// Directory for temporary files.
    scratch: std::path::PathBuf,
    rows: u64,
    /// Maximum number of rows in a row group.
    group_rows: u64,
}

impl<W: Write> FastparquetWriter<W> {
    /// Starts a file. `scratch` is the directory for temporary files.
    pub fn new(
        out: W,
        schema: &Schema,
        versions: WriterVersions,
        scratch: &Path,
    ) -> Result<Self, ParquetError> {
        let fields = schema.fields().iter();
        let columns = fields.map(|field| ColumnSpool::new(field, scratch));
        Ok(Self {
            out,
            versions,
            columns: columns.collect::<Result<_, _>>()?,
            scratch: scratch.to_owned(),
            rows: 0,
            group_rows: ROW_GROUP_ROWS,
        })
    }

    /// Sets the maximum number of rows in a row group, as the library's option `row_group_offsets` does.
    #[must_use]
    pub fn with_row_group_rows(mut self, rows: u64) -> Self {
        self.group_rows = rows.max(1);
        self
    }

    /// Appends rows.
    ///
    /// # Errors
    /// [`ParquetError::OtherSchema`] if the names or types of the columns differ from those of the file.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        let schema = batch.schema_ref();
        let found = schema.fields().iter();
        let same = found.len() == self.columns.len()
            && found
                .zip(&self.columns)
                .all(|(field, column)| column.matches(field));
        if !same {
            return Err(ParquetError::OtherSchema {
                found: super::describe(schema),
                expected: self.describe(),
            });
        }
        for (spool, array) in self.columns.iter_mut().zip(batch.columns()) {
            spool.push(array)?;
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Writes the file and returns the output.
    pub fn finish(mut self) -> Result<W, ParquetError> {
        let mut at = MAGIC.len() as u64;
        self.out.write_all(MAGIC)?;
        let columns = self.columns.into_iter().map(ColumnSpool::finish);
        let mut columns: Vec<ColumnValues> = columns.collect::<Result<_, _>>()?;
        let options = ChunkOptions {
            versions: &self.versions,
            scratch: &self.scratch,
        };
        let mut groups = Vec::new();
        for rows in group_sizes(self.rows, self.group_rows) {
            let mut chunks: Vec<Chunk> = Vec::new();
            for values in &mut columns {
                let chunk = write_chunk(&mut self.out, at, values, rows, options)?;
                at += chunk.compressed;
                chunks.push(chunk);
            }
            groups.push(RowGroup { rows, chunks });
        }
        let columns: Vec<_> = columns.into_iter().map(|values| values.column).collect();
        let footer = footer::footer(&columns, &groups, self.rows, &self.versions);
        self.out.write_all(&footer)?;
        let length = u32::try_from(footer.len()).unwrap_or(u32::MAX);
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(MAGIC)?;
        Ok(self.out)
    }

    fn describe(&self) -> String {
        let columns = self.columns.iter().map(ColumnSpool::describe);
        columns.collect::<Vec<_>>().join(", ")
    }
}

/// Returns the number of rows of each row group. The groups are about equal and have at most `max_rows` rows.
fn group_sizes(rows: u64, max_rows: u64) -> Vec<u64> {
    if rows == 0 {
        return Vec::new();
    }
    let parts = (rows - 1) / max_rows + 1;
    let each = (rows - 1) / parts + 1;
    let mut sizes = Vec::new();
    let mut left = rows;
    while left > 0 {
        let size = each.min(left);
        sizes.push(size);
        left -= size;
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_groups_have_about_equal_sizes() {
        assert_eq!(group_sizes(0, ROW_GROUP_ROWS), Vec::<u64>::new());
        assert_eq!(group_sizes(1, ROW_GROUP_ROWS), [1]);
        assert_eq!(group_sizes(50_000_000, ROW_GROUP_ROWS), [50_000_000]);
        assert_eq!(
            group_sizes(50_000_001, ROW_GROUP_ROWS),
            [25_000_001, 25_000_000]
        );
        assert_eq!(
            group_sizes(118_801_236, ROW_GROUP_ROWS),
            [39_600_412, 39_600_412, 39_600_412]
        );
    }
}
