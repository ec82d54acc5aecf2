//! Files of formats that are read in place (NumPy arrays of one axis, parquet), as one table: their declared columns, row by
//! row, as text. A column has one type in all files.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type, UInt64Type};
use prep_core::{Context, Failure, Inputs, StepError};
use prep_formats::pandas::{Column as StoredColumn, ColumnType};
use prep_spec::model::{Column, ColumnKind};
use thiserror::Error;

use super::{Read, file_column, stored};
use crate::relation::{for_each_file, open_table};
use crate::value::{Opener, TableValue, TableWriter};

/// Rows that are read at a time.
const BATCH: usize = 8192;

#[derive(Debug, Error)]
enum EachError {
    #[error("`{file}`: column `{column}` holds {found}, but {before} in the files before it")]
    OtherType {
        file: String,
        column: String,
        found: DataType,
        before: DataType,
    },
    #[error("`{file}`: column `{column}` holds {found}, which many files cannot have as one table")]
    NoValue {
        file: String,
        column: String,
        found: DataType,
    },
}

/// The files that the input `files` names as one table.
pub(super) fn each_table(
    context: &Context,
    inputs: &Inputs,
    read: &Read,
) -> Result<TableValue, StepError> {
    let mut columns = vec![file_column()];
    columns.extend(read.columns.iter().map(|column| StoredColumn {
        nullable: true,
        ..stored(column)
    }));
    let mut out = TableWriter::new(context, columns)?;
    let mut types: Vec<Option<DataType>> = vec![None; read.columns.len()];
    let opener = Opener::new(context);
    for_each_file(context, inputs, &mut |file, opened| {
        let own = Read {
            path: file.to_owned(),
            ..read.clone()
        };
        let table = (read.format.read)(context, &opener, opened.content(), &own)?;
        let relation = open_table(context, &table.into_value())?;
        let mut places = Vec::new();
        for (column, before) in read.columns.iter().zip(&mut types) {
            let name = &column.name.value;
            let found = relation.columns().iter().position(|one| one.name == *name);
            let Some((place, one)) =
                found.and_then(|place| Some((place, relation.columns().get(place)?)))
            else {
                return Err(StepError::internal("a column that was found is gone"));
            };
            let found = plain_type(&one.data_type).ok_or_else(|| {
                StepError::input(EachError::NoValue {
                    file: file.to_owned(),
                    column: name.clone(),
                    found: one.data_type.clone(),
                })
            })?;
            match before {
                Some(before) if *before != found => {
                    return Err(StepError::input(EachError::OtherType {
                        file: file.to_owned(),
                        column: name.clone(),
                        found,
                        before: before.clone(),
                    }));
                }
                _ => *before = Some(found),
            }
            places.push(place);
        }
        for values in relation.scan(places, BATCH) {
            let values = values.map_err(|cause| StepError::new(Failure::Input, cause))?;
            let arrays = values.columns.iter().zip(&read.columns);
            let arrays: Vec<ArrayRef> = arrays
                .map(|(array, column)| as_written(array, column))
                .collect::<Result<_, StepError>>()?;
            for row in 0..values.rows {
                out.cells().text(file);
                for array in &arrays {
                    write(&mut out, array, row);
                }
                out.end_row()?;
            }
        }
        context.progress.add_file();
        Ok(())
    })?;
    let mut table = out.finish()?;
    for (column, found) in read.columns.iter().zip(types) {
        let kind = found.as_ref().map_or(ColumnType::Text, column_type);
        if column.kind == ColumnKind::Inferred && kind != ColumnType::Text {
            table.inferred.insert(column.name.value.clone(), kind);
        }
    }
    Ok(table)
}

/// The type as which values are written; none of what has no plain value.
fn plain_type(found: &DataType) -> Option<DataType> {
    Some(match found {
        DataType::Boolean => DataType::Boolean,
        DataType::UInt64 => DataType::UInt64,
        found if found.is_integer() => DataType::Int64,
        DataType::Float32 => DataType::Float32,
        DataType::Float64 => DataType::Float64,
        found if found.is_string() => DataType::Utf8,
        _ => return None,
    })
}

fn column_type(found: &DataType) -> ColumnType {
    match found {
        DataType::Boolean => ColumnType::Bool,
        DataType::UInt64 => ColumnType::UInt64,
        DataType::Int64 => ColumnType::Int64,
        DataType::Float32 => ColumnType::Float32,
        DataType::Float64 => ColumnType::Float64,
        _ => ColumnType::Text,
    }
}

/// The values in the type that is written: a column that is declared a number holds doubles.
fn as_written(array: &ArrayRef, column: &Column) -> Result<ArrayRef, StepError> {
    let target = match column.kind {
        ColumnKind::Number => DataType::Float64,
        _ => plain_type(array.data_type()).unwrap_or(DataType::Utf8),
    };
    cast(array, &target).map_err(StepError::input)
}

fn write(out: &mut TableWriter<'_>, array: &ArrayRef, row: usize) {
    let cells = out.cells();
    if array.is_null(row) {
        return cells.missing();
    }
    match array.data_type() {
        DataType::Boolean => cells.bool(array.as_boolean().value(row)),
        DataType::Int64 => cells.integer(array.as_primitive::<Int64Type>().value(row)),
        DataType::UInt64 => cells.integer(array.as_primitive::<UInt64Type>().value(row)),
        DataType::Float32 => cells.f32(array.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => cells.f64(array.as_primitive::<Float64Type>().value(row)),
        _ => cells.text(array.as_string::<i32>().value(row)),
    }
}
