//! Cells of a query's rows, copied from a table or computed.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayAccessor, ArrayRef, AsArray, BooleanArray, Float32Array, Float64Array, Int64Array,
    RecordBatch, StringArray, UInt64Array,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt64Type};
use prep_core::{Failure, StepError};
use prep_formats::pandas::{Cells, ColumnSchema, ColumnType, CsvWriter, TextTable, cell_content};
use prep_spec::model::Query;
use prep_sql::{ColumnSource, ResultColumn, type_name, unwritable_column, unwritable_type};

use crate::located::{Subject, error_at_with_help};
use crate::relation::{CopiedCells, OpenTable, QueryRun, RowForm, RunningQuery};
use crate::value::{StoredText, column};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell<'a> {
    Missing,
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    Single(f32),
    Bool(bool),
    Text(&'a str),
    /// A cell of a stored table, with its quotes, and the type of its column. For columns declared `inferred`, this is the
    /// type that pandas infers.
    Slice(&'a [u8], ColumnType),
}

pub(crate) fn push_cell(writer: &mut CsvWriter<impl Write>, cell: Cell<'_>) {
    match cell {
        Cell::Missing => writer.missing(),
        Cell::Integer(value) => writer.integer(value),
        Cell::Unsigned(value) => writer.integer(value),
        Cell::Float(value) => writer.f64(value),
        Cell::Single(value) => writer.f32(value),
        Cell::Bool(value) => writer.bool(value),
        Cell::Text(value) => writer.text(value),
        Cell::Slice(cell, kind) => writer.slice(cell, kind),
    }
}

impl<'a> Cell<'a> {
    /// Returns the cell without quotes. `None` if the cell is missing or a computed number.
    pub fn text(&self) -> Option<Cow<'a, [u8]>> {
        match self {
            Cell::Text(text) => Some(text.as_bytes().into()),
            Cell::Slice(cell, _) => cell_content(cell),
            _ => None,
        }
    }
}

/// The columns of a query, and the source of their cells.
pub(crate) struct ResultLayout {
    sources: Vec<CellSource>,
    pub columns: Vec<ColumnSchema>,
    /// Indices of the columns that copy cells of a column declared as a number.
    pub numbers: BTreeSet<usize>,
    /// For each column that copies cells of a column declared `inferred`: the type that pandas infers.
    pub inferred: BTreeMap<String, ColumnType>,
    read_volume: ReadVolume,
}

/// Rows and bytes read from stored tables since [`NOTIFY_AFTER`] was last reached.
#[derive(Debug, Clone, Copy, Default)]
struct ReadVolume {
    rows: u64,
    bytes: u64,
}

enum CellSource {
    Slice {
        table: Arc<StoredText>,
        column: usize,
        kind: ColumnType,
    },
    Value,
}

/// Returns the error for a column with a type that tables cannot store. The error contains the column's place in the
/// query.
fn unwritable(query: &Query, column: &ResultColumn) -> StepError {
    let kind = match &column.source {
        ColumnSource::Values(data_type) => {
            unwritable_type(data_type).unwrap_or(type_name(data_type))
        }
        ColumnSource::Cells { .. } => "cells",
    };
    let (message, help) = unwritable_column(&column.name, kind);
    let subject = Subject::Query(Box::new(query.clone()), query.place_of(&column.name));
    error_at_with_help(Failure::Pipeline, subject, message, Some(help))
}

impl ResultLayout {
    /// Opens the tables of a query and starts the query. Returns its rows, and the layout of their cells.
    pub(crate) fn start(run: QueryRun<'_>) -> Result<(RunningQuery<'_>, ResultLayout), StepError> {
        let (tables, query) = (run.open_tables()?, run.query);
        let rows = run.start(&tables, RowForm::Cells)?;
        let is_unwritable = |column: &&ResultColumn| match &column.source {
            ColumnSource::Values(data_type) => column_type(data_type).is_none(),
            ColumnSource::Cells { .. } => false,
        };
        if let Some(column) = rows.columns().iter().find(is_unwritable) {
            return Err(unwritable(query, column));
        }
        let layout = ResultLayout::new(rows.columns(), &tables)?;
        Ok((rows, layout))
    }

