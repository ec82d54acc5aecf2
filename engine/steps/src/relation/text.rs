//! Canonical text as a relation.

use std::fmt;
use std::sync::Arc;

use prep_formats::pandas::{ColumnType, RowSelection, TextTable, arrow_type};
use prep_sql::{RECORD, Relation, RelationColumn, ScanError, Values};

use super::chosen::Chosen;
use crate::value::Positions;

pub(crate) struct TextRelation {
    table: Arc<TextTable>,
    chosen: Chosen,
    columns: Vec<RelationColumn>,
}

impl TextRelation {
    /// `has_record`: the table is a JSON file's, with the whole records in a hidden column.
    pub(crate) fn new(
        table: Arc<TextTable>,
        positions: Option<Arc<Positions>>,
        has_record: bool,
    ) -> TextRelation {
        let columns = table.schema().columns.iter().map(|column| RelationColumn {
            name: column.name.clone(),
            data_type: arrow_type(column.kind),
            hidden: has_record && column.name == RECORD && column.kind == ColumnType::Json,
        });
        let columns = columns.collect();
        TextRelation {
            chosen: Chosen::new(table.schema().rows, positions),
            table,
            columns,
        }
    }
}

impl fmt::Debug for TextRelation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextRelation")
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}

impl Relation for TextRelation {
    fn columns(&self) -> &[RelationColumn] {
        &self.columns
    }

    fn rows(&self) -> u64 {
        self.chosen.len()
    }

    fn has_cells(&self, _column: usize) -> bool {
        true
    }

    fn scan(
        self: Arc<Self>,
        columns: Vec<usize>,
        batch: usize,
    ) -> Box<dyn Iterator<Item = Result<Values, ScanError>> + Send> {
        let mut first = 0;
        Box::new(std::iter::from_fn(move || {
            let len = usize::try_from((self.rows() - first).min(batch as u64))
                .ok()
                .filter(|len| *len > 0)?;
            let rows = match self.chosen.positions() {
                None => RowSelection::Range(first..first + len as u64),
                Some(positions) => RowSelection::Rows(positions.range(first, len).into()),
            };
            let values = self
                .table
                .read_batches(&columns, rows, len)
                .map_err(ScanError::from)
                .and_then(|mut batches| {
                    let batch = batches.next().ok_or("a stored table ends early")??;
                    Ok(Values {
                        rows: batch.num_rows(),
                        columns: batch.columns().to_vec(),
                    })
                });
            // Rows of long texts come in shorter batches.
            first += values.as_ref().map_or(len, |values| values.rows) as u64;
            Some(values)
        }))
    }

    fn origins(&self, first: u64, len: usize) -> Vec<u64> {
        self.chosen.origins(first, len)
    }
}
