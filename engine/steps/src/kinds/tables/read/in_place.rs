//! Reads Parquet files and NumPy arrays: extracts them into the cache, where queries read them.

use prep_core::{Context, StepError};
use prep_formats::npy::NpyArray;
use prep_formats::pandas::{ColumnType, Schema};
use prep_formats::parquet::ParquetTable;
use prep_spec::model::ColumnKind;
use prep_spec::words::{CellContent, Word};
use prep_sql::{RECORD_COLUMN, VALUE_COLUMN};

use super::{ReadFormat, ReadSpec, check_columns, extracted, failed};
use crate::emit::column_type;
use crate::limits::limits;
use crate::relation::{element_type, plain};
use crate::value::{ContentRef, Opener, TableStorage, TableValue, column};

pub(super) const PARQUET: ReadFormat = ReadFormat {
    word: Word {
        name: "parquet",
        doc: "Apache Parquet, `.parquet`",
    },
    endings: &["parquet"],
    record: None,
    read: read_parquet,
    plain: None,
};

fn read_parquet(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    read: &ReadSpec,
) -> Result<TableValue, StepError> {
    let (content, file) = extracted(context, opener, content, read)?;
    let table = ParquetTable::open(file, 0..content.bytes(), &limits(context))
        .map_err(|cause| failed(read, cause))?;
    let columns = table.schema().fields().iter().map(|field| {
        // The type only serves to check the declared columns.
        let kind = column_type(field.data_type()).unwrap_or(ColumnType::Text);
        column(field.name(), kind, field.is_nullable())
    });
    let mut schema = Schema {
        columns: columns.collect(),
        rows: table.rows(),
    };
    let declared = check_columns(read, &mut schema).map_err(|error| error.error_at(read))?;
    let names: Vec<&str> = schema
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    let bytes = table.decoded_bytes(&names);
    let object = *content.base();
    let mut doubles = Vec::new();
    for (index, field) in table.schema().fields().iter().enumerate() {
        let mut declared = read.columns.iter();
        let declared = declared.find(|column| column.name.value == *field.name());
        let is_inferred = declared.is_none_or(|column| column.kind == ColumnKind::Inferred);
        // pandas reads integers as doubles if a cell is missing.
        if is_inferred
            && field.is_nullable()
            && plain(field.data_type()).is_integer()
            && table
                .has_missing(field.name())
                .map_err(|cause| failed(read, cause))?
        {
            doubles.push(index);
        }
    }
    let mut read = declared.table(schema, TableStorage::Parquet { object }, bytes);
    read.numbers.extend(doubles);
    Ok(read)
}

pub(super) const NPY: ReadFormat = ReadFormat {
    word: Word {
        name: "npy",
        doc: "a NumPy array, `.npy`: one row per entry of the first axis. The hidden column `record` contains the entry. If the array has only one axis, the column `value` contains the entry as a value",
    },
    endings: &["npy"],
    record: Some(CellContent::Entries),
    read: read_npy,
    plain: None,
};

fn read_npy(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    read: &ReadSpec,
) -> Result<TableValue, StepError> {
    let (content, file) = extracted(context, opener, content, read)?;
    let array = NpyArray::open(file, 0..content.bytes()).map_err(|cause| failed(read, cause))?;
    let header = array.header();
    let mut columns = Vec::new();
    if let (1, Some(kind)) = (header.shape.len(), header.element_kind()) {
        columns.push(column(VALUE_COLUMN, element_type(kind), true));
    }
    let record = columns.len();
    // The type is unused, because these cells are never read as text.
    columns.push(column(RECORD_COLUMN, ColumnType::Text, false));
    let mut schema = Schema {
        columns,
        rows: header.rows(),
    };
    let declared = check_columns(read, &mut schema).map_err(|error| error.error_at(read))?;
    let object = *content.base();
    let storage = TableStorage::Npy { object };
    let mut table = declared.table(schema, storage, content.bytes());
    table.hidden.insert(record);
    Ok(table)
}