    pub(crate) fn new(
        columns: &[ResultColumn],
        tables: &BTreeMap<String, OpenTable>,
    ) -> Result<ResultLayout, StepError> {
        let mut layout = ResultLayout {
            sources: Vec::new(),
            columns: Vec::new(),
            numbers: BTreeSet::new(),
            inferred: BTreeMap::new(),
            read_volume: ReadVolume::default(),
        };
        for (position, result) in columns.iter().enumerate() {
            let name = result.name.clone();
            let (source, column) = match &result.source {
                ColumnSource::Cells { table, column } => {
                    let opened = tables.get(table);
                    if opened.is_some_and(|table| table.is_number(*column)) {
                        layout.numbers.insert(position);
                    }
                    let Some(CopiedCells::Text(table)) = opened.map(|table| &table.cells) else {
                        // The check of the query allows entries of an array only in outputs that are arrays.
                        return Err(StepError::internal("the table has no cells to copy"));
                    };
                    let table = table.clone();
                    let stored = table.schema().columns[*column].clone();
                    let inferred = opened.and_then(|table| table.inferred.get(&stored.name));
                    if let Some(kind) = inferred {
                        layout.inferred.insert(name.clone(), *kind);
                    }
                    let source = CellSource::Slice {
                        table,
                        column: *column,
                        kind: inferred.copied().unwrap_or(stored.kind),
                    };
                    (source, ColumnSchema { name, ..stored })
                }
                ColumnSource::Values(data_type) => {
                    let kind = column_type(data_type);
                    let kind = kind.ok_or_else(|| StepError::internal("a cell has no type"))?;
                    (CellSource::Value, column(&name, kind, false))
                }
            };
            layout.sources.push(source);
            layout.columns.push(column);
        }
        Ok(layout)
    }

    /// If all columns are copied from one table, returns this table and the index of each column in this table.
    pub(crate) fn single_table(&self) -> Option<(Arc<StoredText>, Vec<usize>)> {
        let mut single: Option<&Arc<StoredText>> = None;
        let mut indices = Vec::new();
        for source in &self.sources {
            let CellSource::Slice { table, column, .. } = source else {
                return None;
            };
            if single.is_some_and(|single| !Arc::ptr_eq(single, table)) {
                return None;
            }
            single = Some(table);
            indices.push(*column);
        }
        Some((single?.clone(), indices))
    }

    /// Calls `row` for each row of a batch. Marks columns with a missing cell as nullable.
    pub(crate) fn for_each_row(
        &mut self,
        batch: &RecordBatch,
        mut row: impl FnMut(ResultRow<'_>) -> Result<(), StepError>,
    ) -> Result<(), StepError> {
        let arrays = plain_arrays(batch, &self.sources)?;
        let columns = arrays.iter().map(TypedArray::new);
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let copied_from = copied_from(&self.sources)?;
        let varying = self.varying_column_count(&arrays);
        let mut cells = vec![Cell::Missing; self.sources.len()];
        let mut slices = RowCells {
            read_volume: self.read_volume,
            ..RowCells::default()
        };
        for index in 0..batch.num_rows() {
            let changing = if index == 0 { cells.len() } else { varying };
            let sources = self.sources.iter().zip(&columns).enumerate();
            for (position, (source, values)) in sources.take(changing) {
                let cell = match source {
                    CellSource::Value => values.cell(index),
                    CellSource::Slice { kind, .. } => {
                        let from = copied_from.get(position).copied().flatten();
                        match from.zip(values.origin(index)) {
                            None => Cell::Missing,
                            Some(((table, column), origin)) => {
                                Cell::Slice(slices.cell(table, origin, column)?, *kind)
                            }
                        }
                    }
                };
                // An empty string is written as a missing cell.
                self.columns[position].nullable |= matches!(cell, Cell::Missing | Cell::Text(""));
                cells[position] = cell;
            }
            row(ResultRow {
                cells: &cells,
                varying,
            })?;
        }
        self.read_volume = slices.read_volume;
        Ok(())
    }

    /// Returns the number of columns before the trailing columns with one value for all rows of the batch.
    fn varying_column_count(&self, arrays: &[ArrayRef]) -> usize {
        let last = self.sources.iter().zip(arrays).rev();
        let same = last.take_while(|(source, array)| {
            matches!(source, CellSource::Value) && has_single_value(array)
        });
        self.sources.len() - same.count()
    }
}

#[derive(Clone, Copy)]
pub(crate) struct ResultRow<'a> {
    pub cells: &'a [Cell<'a>],
    /// Index of the first cell that, like all cells after it, is the same in all rows of the batch.
    varying: usize,
}

