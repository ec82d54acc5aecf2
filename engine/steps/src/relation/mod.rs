//! Opens tables for queries, and runs queries in a step.

mod array;
mod listing;
mod parquet;
mod query;
mod run;
mod selected;
mod text;

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;

use arrow::datatypes::DataType;
use prep_core::{Context, StepError, Value};
use prep_formats::npy::NpyArray;
use prep_formats::pandas::ColumnType;
use prep_sql::Relation;

pub(crate) use array::element_type;
pub(crate) use listing::for_each_file;
pub(crate) use listing::listing_schema;
pub(crate) use parquet::plain;
pub(crate) use prep_sql::RowForm;
pub(crate) use query::{query_rows_as_text, query_values, single_number, single_value};
pub(crate) use run::{QueryRun, RunningQuery, columns_by_table, query_memory};

use crate::limits::limits;
use crate::value::{StoredText, TableStorage, TableValue};
use array::ArrayRelation;
use listing::ListingRelation;
use parquet::ParquetRelation;
use text::TextRelation;

/// Number of rows per batch when a step reads a table.
pub(crate) const BATCH_ROWS: usize = 8192;

/// An opened table: queries read it, and writers copy its cells.
#[derive(Clone)]
pub(crate) struct OpenTable {
    pub relation: Arc<dyn Relation>,
    pub cells: CopiedCells,
    /// The types that pandas infers for columns that queries read as text.
    pub inferred: BTreeMap<String, ColumnType>,
}

impl OpenTable {
    pub(crate) fn is_number(&self, column: usize) -> bool {
        let column = self.relation.columns().get(column);
        column.is_some_and(|column| column.data_type == DataType::Float64)
    }
}

/// The source from which writers copy a table's cells.
#[derive(Clone)]
pub(crate) enum CopiedCells {
    /// Cells cannot be copied. All columns are read as values.
    None,
    /// Canonical text.
    Text(Arc<StoredText>),
    /// An array. Entries of the column `record` are copied to another array.
    Array(Arc<NpyArray<Arc<File>>>),
}

/// Opens the table of a step's output.
pub(crate) fn open(context: &Context, value: &Value) -> Result<OpenTable, StepError> {
    let table = TableValue::decode(value)?;
    let positions = table.positions(context)?.map(Arc::new);
    let (relation, cells): (Arc<dyn Relation>, _) = match &table.storage {
        TableStorage::Text { object } => {
            let text = StoredText::open(context, object, &table.schema)?;
            let relation = TextRelation::new(text.clone(), positions, &table);
            (Arc::new(relation), CopiedCells::Text(text))
        }
        TableStorage::Parquet { object } => {
            let object = context.store.open_private(object)?;
            let file = object.file().try_clone().map_err(StepError::machine)?;
            let limits = limits(context);
            let relation =
                ParquetRelation::open(file, object.len(), &limits, &table.numbers, positions)
                    .map_err(StepError::input)?;
            (Arc::new(relation), CopiedCells::None)
        }
        TableStorage::Npy { object } => {
            let object = context.store.open_private(object)?;
            let file = object.file().try_clone().map_err(StepError::machine)?;
            let array = NpyArray::open(Arc::new(file), 0..object.len());
            let array = Arc::new(array.map_err(StepError::internal)?);
            let relation = ArrayRelation::new(array.clone(), &table, positions);
            (Arc::new(relation), CopiedCells::Array(array))
        }
        TableStorage::Listing { object, pattern } => {
            let relation = ListingRelation::open(context, object, pattern, positions)?;
            (Arc::new(relation), CopiedCells::None)
        }
    };
    Ok(OpenTable {
        relation,
        cells,
        inferred: table.inferred,
    })
}

pub(crate) fn open_table(context: &Context, value: &Value) -> Result<Arc<dyn Relation>, StepError> {
    Ok(open(context, value)?.relation)
}

pub(crate) fn relations(
    tables: &BTreeMap<String, OpenTable>,
) -> BTreeMap<String, Arc<dyn Relation>> {
    tables
        .iter()
        .map(|(name, table)| (name.clone(), table.relation.clone()))
        .collect()
}
