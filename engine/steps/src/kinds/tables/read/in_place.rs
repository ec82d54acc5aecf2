//! Combines files that are read in place (one-dimensional NumPy arrays, parquet) into one table of text with the
//! declared columns.
//!
//! If the types of a column differ between files, doubles are combined with integers or single-precision numbers to
//! doubles, like in `pandas.concat`. For other pairs, the common type depends on bit widths that are not known here, or
//! it is `object`. Such pairs are an error.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use prep_core::{Context, Inputs, StepError, Value};
use prep_formats::pandas::{ColumnSchema as StoredColumn, ColumnType};
use prep_spec::model::{Column, ColumnKind};
use prep_sql::{Relation, RelationColumn};
use thiserror::Error;

use super::{ReadSpec, file_column, stored};
use crate::emit::{TypedArray, column_type, push_cell};
use crate::relation::{for_each_file, open_table};
use crate::value::{Opener, TableValue, TableWriter};

/// Rows per read.
const BATCH: usize = 8192;

#[derive(Debug, Error)]
enum ColumnTypeError {
    #[error("`{file}`: column `{column}` contains {found}, but {before} in the files before it")]
    OtherType {
        file: String,
        column: String,
        found: DataType,
        before: DataType,
    },
    #[error(
        "`{file}`: column `{column}` contains {found}, which a table of several files does not support"
    )]
    NoValue {
        file: String,
        column: String,
        found: DataType,
    },
}

/// Reads the files in the input `files` as one table.
pub(super) fn each_table(
    context: &Context,
    inputs: &Inputs,
    read: &ReadSpec,
) -> Result<TableValue, StepError> {
    let mut columns = vec![file_column()];
    columns.extend(read.columns.iter().map(|column| StoredColumn {
        nullable: true,
        ..stored(column)
    }));
    let mut out = TableWriter::new(context, columns)?;
    let mut types: Vec<Option<DataType>> = vec![None; read.columns.len()];
    let mut tables: Vec<(String, Value)> = Vec::new();
    let opener = Opener::new(context);
    for_each_file(context, inputs, &mut |file, opened| {
        let spec = ReadSpec {
            path: file.to_owned(),
            ..read.clone()
        };
        let table = (read.format.read)(context, &opener, opened.content(), &spec)?;
        let table = table.into_value();
        let relation = open_table(context, &table)?;
        for (column, before) in read.columns.iter().zip(&mut types) {
            let name = &column.name.value;
            let one = column_of(&relation, name)?.1;
            let found = plain_type(&one.data_type).ok_or_else(|| {
                StepError::input(ColumnTypeError::NoValue {
                    file: file.to_owned(),
                    column: name.clone(),
                    found: one.data_type.clone(),
                })
            })?;
            *before = match before.take() {
                None => Some(found),
                Some(before) => match common_type(&before, &found) {
                    Some(common) => Some(common),
                    None => {
                        return Err(StepError::input(ColumnTypeError::OtherType {
                            file: file.to_owned(),
                            column: name.clone(),
                            found,
                            before,
                        }));
                    }
                },
            };
        }
        tables.push((file.to_owned(), table));
        Ok(())
    })?;
    for (file, table) in &tables {
        let relation = open_table(context, table)?;
        let indices = read.columns.iter();
        let indices = indices.map(|column| Ok(column_of(&relation, &column.name.value)?.0));
        let indices = indices.collect::<Result<Vec<usize>, StepError>>()?;
        for values in relation.scan(indices, BATCH) {
            context.check()?;
            let values = values.map_err(StepError::input)?;
            let arrays = values.columns.iter().zip(read.columns.iter().zip(&types));
            let arrays: Vec<ArrayRef> = arrays
                .map(|(array, (column, common))| convert_to_written(array, column, common.as_ref()))
                .collect::<Result<_, StepError>>()?;
            let arrays = arrays.iter().map(TypedArray::new);
            let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
            for row in 0..values.rows {
                out.cells().text(file);
                for array in &arrays {
                    push_cell(out.cells(), array.cell(row));
                }
                out.end_row()?;
            }
        }
        context.progress.add_file();
    }
    let mut table = out.finish()?;
    for (column, found) in read.columns.iter().zip(types) {
        let kind = found.as_ref().and_then(column_type);
        let kind = kind.unwrap_or(ColumnType::Text);
        if column.kind == ColumnKind::Inferred && kind != ColumnType::Text {
            table.inferred.insert(column.name.value.clone(), kind);
        }
    }
    Ok(table)
}

/// Returns a column of a relation, with its index.
fn column_of<'r>(
    relation: &'r Arc<dyn Relation>,
    name: &str,
) -> Result<(usize, &'r RelationColumn), StepError> {
    let mut columns = relation.columns().iter().enumerate();
    let found = columns.find(|(_, one)| one.name == *name);
    found.ok_or_else(|| StepError::internal("a column disappeared"))
}

/// Returns the common type of two columns according to `pandas.concat`. `None` if it is unknown here.
fn common_type(one: &DataType, other: &DataType) -> Option<DataType> {
    let is_number = |one: &DataType| one.is_integer() || one.is_floating();
    let is_double = |one: &DataType| *one == DataType::Float64;
    match (one, other) {
        _ if one == other => Some(one.clone()),
        _ if is_number(one) && is_number(other) && (is_double(one) || is_double(other)) => {
            Some(DataType::Float64)
        }
        _ => None,
    }
}

/// Returns the type in which values are written. `None` for types that cannot be written as text.
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

/// Converts values to the written type: the common type of all files, or doubles if the column is declared a number.
fn convert_to_written(
    array: &ArrayRef,
    column: &Column,
    common: Option<&DataType>,
) -> Result<ArrayRef, StepError> {
    let target = match (column.kind, common) {
        (ColumnKind::Number, _) => &DataType::Float64,
        (_, Some(common)) => common,
        (_, None) => &DataType::Utf8,
    };
    cast(array, target).map_err(StepError::input)
}
