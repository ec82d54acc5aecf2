//! Writes files with the same content as pandas' `to_parquet` with the engine fastparquet.
//!
//! - All columns are optional, and NaN is stored as null. Chunks have statistics.
//! - Values are plain (without dictionaries) and compressed with Snappy.
//! - The bytes differ from those of fastparquet. To write the same bytes, use the module `fastparquet`.
//! - [`metadata_entry`] formats the `pandas` entry of the footer, from which pandas reads the types and the index.

use std::io::Write;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Float32Array, Float64Array, PrimitiveArray, RecordBatch};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{ArrowPrimitiveType, Field, Float32Type, Float64Type, Schema, SchemaRef};
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};

use super::fastparquet::numpy_type;
use super::{ParquetError, describe};
use crate::json::{JsonValue, WriteOptions};

/// Default number of rows in a row group. One row group is kept in memory.
pub const DEFAULT_ROW_GROUP_ROWS: usize = 1 << 20;

/// Writes batches with the same schema.
pub struct ParquetWriter<W: Write + Send> {
    inner: ArrowWriter<W>,
    schema: SchemaRef,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Starts a file with these columns and row groups of [`DEFAULT_ROW_GROUP_ROWS`].
    pub fn new(out: W, schema: &Schema) -> Result<Self, ParquetError> {
        Self::with_row_group_rows(out, schema, DEFAULT_ROW_GROUP_ROWS)
    }

    /// Starts a file with row groups of at most `rows` rows.
    pub fn with_row_group_rows(out: W, schema: &Schema, rows: usize) -> Result<Self, ParquetError> {
        let fields: Vec<&Field> = schema.fields().iter().map(AsRef::as_ref).collect();
        let entry = KeyValue::new("pandas".to_owned(), pandas_metadata(&fields)?);
        let optional: Vec<Field> = fields
            .iter()
            .map(|field| Field::new(field.name(), field.data_type().clone(), true))
            .collect();
        let schema = Arc::new(Schema::new(optional));
        let properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_compression(Compression::SNAPPY)
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_max_row_group_row_count(Some(rows.max(1)))
            .set_created_by(concat!("prep version ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(vec![entry]))
            .build();
        let options = ArrowWriterOptions::new()
            .with_properties(properties)
            .with_skip_arrow_metadata(true);
        let inner = ArrowWriter::try_new_with_options(out, Arc::clone(&schema), options)?;
        Ok(Self { inner, schema })
    }

    /// Appends rows.
    ///
    /// # Errors
    /// [`ParquetError::OtherSchema`] if the names or types of the columns differ from those of the file.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        if describe(batch.schema_ref()) != describe(&self.schema) {
            return Err(ParquetError::OtherSchema {
                found: describe(batch.schema_ref()),
                expected: describe(&self.schema),
            });
        }
        let columns = batch.columns().iter().map(nan_as_null).collect();
        let options =
            arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        Ok(self.inner.write(&batch)?)
    }

    /// Writes the pending rows and the footer, and returns the output.
    pub fn finish(self) -> Result<W, ParquetError> {
        Ok(self.inner.into_inner()?)
    }
}

/// Replaces NaN with null in a column of floats. Returns other columns unchanged.
fn nan_as_null(column: &ArrayRef) -> ArrayRef {
    if let Some(floats) = column.as_any().downcast_ref::<Float64Array>() {
        masked::<Float64Type>(floats, f64::is_nan)
    } else if let Some(floats) = column.as_any().downcast_ref::<Float32Array>() {
        masked::<Float32Type>(floats, f32::is_nan)
    } else {
        Arc::clone(column)
    }
}

/// Replaces the values for which `is_missing` returns true with null.
fn masked<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    is_missing: impl Fn(T::Native) -> bool,
) -> ArrayRef {
    let values = array.values();
    let validity = BooleanBuffer::from_iter(values.iter().map(|value| !is_missing(*value)));
    let nulls = NullBuffer::union(array.nulls(), Some(&NullBuffer::new(validity)));
    Arc::new(PrimitiveArray::<T>::new(values.clone(), nulls))
}

/// The library that writes a file, as the `pandas` entry of the footer describes it.
pub(super) struct Creator<'a> {
    pub library: &'a str,
    pub version: &'a str,
    pub pandas_version: &'a str,
    /// NumPy's and pandas' names for the type of the column labels.
    pub labels: (&'a str, &'a str),
}

/// Returns the `pandas` entry of the footer, for a frame with these columns and without an index. Keys are sorted, as in
/// fastparquet.
pub(super) fn metadata_entry(columns: Vec<JsonValue>, creator: &Creator<'_>) -> Vec<u8> {
    let (numpy, pandas) = creator.labels;
    let labels = metadata_column(None, numpy, pandas);
    let entry = JsonValue::from([
        ("column_indexes", JsonValue::List(vec![labels])),
        ("columns", JsonValue::List(columns)),
        (
            "creator",
            JsonValue::from([
                ("library", creator.library.into()),
                ("version", creator.version.into()),
            ]),
        ),
        ("index_columns", JsonValue::List(Vec::new())),
        ("pandas_version", creator.pandas_version.into()),
        ("partition_columns", JsonValue::List(Vec::new())),
    ]);
    let options = WriteOptions {
        sort_keys: true,
        ..WriteOptions::default()
    };
    // ASCII output cannot fail.
    entry.to_json(&options).unwrap_or_default()
}

/// Describes a column by NumPy's name for the storage type and pandas' name for the logical type.
pub(super) fn metadata_column(name: Option<&str>, numpy: &str, pandas: &str) -> JsonValue {
    JsonValue::from([
        ("field_name", name.into()),
        ("metadata", JsonValue::Null),
        ("name", name.into()),
        ("numpy_type", numpy.into()),
        ("pandas_type", pandas.into()),
    ])
}

/// Returns the `pandas` entry of the footer, for a file with these columns.
fn pandas_metadata(fields: &[&Field]) -> Result<String, ParquetError> {
    let describe = |field: &&Field| {
        let numpy = numpy_type(field)?;
        let pandas = if numpy == "object" { "unicode" } else { numpy };
        Ok(metadata_column(Some(field.name()), numpy, pandas))
    };
    let columns = fields.iter().map(describe);
    let creator = Creator {
        library: "prep",
        version: env!("CARGO_PKG_VERSION"),
        pandas_version: "2.2.3",
        labels: ("object", "unicode"),
    };
    let bytes = metadata_entry(columns.collect::<Result<_, ParquetError>>()?, &creator);
    Ok(String::from_utf8(bytes).unwrap_or_default())
}
