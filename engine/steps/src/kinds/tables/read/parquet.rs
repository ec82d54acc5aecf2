//! Reads a parquet file: extracts it into the cache, where it is read in place.

use arrow::datatypes::DataType;
use prep_core::{Context, StepError};
use prep_formats::pandas::{ColumnSchema, ColumnType, Schema};
use prep_formats::parquet::ParquetTable;
use prep_spec::words::Word;

use super::{ReadFormat, ReadSpec, check_columns, extracted, failed, in_place};
use crate::limits::limits;
use crate::value::{ContentRef, Opener, TableStorage, TableValue};

pub(super) const FORMAT: ReadFormat = ReadFormat {
    word: Word {
        name: "parquet",
        doc: "Apache Parquet, `.parquet`",
    },
    endings: &["parquet"],
    record: None,
    read,
    each: in_place::each_table,
    plain: None,
};

fn read(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    read: &ReadSpec,
) -> Result<TableValue, StepError> {
    let (content, file) = extracted(context, opener, content, read)?;
    let table = ParquetTable::open(file, 0..content.bytes(), &limits(context))
        .map_err(|cause| failed(read, cause))?;
    let columns = table.schema().fields().iter().map(|field| ColumnSchema {
        name: field.name().clone(),
        kind: kind(field.data_type()),
        nullable: field.is_nullable(),
    });
    let mut schema = Schema {
        columns: columns.collect(),
        rows: table.rows(),
    };
    let declared = check_columns(read, &mut schema).map_err(|error| error.error_at(read))?;
    Ok(declared.table(
        schema,
        TableStorage::Parquet {
            object: *content.base(),
        },
    ))
}

/// The closest column type, which is only used to check declarations.
fn kind(data_type: &DataType) -> ColumnType {
    match data_type {
        DataType::Int8 => ColumnType::Int8,
        DataType::Int16 => ColumnType::Int16,
        DataType::Int32 => ColumnType::Int32,
        DataType::UInt64 => ColumnType::UInt64,
        data_type if data_type.is_integer() => ColumnType::Int64,
        DataType::Float32 => ColumnType::Float32,
        DataType::Float64 => ColumnType::Float64,
        DataType::Boolean => ColumnType::Bool,
        _ => ColumnType::Text,
    }
}