impl<'a> ResultRow<'a> {
    /// Returns the cells that may differ between rows of the batch, and the last cells, which are the same in all rows.
    pub fn varying_and_shared(self) -> (&'a [Cell<'a>], &'a [Cell<'a>]) {
        self.cells.split_at(self.varying)
    }
}

/// For each column that is copied, returns the [`TextTable`] and the index of the column in it. All columns of the same
/// [`StoredText`] share a [`TextTable`]. Therefore each row is parsed only once.
fn copied_from(sources: &[CellSource]) -> Result<Vec<Option<(&TextTable, usize)>>, StepError> {
    let mut requested: Vec<(&Arc<StoredText>, Vec<usize>)> = Vec::new();
    for source in sources {
        let CellSource::Slice { table, column, .. } = source else {
            continue;
        };
        let existing = requested
            .iter_mut()
            .find(|(one, _)| Arc::ptr_eq(one, table));
        match existing {
            Some((_, columns)) => columns.push(*column),
            None => requested.push((table, vec![*column])),
        }
    }
    let opened = requested.into_iter().map(|(text, columns)| {
        let (table, indices) = text.table_with(&columns)?;
        Ok((text, table, indices.into_iter()))
    });
    let mut opened = opened.collect::<Result<Vec<_>, StepError>>()?;
    let copied = sources.iter().map(|source| {
        let CellSource::Slice { table, .. } = source else {
            return None;
        };
        let mut opened = opened.iter_mut();
        let (_, from, indices) = opened.find(|(text, _, _)| Arc::ptr_eq(text, table))?;
        Some((*from, indices.next()?))
    });
    Ok(copied.collect())
}

/// Rows or bytes after which [`TextTable::record_lookups`] is called, so that the table can release the memory of rows
/// that were read.
const NOTIFY_AFTER: ReadVolume = ReadVolume {
    rows: 1 << 10,
    bytes: 32 << 20,
};

/// The stored row that was parsed last. Neighbouring cells usually come from the same row.
#[derive(Default)]
struct RowCells<'a> {
    /// The table, and the index of the row in it.
    row: Option<(*const TextTable, u64)>,
    /// The cells of the row up to the last one that was requested.
    cells: Vec<&'a [u8]>,
    /// The cells after these, which are not parsed yet.
    rest: Option<Cells<'a>>,
    read_volume: ReadVolume,
}

impl<'a> RowCells<'a> {
    fn cell(
        &mut self,
        table: &'a TextTable,
        row: u64,
        column: usize,
    ) -> Result<&'a [u8], StepError> {
        let position = (std::ptr::from_ref(table), row);
        if self.row != Some(position) {
            self.cells.clear();
            let ReadVolume { rows, bytes } = self.read_volume;
            if rows >= NOTIFY_AFTER.rows || bytes >= NOTIFY_AFTER.bytes {
                table.record_lookups(rows, bytes);
                self.read_volume = ReadVolume::default();
            }
            let text = table.row(row).map_err(StepError::internal)?;
            self.read_volume.rows += 1;
            self.read_volume.bytes += text.len() as u64;
            self.rest = Some(Cells::new(text));
            self.row = Some(position);
        }
        let missing = (column + 1).saturating_sub(self.cells.len());
        let rest = self.rest.iter_mut().flatten();
        self.cells.extend(rest.take(missing));
        let cell = self.cells.get(column).copied();
        cell.ok_or_else(|| {
            StepError::internal(format!(
                "row {row} of a stored table has no column {column}"
            ))
        })
    }
}

/// Converts computed columns of a batch: all strings to one Arrow encoding, and all integers to 64 bits.
fn plain_arrays(batch: &RecordBatch, sources: &[CellSource]) -> Result<Vec<ArrayRef>, StepError> {
    let arrays = batch.columns().iter().zip(sources).map(|(array, source)| {
        let plain = match array.data_type() {
            _ if matches!(source, CellSource::Slice { .. }) => return Ok(array.clone()),
            DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(..) => DataType::Utf8,
            found if found.is_signed_integer() => DataType::Int64,
            found if found.is_unsigned_integer() => DataType::UInt64,
            _ => return Ok(array.clone()),
        };
        cast(array, &plain).map_err(StepError::pipeline)
    });
    arrays.collect()
}

