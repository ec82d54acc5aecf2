//! Reads Parquet files as tables of text.

use std::fs::File;
use std::path::Path;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Schema};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use prep_formats::limits::{DecodingLimits, Limit};
use prep_formats::pandas::{push_f32, push_f64};
use prep_formats::parquet::{ParquetBatches, ParquetTable};

use super::{Row, Rows, TableReader, check_cells};
use crate::{ContentsError, Result};

/// Maximum number of rows that are decoded at once.
const BATCH: usize = 1 << 14;

pub struct ParquetFile {
    table: ParquetTable<File>,
    columns: Vec<String>,
    /// Library and version, from the footer.
    pub writer: String,
    /// Version of pandas, if the footer contains it.
    pub pandas: Option<String>,
    limits: DecodingLimits,
}

impl ParquetFile {
    pub fn open(path: &Path, limits: &DecodingLimits) -> Result<ParquetFile> {
        let file = File::open(path).map_err(ContentsError::system_error(path))?;
        let length = file
            .metadata()
            .map_err(ContentsError::system_error(path))?
            .len();
        let table = ParquetTable::open(file, 0..length, limits).map_err(ContentsError::classify)?;
        check_cells(limits, length, table.rows(), table.schema().fields().len())?;
        let columns = table
            .schema()
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect();
        let pandas = table.key_value("pandas").and_then(|text| {
            let value: serde_json::Value = serde_json::from_str(text).ok()?;
            Some(value.get("pandas_version")?.as_str()?.to_owned())
        });
        Ok(ParquetFile {
            columns,
            writer: table.created_by().unwrap_or("an unnamed writer").to_owned(),
            pandas,
            table,
            limits: *limits,
        })
    }

    pub fn schema(&self) -> &Schema {
        self.table.schema()
    }

    pub fn row_count(&self) -> u64 {
        self.table.rows()
    }

    pub fn written_by(&self) -> String {
        let writer = self
            .writer
            .strip_suffix(" (build 0)")
            .unwrap_or(&self.writer);
        let writer = writer
            .replace("-python version", "")
            .replace(" version", "");
        match &self.pandas {
            Some(version) => format!("{writer} with pandas {version}"),
            None => writer,
        }
    }

    /// Returns the type of a column. Writers can choose between several types for strings and for binary values. This
    /// function returns one type for all of them.
    pub fn type_of(&self, column: &str) -> Option<DataType> {
        let field = self.table.schema().field_with_name(column).ok()?;
        Some(match field.data_type() {
            DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
            DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
            other => other.clone(),
        })
    }
}

impl TableReader for ParquetFile {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn rows(&self) -> Result<Box<dyn Rows + '_>> {
        Ok(Box::new(ParquetRows {
            batches: self
                .table
                .batches(None, None, BATCH)
                .map_err(ContentsError::classify)?,
            limits: self.limits,
            batch: None,
            at: 0,
        }))
    }
}

struct ParquetRows {
    batches: ParquetBatches,
    limits: DecodingLimits,
    batch: Option<RecordBatch>,
    at: usize,
}

impl Rows for ParquetRows {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        row.clear();
        loop {
            if let Some(batch) = &self.batch
                && self.at < batch.num_rows()
            {
                for column in batch.columns() {
                    print(column, self.at, &self.limits, row.open())?;
                    row.end_cell();
                }
                row.check(&self.limits)?;
                self.at += 1;
                return Ok(true);
            }
            match self.batches.next() {
                None => return Ok(false),
                Some(batch) => self.batch = Some(batch.map_err(ContentsError::classify)?),
            }
            self.at = 0;
        }
    }
}

/// Prints a value like pandas. An empty string is in quotes, because missing values are empty.
fn print(column: &ArrayRef, row: usize, limits: &DecodingLimits, out: &mut Vec<u8>) -> Result<()> {
    if column.is_null(row) {
        return Ok(());
    }
    match column.data_type() {
        DataType::Float64 => {
            let value = column.as_primitive::<Float64Type>().value(row);
            if !value.is_nan() {
                push_f64(out, value);
            }
        }
        DataType::Float32 => {
            let value = column.as_primitive::<Float32Type>().value(row);
            if !value.is_nan() {
                push_f32(out, value);
            }
        }
        DataType::Boolean => {
            out.extend_from_slice(if column.as_boolean().value(row) {
                b"True"
            } else {
                b"False"
            });
        }
        DataType::Utf8 => push_text(column.as_string::<i32>().value(row), out),
        DataType::LargeUtf8 => push_text(column.as_string::<i64>().value(row), out),
        DataType::Utf8View => push_text(column.as_string_view().value(row), out),
        DataType::List(_) => push_list(&column.as_list::<i32>().value(row), limits, out)?,
        DataType::LargeList(_) => push_list(&column.as_list::<i64>().value(row), limits, out)?,
        DataType::FixedSizeList(_, _) => {
            push_list(&column.as_fixed_size_list().value(row), limits, out)?;
        }
        DataType::Struct(fields) => {
            let values = column.as_struct();
            out.push(b'{');
            for (place, (field, inner)) in fields.iter().zip(values.columns()).enumerate() {
                if place > 0 {
                    out.extend_from_slice(b", ");
                }
                out.extend_from_slice(format!("{:?}: ", field.name()).as_bytes());
                push_inner(inner, row, limits, out)?;
            }
            out.push(b'}');
        }
        _ => {
            use std::io::Write;
            let formatter = ArrayFormatter::try_new(column, &FormatOptions::default())
                .map_err(ContentsError::classify)?;
            write!(out, "{}", formatter.value(row))?;
        }
    }
    Ok(())
}

/// Appends a string, in quotes only if it is empty or begins with a quote.
fn push_text(text: &str, out: &mut Vec<u8>) {
    if text.is_empty() || text.starts_with('"') {
        out.extend_from_slice(format!("{text:?}").as_bytes());
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

fn push_list(items: &ArrayRef, limits: &DecodingLimits, out: &mut Vec<u8>) -> Result<()> {
    out.push(b'[');
    for item in 0..items.len() {
        if item > 0 {
            out.extend_from_slice(b", ");
        }
        push_inner(items, item, limits, out)?;
        let checked = limits.check(Limit::Record, out.len() as u64);
        checked.map_err(ContentsError::Limit)?;
    }
    out.push(b']');
    Ok(())
}

/// Prints a nested value: strings are in quotes, and missing values are `null`.
fn push_inner(
    column: &ArrayRef,
    row: usize,
    limits: &DecodingLimits,
    out: &mut Vec<u8>,
) -> Result<()> {
    let text = match column.data_type() {
        _ if column.is_null(row) => {
            out.extend_from_slice(b"null");
            return Ok(());
        }
        DataType::Utf8 => column.as_string::<i32>().value(row),
        DataType::LargeUtf8 => column.as_string::<i64>().value(row),
        DataType::Utf8View => column.as_string_view().value(row),
        _ => return print(column, row, limits, out),
    };
    out.extend_from_slice(format!("{text:?}").as_bytes());
    Ok(())
}
