//! Stores a table row by row.

use prep_cache::ObjectWriter;
use prep_core::{Context, StepError};
use prep_formats::pandas::{ColumnSchema, CsvWriter, Schema};

use super::{StoredText, TableStorage, TableValue, TextMetadata};

/// Number of rows between two checks for cancellation.
const BETWEEN_CHECKS: u64 = 4096;

/// Writes a table as canonical text into the cache.
pub(crate) struct TableWriter<'a> {
    pub context: &'a Context,
    cells: CsvWriter<ObjectWriter>,
    /// Columns, and the number of rows written so far.
    pub schema: Schema,
}

impl<'a> TableWriter<'a> {
    pub fn new(
        context: &'a Context,
        columns: Vec<ColumnSchema>,
    ) -> Result<TableWriter<'a>, StepError> {
        let mut cells = CsvWriter::new(context.store.writer()?).with_index();
        cells
            .header(columns.iter().map(|column| column.name.as_str()))
            .map_err(StepError::machine)?;
        Ok(TableWriter {
            context,
            cells,
            schema: Schema { columns, rows: 0 },
        })
    }

    /// Returns the writer for the cells of a row, from left to right.
    pub fn cells(&mut self) -> &mut CsvWriter<ObjectWriter> {
        &mut self.cells
    }

    pub fn end_row(&mut self) -> Result<(), StepError> {
        if self.schema.rows.is_multiple_of(BETWEEN_CHECKS) {
            self.context.check()?;
        }
        self.schema.rows += 1;
        self.cells.end_row().map_err(StepError::machine)
    }

    /// Stores the table.
    pub fn finish(mut self) -> Result<TableValue, StepError> {
        let index = self.cells.take_index();
        let out = self.cells.finish().map_err(StepError::machine)?;
        let stored = out.commit()?;
        if let Some(index) = index {
            let metadata = TextMetadata {
                index,
                projection: None,
            };
            StoredText::cache(self.context, stored, &self.schema, metadata)?;
        }
        let storage = TableStorage::Text {
            object: stored.digest,
        };
        Ok(TableValue::new(self.schema, storage, stored.len))
    }
}
