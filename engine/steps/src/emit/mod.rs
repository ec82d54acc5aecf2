//! Writes the rows of a query as a file.
//!
//! If a query selects a column of a table unchanged, it returns the *origin* of each row: the index of the stored row. The
//! writer copies the cells from the stored table. Computed values are formatted as pandas formats their type.

mod cells;
mod csv;
mod json;

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema};
use cells::{Cell, ResultLayout, origins};
use prep_core::{FileValue, StepError, Value};
use prep_formats::npy::NpyError;
use prep_formats::parquet::{FastparquetWriter, ParquetError, ParquetWriter, WriterVersions};
use prep_sql::ColumnSource;

use crate::relation::{CopiedCells, QueryRun, RowForm};

pub(crate) use cells::column_type;
pub(crate) use csv::write_csv;
pub(crate) use csv::{store_table, store_values};
pub(crate) use json::{
    JsonFormat, JsonLibrary, JsonObjectWriter, for_each_record, write_json, write_json_lines,
};

/// Approximate size in bytes of a write to the cache.
const WRITE_BYTES: usize = 1 << 18;

/// Writes the first column of a query as lines. Each line ends with LF, unless the optional second column is false. A
/// missing string is an empty line.
pub(crate) fn write_lines(run: QueryRun<'_>) -> Result<Value, StepError> {
    let (mut rows, mut layout) = ResultLayout::start(run)?;
    let mut out = run.context.store.writer()?;
    let mut buffer = Vec::with_capacity(WRITE_BYTES);
    let mut count = 0;
    while let Some(batch) = rows.next()? {
        layout.for_each_row(&batch, |row| {
            count += 1;
            let (line, ended) = match row.cells {
                [line] => (line, true),
                [line, ended] => (line, !is_false(ended)),
                _ => {
                    return Err(StepError::pipeline(
                        "a query for lines must return one or two columns",
                    ));
                }
            };
            push_line(&mut buffer, line, count)?;
            if ended {
                buffer.push(b'\n');
            }
            if buffer.len() >= WRITE_BYTES {
                out.write_all(&buffer).map_err(StepError::machine)?;
                buffer.clear();
            }
            Ok(())
        })?;
    }
    out.write_all(&buffer).map_err(StepError::machine)?;
    let stored = out.commit()?;
    Ok(FileValue::table(stored, count, Vec::new()).into_value())
}

fn is_false(cell: &Cell<'_>) -> bool {
    match cell {
        Cell::Bool(value) => !value,
        Cell::Slice(text, _) => *text == b"False",
        _ => false,
    }
}

/// Appends the text of a line without its line ending. `number` is the number of the line in errors, from 1.
fn push_line(buffer: &mut Vec<u8>, cell: &Cell<'_>, number: u64) -> Result<(), StepError> {
    if let Some(text) = cell.text() {
        if text.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            return Err(StepError::input(format!(
                "line {number} contains a line break"
            )));
        }
        buffer.extend_from_slice(&text);
    } else if *cell != Cell::Missing && !matches!(cell, Cell::Slice(..)) {
        return Err(StepError::pipeline(
            "lines must be strings; CAST the column to VARCHAR",
        ));
    }
    Ok(())
}

/// Writes a new NumPy array from the array entries that a query selects, in the order of the query.
pub(crate) fn write_npy(run: QueryRun<'_>) -> Result<Value, StepError> {
    let tables = run.open_tables()?;
    let mut rows = run.start(&tables, RowForm::Cells)?;
    let array = match rows.columns() {
        [column] => match &column.source {
            ColumnSource::Cells { table, .. } => tables.get(table).map(|table| &table.cells),
            ColumnSource::Values(_) => None,
        },
        _ => None,
    };
    let Some(CopiedCells::Array(array)) = array else {
        // The check of the query already reports this, with its location.
        return Err(StepError::internal(
            "a NumPy output needs the entries of an array",
        ));
    };
    let array = array.clone();
    let mut entries: Vec<u64> = Vec::new();
    while let Some(batch) = rows.next()? {
        entries.extend(origins(&batch)?);
    }
    let count = entries.len() as u64;
    let mut out = run.context.store.writer()?;
    array
        .gather(entries.into_iter(), &mut out)
        .map_err(|error| match error {
            NpyError::Io(error) => StepError::machine(error),
            error => StepError::input(error),
        })?;
    let stored = out.commit()?;
    Ok(FileValue::table(stored, count, Vec::new()).into_value())
}

