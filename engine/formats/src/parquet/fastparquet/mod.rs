//! Files as pandas' `to_parquet(engine="fastparquet", index=False)` writes them, byte by byte.
//!
//! The layout is a version 1 file: per row group and column PLAIN data pages (one, below 500 MiB), compressed with
//! Snappy, with definition levels and no dictionary; minimum and maximum of numbers in the footer, with the library's and
//! pandas' versions. Row groups have at most 50 million rows, and are made of about equal sizes.
//!
//! Sizes of row groups follow from the number of rows, and a page's header from its compressed size. So rows are kept in
//! scratch files, column by column, and the file is written when all have come: memory stays small whatever the table.
//!
//! What depends on the version of a library is said in [`Versions`]; between versions of equal behaviour only the footer's
//! texts differ, which [`with_versions`] replaces in a finished file.

mod chunk;
mod column;
mod footer;
mod rewrite;
mod snappy;
mod thrift;
mod versions;

use std::io::Write;
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;

use super::ParquetError;
use chunk::{Chunk, write_chunk};
use column::Spool;
use footer::RowGroup;

pub use rewrite::{Tail, with_versions};
pub use versions::{VersionError, Versions};

const MAGIC: &[u8] = b"PAR1";

/// Rows of a row group at most.
const ROW_GROUP_ROWS: u64 = 50_000_000;

/// Writes batches of one schema.
pub struct FastparquetWriter<W> {
    out: W,
    versions: Versions,
    columns: Vec<Spool>,
    scratch: std::path::PathBuf,
    rows: u64,
    group_rows: u64,
}

impl<W: Write> FastparquetWriter<W> {
    /// Begins a file; `scratch` is the folder of temporary files.
    ///
    /// # Errors
    /// [`ParquetError::UnsupportedType`].
    pub fn new(
        out: W,
        schema: &Schema,
        versions: Versions,
        scratch: &Path,
    ) -> Result<Self, ParquetError> {
        let fields = schema.fields().iter();
        let columns = fields.map(|field| Spool::new(field, scratch));
        Ok(Self {
            out,
            versions,
            columns: columns.collect::<Result<_, _>>()?,
            scratch: scratch.to_owned(),
            rows: 0,
            group_rows: ROW_GROUP_ROWS,
        })
    }

    /// With row groups of at most so many rows, as the library's option `row_group_offsets` makes them.
    #[must_use]
    pub fn with_row_group_rows(mut self, rows: u64) -> Self {
        self.group_rows = rows.max(1);
        self
    }

    /// Appends rows.
    ///
    /// # Errors
    /// [`ParquetError::OtherSchema`] when names or types differ from the file's.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        let schema = batch.schema_ref();
        let found = schema.fields().iter();
        let same = found.len() == self.columns.len()
            && found
                .zip(&self.columns)
                .all(|(field, column)| column.holds(field));
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

    /// Writes the file; returns the output.
    ///
    /// # Errors
    /// When a scratch file or the output cannot be written.
    pub fn finish(mut self) -> Result<W, ParquetError> {
        let mut at = MAGIC.len() as u64;
        self.out.write_all(MAGIC)?;
        let mut columns = Vec::new();
        let mut spooled = Vec::new();
        for spool in self.columns {
            let (column, values) = spool.finish()?;
            columns.push(column);
            spooled.push(values);
        }
        let mut groups = Vec::new();
        for rows in group_sizes(self.rows, self.group_rows) {
            let mut chunks: Vec<Chunk> = Vec::new();
            for (column, values) in columns.iter().zip(&mut spooled) {
                let chunk = write_chunk(
                    &mut self.out,
                    at,
                    column,
                    values,
                    rows,
                    &self.versions,
                    &self.scratch,
                )?;
                at += chunk.compressed;
                chunks.push(chunk);
            }
            groups.push(RowGroup { rows, chunks });
        }
        let footer = footer::footer(&columns, &groups, self.rows, &self.versions);
        self.out.write_all(&footer)?;
        let length = u32::try_from(footer.len()).unwrap_or(u32::MAX);
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(MAGIC)?;
        Ok(self.out)
    }

    fn describe(&self) -> String {
        let columns = self.columns.iter().map(Spool::describe);
        columns.collect::<Vec<_>>().join(", ")
    }
}

/// Rows of each row group: about equal, none above `at_most`.
fn group_sizes(rows: u64, at_most: u64) -> Vec<u64> {
    if rows == 0 {
        return Vec::new();
    }
    let parts = (rows - 1) / at_most + 1;
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
    fn row_groups_are_about_equal() {
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
