//! Reads a NumPy array as a relation. Queries can copy the entries of an array to an output. They can compute only with the
//! values of a one-dimensional array.

use std::fs::File;
use std::sync::Arc;

use arrow::compute::cast;
use arrow::datatypes::DataType;
use prep_formats::npy::{ElementKind, NpyArray};
use prep_formats::pandas::{ColumnType, arrow_type};
use prep_sql::{RECORD_COLUMN, Relation, RelationBatch, RelationBatches, RelationColumn};

use super::selected::SelectedRows;
use crate::value::{RowPositions, TableValue};

#[derive(Debug)]
pub(crate) struct ArrayRelation {
    array: Arc<NpyArray<Arc<File>>>,
    chosen: SelectedRows,
    columns: Vec<RelationColumn>,
}

impl ArrayRelation {
    pub(crate) fn new(
        array: Arc<NpyArray<Arc<File>>>,
        table: &TableValue,
        positions: Option<Arc<RowPositions>>,
    ) -> ArrayRelation {
        // Values have the type of the array, even if the column is declared `text` or `inferred`. Columns declared as
        // numbers contain doubles.
        let values = array.header().element_kind().map(|kind| match kind {
            // A single-precision number prints with fewer digits than a double.
            ElementKind::Single => DataType::Float32,
            kind => arrow_type(element_type(kind)),
        });
        let columns = table.schema.columns.iter().enumerate();
        let columns = columns.map(|(index, column)| RelationColumn {
            name: column.name.clone(),
            data_type: match &values {
                _ if table.numbers.contains(&index) => DataType::Float64,
                Some(values) if column.name != RECORD_COLUMN => values.clone(),
                _ => DataType::Utf8,
            },
            hidden: column.name == RECORD_COLUMN,
        });
        ArrayRelation {
            chosen: SelectedRows::new(table.schema.rows, positions),
            columns: columns.collect(),
            array,
        }
    }
}

impl Relation for ArrayRelation {
    fn columns(&self) -> &[RelationColumn] {
        &self.columns
    }

    fn rows(&self) -> u64 {
        self.chosen.len()
    }

    fn has_cells(&self, column: usize) -> bool {
        self.columns
            .get(column)
            .is_some_and(|column| column.name == RECORD_COLUMN)
    }

    fn scan(self: Arc<Self>, columns: Vec<usize>, batch: usize) -> RelationBatches {
        let ranges = self.chosen.ranges(batch);
        Box::new(ranges.map(move |(first, len)| {
            let mut arrays = Vec::with_capacity(columns.len());
            for column in &columns {
                if self.has_cells(*column) {
                    return Err("queries cannot compute with entries of an array".into());
                }
                let rows = self.chosen.origins(first, len);
                let array = self.array.elements(&rows)?;
                let data_type = self.columns.get(*column).map(|column| &column.data_type);
                arrays.push(match data_type {
                    Some(DataType::Float64) => cast(&array, &DataType::Float64)?,
                    _ => array,
                });
            }
            Ok(RelationBatch {
                rows: len,
                columns: arrays,
            })
        }))
    }

    fn origins(&self, first: u64, len: usize) -> Vec<u64> {
        self.chosen.origins(first, len)
    }
}

pub(crate) fn element_type(kind: ElementKind) -> ColumnType {
    match kind {
        ElementKind::Bool => ColumnType::Bool,
        ElementKind::Integer => ColumnType::Int64,
        ElementKind::Unsigned => ColumnType::UInt64,
        ElementKind::Single => ColumnType::Float32,
        ElementKind::Double => ColumnType::Float64,
        ElementKind::Text => ColumnType::Text,
    }
}