/// A writer of Parquet files: our own, or one that reproduces fastparquet.
enum AnyWriter<W: Write + Send> {
    Own(Box<ParquetWriter<W>>),
    Fastparquet(FastparquetWriter<W>),
}

impl<W: Write + Send> AnyWriter<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        match self {
            AnyWriter::Own(writer) => writer.write(batch),
            AnyWriter::Fastparquet(writer) => writer.write(batch),
        }
    }

    fn finish(self) -> Result<W, ParquetError> {
        match self {
            AnyWriter::Own(writer) => writer.finish(),
            AnyWriter::Fastparquet(writer) => writer.finish(),
        }
    }
}

/// Writes the rows of a query as a Parquet file. If `versions` is given, writes the same bytes as these library
/// versions.
pub(crate) fn write_parquet(
    run: QueryRun<'_>,
    versions: Option<&WriterVersions>,
) -> Result<Value, StepError> {
    let tables = run.open_tables()?;
    let mut rows = run.start(&tables, RowForm::Values)?;
    let mut fields = Vec::new();
    for column in rows.columns() {
        let ColumnSource::Values(data_type) = &column.source else {
            return Err(StepError::internal("a query for values returned origins"));
        };
        fields.push(Field::new(&column.name, data_type.clone(), true));
    }
    let columns: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
    let schema = std::sync::Arc::new(Schema::new(fields));
    let out = run.context.store.writer()?;
    let mut writer = match versions {
        None => ParquetWriter::new(out, &schema).map(|writer| AnyWriter::Own(Box::new(writer))),
        Some(versions) => {
            FastparquetWriter::new(out, &schema, versions.clone(), &run.context.temp_dir())
                .map(AnyWriter::Fastparquet)
        }
    }
    .map_err(writer_error)?;
    let mut count = 0;
    while let Some(batch) = rows.next()? {
        count += batch.num_rows() as u64;
        let batch = RecordBatch::try_new(schema.clone(), batch.columns().to_vec())
            .map_err(StepError::internal)?;
        writer.write(&batch).map_err(writer_error)?;
    }
    let stored = writer.finish().map_err(writer_error)?.commit()?;
    Ok(FileValue::table(stored, count, columns).into_value())
}

/// Converts an error of a writer. An unsupported type, or a value that is too large, is an error of the pipeline. Any
/// other error is an error of the system.
fn writer_error(error: ParquetError) -> StepError {
    match error {
        ParquetError::UnsupportedType { .. } | ParquetError::PageTooLarge(_) => {
            StepError::pipeline(error)
        }
        other => StepError::machine(other),
    }
}

#[cfg(test)]
mod lines_tests {
    use prep_formats::pandas::ColumnType;

    use super::*;

    fn line(cell: Cell<'_>) -> Result<String, String> {
        let mut buffer = Vec::new();
        push_line(&mut buffer, &cell, 7).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(buffer).expect("UTF-8"))
    }

    #[test]
    fn each_line_is_the_text_of_a_cell() {
        let copied = |cell| line(Cell::Slice(cell, ColumnType::Text));
        assert_eq!(line(Cell::Text("3, 9,")).as_deref(), Ok("3, 9,"));
        assert_eq!(copied(b"\"a \"\"b\"\"\"").as_deref(), Ok("a \"b\""));
        assert_eq!(copied(b"").as_deref(), Ok(""));
        assert_eq!(copied(b"\"\"").as_deref(), Ok(""));
        assert_eq!(line(Cell::Missing).as_deref(), Ok(""));
    }

    #[test]
    fn only_false_omits_a_line_break() {
        assert!(is_false(&Cell::Bool(false)));
        assert!(is_false(&Cell::Slice(b"False", ColumnType::Bool)));
        for cell in [
            Cell::Bool(true),
            Cell::Slice(b"True", ColumnType::Bool),
            Cell::Missing,
        ] {
            assert!(!is_false(&cell));
        }
    }

    #[test]
    fn line_breaks_and_numbers_are_rejected() {
        for text in ["a\nb", "a\r"] {
            let error = line(Cell::Text(text)).unwrap_err();
            assert!(error.contains("line 7 contains a line break"), "{error}");
        }
        assert!(line(Cell::Integer(3)).is_err());
    }
}
