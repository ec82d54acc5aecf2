//! Converts columns of string views to ordinary string arrays, in batches of limited size.
//!
//! A dictionary can store a long string once for millions of rows, while an ordinary array repeats it for each row.
//! Therefore strings are read as views, which share the dictionary. [`Texts`] converts only as many rows at once as fit in
//! memory.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use arrow::error::ArrowError;

use super::ParquetError;
use crate::limits::{ArchiveBudget, DecodingLimits, Limit};

/// The strings of a batch have at most this number of bytes, unless the batch has a single row.
pub(super) const MAX_TEXT_BYTES: u64 = 32 << 20;

/// The strings of a file may take about this multiple of the bytes to which its pages may decompress.
const DICTIONARY_RATIO: u64 = 10;

/// Returns the schema with which the crate reads strings as views.
pub(super) fn with_views(schema: &Schema) -> SchemaRef {
    let fields: Fields = schema.fields().iter().map(field_with_views).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn field_with_views(field: &FieldRef) -> FieldRef {
    let nested = |fields: &Fields| fields.iter().map(field_with_views).collect();
    let data_type = match field.data_type() {
        DataType::Utf8 => DataType::Utf8View,
        DataType::Binary => DataType::BinaryView,
        DataType::List(item) => DataType::List(field_with_views(item)),
        DataType::Struct(fields) => DataType::Struct(nested(fields)),
        DataType::Map(entries, is_sorted) => DataType::Map(field_with_views(entries), *is_sorted),
        _ => return Arc::clone(field),
    };
    Arc::new(Field::clone(field).with_data_type(data_type))
}

/// Converts batches with string views to batches with ordinary strings.
pub(super) struct Texts {
    schema: SchemaRef,
    limits: DecodingLimits,
    /// The number of bytes that all strings of the file may take.
    budget: ArchiveBudget,
    /// The rows that are not converted yet.
    rest: Option<RecordBatch>,
}

impl Texts {
    /// Creates a converter for a file of `length` bytes. `schema` contains the types of the columns in the file.
    pub(super) fn new(schema: SchemaRef, limits: &DecodingLimits, length: u64) -> Self {
        Texts {
            schema,
            limits: *limits,
            budget: limits.budget(length.saturating_mul(DICTIONARY_RATIO)),
            rest: None,
        }
    }

    /// Sets the batch to convert. [`next`](Self::next) must have returned all rows of the previous batch.
    pub(super) fn add(&mut self, batch: RecordBatch) {
        self.rest = Some(batch);
    }

    /// Converts the next rows of the batch. Returns `None` after the last row.
    pub(super) fn next(&mut self) -> Option<Result<RecordBatch, ParquetError>> {
        let batch = self.rest.take().filter(|batch| batch.num_rows() > 0)?;
        let mut rows = batch.num_rows();
        let mut bytes = batch_bytes(&batch);
        while rows > 1 && bytes > MAX_TEXT_BYTES {
            rows /= 2;
            bytes = batch_bytes(&batch.slice(0, rows));
        }
        if rows < batch.num_rows() {
            self.rest = Some(batch.slice(rows, batch.num_rows() - rows));
        }
        Some(self.expand(&batch.slice(0, rows), bytes))
    }

    /// Converts a batch whose strings take `bytes` bytes.
    fn expand(&self, batch: &RecordBatch, bytes: u64) -> Result<RecordBatch, ParquetError> {
        if bytes > MAX_TEXT_BYTES {
            self.limits
                .check(Limit::Record, bytes)
                .map_err(std::io::Error::from)?;
        }
        self.budget.add_bytes(bytes).map_err(std::io::Error::from)?;
        let columns = batch.columns().iter().zip(self.schema.fields());
        let columns = columns.map(|(column, field)| with_texts(column, field.data_type()));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(Into::into)
    }
}

/// Converts the views in an array to strings. If the array is a slice of an array of lists, the result contains only
/// the elements of the rows in the slice.
fn with_texts(array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    Ok(match data_type {
        same if same == array.data_type() => Arc::clone(array),
        DataType::List(item) => {
            let lists = array.as_list::<i32>();
            let items = items(lists.values(), lists.value_offsets());
            let items = with_texts(&items, item.data_type())?;
            let offsets = OffsetBuffer::from_lengths(lists.offsets().lengths());
            let (item, nulls) = (Arc::clone(item), lists.nulls().cloned());
            Arc::new(ListArray::try_new(item, offsets, items, nulls)?)
        }
        DataType::Map(entries, is_sorted) => {
            let maps = array.as_map();
            let all: ArrayRef = Arc::new(maps.entries().clone());
            let pairs = items(&all, maps.value_offsets());
            let pairs = with_texts(&pairs, entries.data_type())?.as_struct().clone();
            let offsets = OffsetBuffer::from_lengths(maps.offsets().lengths());
            let (entries, nulls) = (Arc::clone(entries), maps.nulls().cloned());
            Arc::new(MapArray::try_new(
                entries, offsets, pairs, nulls, *is_sorted,
            )?)
        }
        DataType::Struct(fields) => {
            let values = array.as_struct();
            let columns = values.columns().iter().zip(fields);
            let columns = columns.map(|(column, field)| with_texts(column, field.data_type()));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let nulls = values.nulls().cloned();
            Arc::new(StructArray::try_new(fields.clone(), columns, nulls)?)
        }
        other => cast(array, other)?,
    })
}

/// Returns the number of bytes that the strings of a batch take after conversion.
fn batch_bytes(batch: &RecordBatch) -> u64 {
    batch.columns().iter().map(text_bytes).sum()
}

/// Returns the number of bytes that the strings of an array take after conversion.
fn text_bytes(array: &ArrayRef) -> u64 {
    // The lower half of a view is the length of the string.
    let of_views = |views: &[u128]| views.iter().map(|view| u64::from(*view as u32)).sum();
    match array.data_type() {
        DataType::Utf8View => of_views(array.as_string_view().views()),
        DataType::BinaryView => of_views(array.as_binary_view().views()),
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            text_bytes(&items(lists.values(), lists.value_offsets()))
        }
        DataType::Map(_, _) => {
            let maps = array.as_map();
            let all: ArrayRef = Arc::new(maps.entries().clone());
            text_bytes(&items(&all, maps.value_offsets()))
        }
        DataType::Struct(_) => {
            let columns = array.as_struct().columns();
            columns.iter().map(text_bytes).sum()
        }
        _ => 0,
    }
}

/// Returns the elements of `all` from the first to the last offset. In a slice of an array, `all` also contains the elements
/// of other rows.
fn items(all: &ArrayRef, offsets: &[i32]) -> ArrayRef {
    let offset = |offset: Option<&i32>| usize::try_from(*offset.unwrap_or(&0)).unwrap_or(0);
    let (begin, end) = (offset(offsets.first()), offset(offsets.last()));
    all.slice(begin, end.saturating_sub(begin))
}