/// An array whose type is determined once, not for each row.
pub(crate) enum TypedArray<'a> {
    Int64(&'a Int64Array),
    UInt64(&'a UInt64Array),
    Float32(&'a Float32Array),
    Float64(&'a Float64Array),
    Boolean(&'a BooleanArray),
    Text(&'a StringArray),
    Missing,
}

impl<'a> TypedArray<'a> {
    /// Determines the type of `array`. Integers must have 64 bits, and strings the type `Utf8`.
    pub(crate) fn new(array: &'a ArrayRef) -> Result<TypedArray<'a>, StepError> {
        Ok(match array.data_type() {
            DataType::Int64 => TypedArray::Int64(array.as_primitive()),
            DataType::UInt64 => TypedArray::UInt64(array.as_primitive()),
            DataType::Float32 => TypedArray::Float32(array.as_primitive()),
            DataType::Float64 => TypedArray::Float64(array.as_primitive()),
            DataType::Boolean => TypedArray::Boolean(array.as_boolean()),
            DataType::Utf8 => TypedArray::Text(array.as_string()),
            DataType::Null => TypedArray::Missing,
            other => {
                let message = format!("cells of the type {other} cannot be written");
                return Err(StepError::internal(message));
            }
        })
    }

    pub(crate) fn cell(&self, row: usize) -> Cell<'a> {
        let cell = match self {
            TypedArray::Int64(array) => value_at(*array, row).map(Cell::Integer),
            TypedArray::UInt64(array) => value_at(*array, row).map(Cell::Unsigned),
            TypedArray::Float32(array) => value_at(*array, row).map(Cell::Single),
            TypedArray::Float64(array) => value_at(*array, row).map(Cell::Float),
            TypedArray::Boolean(array) => value_at(*array, row).map(Cell::Bool),
            TypedArray::Text(array) => value_at(*array, row).map(Cell::Text),
            TypedArray::Missing => None,
        };
        match cell {
            // pandas treats NaN as a missing value, too.
            Some(Cell::Single(value)) if value.is_nan() => Cell::Missing,
            Some(Cell::Float(value)) if value.is_nan() => Cell::Missing,
            cell => cell.unwrap_or(Cell::Missing),
        }
    }

    /// Returns the index of the stored row from which the cell is copied.
    fn origin(&self, row: usize) -> Option<u64> {
        match self {
            TypedArray::UInt64(array) => value_at(*array, row),
            _ => None,
        }
    }
}

/// Returns the origins (indices of stored rows) in the first column of a batch. Fails if a row has no origin.
pub(crate) fn origins(batch: &RecordBatch) -> Result<&[u64], StepError> {
    let origins = batch.column(0).as_primitive::<UInt64Type>();
    if origins.null_count() > 0 {
        return Err(StepError::input(
            "a row without a match in a LEFT JOIN has no content to copy",
        ));
    }
    Ok(origins.values())
}

/// Returns whether all rows have the same value. Compares each row with the next. 0.0 and -0.0 differ, because they are
/// written differently.
fn has_single_value(array: &ArrayRef) -> bool {
    let rest = array.len().saturating_sub(1);
    array.slice(0, rest) == array.slice(array.len() - rest, rest)
}

fn value_at<A: ArrayAccessor>(array: A, row: usize) -> Option<A::Item> {
    array.is_valid(row).then(|| array.value(row))
}

/// Returns the column type of computed values. `None` for types that cannot be written as text.
pub(crate) fn column_type(data_type: &DataType) -> Option<ColumnType> {
    Some(match data_type {
        DataType::Int8 => ColumnType::Int8,
        DataType::Int16 => ColumnType::Int16,
        DataType::Int32 => ColumnType::Int32,
        DataType::Int64 | DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => {
            ColumnType::Int64
        }
        DataType::UInt64 => ColumnType::UInt64,
        DataType::Float32 => ColumnType::Float32,
        DataType::Float64 => ColumnType::Float64,
        DataType::Boolean => ColumnType::Bool,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => {
            ColumnType::Text
        }
        DataType::Dictionary(_, value) => return column_type(value),
        _ => return None,
    })
}
