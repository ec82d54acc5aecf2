//! Parquet files: reads files of Python and of this crate. Written files have the structure of fastparquet's.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, DictionaryArray, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int16Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Float32Type, Float64Type, Int16Type, Int64Type, Schema};
use parquet::basic::{Compression, Encoding, Repetition};
use parquet::file::reader::{FileReader, SerializedFileReader};
use prep_formats::limits::{DecodingLimits, Limit, LimitExceeded};
use prep_formats::parquet::{ParquetError, ParquetTable, ParquetWriter};
use prep_formats::read_at::ReadAt;
use serde_json::{Value, json};

/// Names of the files that `tests/data/parquet/record.py` wrote.
const PYTHON: [&str; 6] = [
    "snappy",
    "zstd",
    "gzip",
    "lz4_raw",
    "uncompressed",
    "dictionary",
];

/// Returns the bytes of a file that fastparquet wrote.
fn python(name: &str) -> Vec<u8> {
    let root = env!("CARGO_MANIFEST_DIR");
    std::fs::read(format!("{root}/tests/data/parquet/{name}.parquet")).unwrap()
}

fn open(file: Vec<u8>) -> Result<ParquetTable<Vec<u8>>, ParquetError> {
    let length = file.len() as u64;
    ParquetTable::open(file, 0..length, &DecodingLimits::default())
}

/// Returns the value of a cell as JSON.
fn cell(column: &ArrayRef, row: usize) -> Value {
    if column.is_null(row) {
        return Value::Null;
    }
    match column.data_type() {
        DataType::Int64 => json!(column.as_primitive::<Int64Type>().value(row)),
        DataType::Int16 => json!(column.as_primitive::<Int16Type>().value(row)),
        DataType::Float64 => json!(column.as_primitive::<Float64Type>().value(row)),
        DataType::Float32 => json!(column.as_primitive::<Float32Type>().value(row)),
        DataType::Utf8 => json!(column.as_string::<i32>().value(row)),
        DataType::Boolean => json!(column.as_boolean().value(row)),
        other => panic!("{other}"),
    }
}

/// Returns each row as a JSON object.
fn rows(batches: impl IntoIterator<Item = RecordBatch>) -> Vec<Value> {
    let mut rows = Vec::new();
    for batch in batches {
        let schema = batch.schema();
        for row in 0..batch.num_rows() {
            let cells = schema.fields().iter().zip(batch.columns());
            rows.push(
                cells
                    .map(|(field, column)| (field.name().clone(), cell(column, row)))
                    .collect(),
            );
        }
    }
    rows
}

#[test]
fn files_of_python_are_read() {
    let expected: Vec<Value> =
        serde_json::from_str(include_str!("data/parquet/table.json")).unwrap();
    for name in PYTHON {
        let table = open(python(name)).unwrap();
        assert_eq!(table.rows(), 50);
        assert_eq!(
            table.row_groups().collect::<Vec<_>>(),
            [20, 20, 10],
            "{name}"
        );
        let batches = table.batches(None, None, 7).unwrap().map(Result::unwrap);
        assert_eq!(rows(batches), expected, "{name}");
        let second = table
            .batches(None, Some(1), 100)
            .unwrap()
            .map(Result::unwrap);
        assert_eq!(rows(second), expected[20..40], "{name}");
    }
}

#[test]
fn columns_are_in_the_requested_order() {
    let table = open(python("snappy")).unwrap();
    let columns = ["text", "i16", "f64", "text"];
    let batch = table
        .batches(Some(&columns), None, 100)
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let schema = batch.schema();
    assert_eq!(
        schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect::<Vec<_>>(),
        columns
    );
    assert_eq!(batch.column(1).as_primitive::<Int16Type>().value(5), 5);
    let unknown = table
        .batches(Some(&["i16", "nope"]), None, 100)
        .err()
        .unwrap();
    assert!(
        unknown
            .to_string()
            .contains("no column `nope`; the columns are i64, i16"),
        "{unknown}"
    );
}

fn sample() -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from(vec![3, 1, 2]))),
        (
            "angle",
            Arc::new(Float64Array::from(vec![Some(0.5), Some(f64::NAN), None])),
        ),
        (
            "small",
            Arc::new(Float32Array::from(vec![f32::NAN, -0.0, 1.5])),
        ),
        ("half", Arc::new(Int16Array::from(vec![1, 2, 3]))),
        (
            "name",
            Arc::new(StringArray::from(vec![Some("ä"), None, Some("c")])),
        ),
        (
            "flag",
            Arc::new(BooleanArray::from(vec![true, false, true])),
        ),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn written_files_have_the_structure_of_pandas() {
    let batch = sample();
    let mut writer = ParquetWriter::with_row_group_rows(Vec::new(), &batch.schema(), 2).unwrap();
    writer.write(&batch).unwrap();
    let bytes = writer.finish().unwrap();
    let found = rows(
        open(bytes.clone())
            .unwrap()
            .batches(None, None, 9)
            .unwrap()
            .map(Result::unwrap),
    );
    let expected = [
        json!({"id": 3, "angle": 0.5, "small": null, "half": 1, "name": "ä", "flag": true}),
        json!({"id": 1, "angle": null, "small": -0.0, "half": 2, "name": null, "flag": false}),
        json!({"id": 2, "angle": null, "small": 1.5, "half": 3, "name": "c", "flag": true}),
    ];
    assert_eq!(found, expected);

    let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let metadata = file.metadata();
    assert_eq!(metadata.num_row_groups(), 2);
    for column in metadata.file_metadata().schema().get_fields() {
        assert_eq!(column.get_basic_info().repetition(), Repetition::OPTIONAL);
    }
    for chunk in metadata
        .row_groups()
        .iter()
        .flat_map(|group| group.columns())
    {
        assert_eq!(chunk.compression(), Compression::SNAPPY);
        assert!(
            chunk
                .encodings()
                .all(|encoding| matches!(encoding, Encoding::PLAIN | Encoding::RLE))
        );
        assert!(chunk.statistics().unwrap().null_count_opt().is_some());
    }
    let entries = metadata.file_metadata().key_value_metadata().unwrap();
    assert_eq!(entries.len(), 1);
    let entry: Value = serde_json::from_str(entries[0].value.as_ref().unwrap()).unwrap();
    assert_eq!(entries[0].key, "pandas");
    let types = |which: &str| -> Vec<&str> {
        entry["columns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|column| column[which].as_str().unwrap())
            .collect()
    };
    assert_eq!(
        types("numpy_type"),
        ["int64", "float64", "float32", "int16", "object", "bool"]
    );
    assert_eq!(
        types("pandas_type"),
        ["int64", "float64", "float32", "int16", "unicode", "bool"]
    );
}

/// Zstandard compresses zeros by a factor of ten thousand. The decoder allocates the declared size, so this size must be
/// checked first.
#[test]
fn page_that_unpacks_over_the_limit_is_an_error() {
    let zeros: ArrayRef = Arc::new(Int64Array::from(vec![0; 1 << 17]));
    let lists: ArrayRef = {
        let mut lists = arrow::array::ListBuilder::new(arrow::array::Int64Builder::new());
        (0..1 << 17).for_each(|_| lists.append_value([Some(0)]));
        Arc::new(lists.finish())
    };
    for column in [zeros, lists] {
        let batch = RecordBatch::try_from_iter([("a", Arc::clone(&column)), ("b", column)]);
        let batch = batch.unwrap();
        let properties = parquet::file::properties::WriterProperties::builder()
            .set_compression(Compression::ZSTD(Default::default()))
            .set_dictionary_enabled(false)
            .set_data_page_size_limit(1 << 18)
            .build();
        let mut file = Vec::new();
        let mut writer =
            parquet::arrow::ArrowWriter::try_new(&mut file, batch.schema(), Some(properties))
                .unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let length = file.len() as u64;
        let read = |limits: DecodingLimits| {
            let table = ParquetTable::open(file.clone(), 0..length, &limits)?;
            let batches = table.batches(None, None, 1000)?;
            batches
                .map(|batch| Ok(batch?.num_rows()))
                .sum::<Result<usize, ParquetError>>()
        };
        assert_eq!(read(DecodingLimits::default()).unwrap(), 1 << 17);
        let exceeded = |limits: DecodingLimits| {
            let error = read(limits).unwrap_err();
            *LimitExceeded::find_in(&error).unwrap_or_else(|| panic!("{error:?}"))
        };
        let record = 1 << 16;
        let page_limit = exceeded(DecodingLimits {
            record,
            ratio: 2,
            ..DecodingLimits::default()
        });
        assert_eq!(
            (page_limit.limit, page_limit.allowed),
            (Limit::Record, record)
        );
        assert!(page_limit.found >= 1 << 17, "{page_limit:?}");
        let file_limit = exceeded(DecodingLimits {
            unpacked: 1 << 20,
            ratio: 1,
            ..DecodingLimits::default()
        });
        assert_eq!(file_limit.limit, Limit::Unpacked);
    }
}

#[test]
fn invalid_parquet_files_are_errors() {
    let html = open(b"<html></html>".to_vec()).unwrap_err();
    assert!(html.to_string().starts_with("got HTML, 13 B"), "{html}");
    let whole = python("snappy");
    for length in [0, 3, 11, 12, 500, whole.len() - 1] {
        assert!(
            matches!(
                open(whole[..length].to_vec()),
                Err(ParquetError::NotParquet { .. })
            ),
            "{length}"
        );
    }
    let mut footer = whole.clone();
    let end = footer.len();
    footer[end - 8..end - 4].fill(0x7f);
    assert!(matches!(open(footer), Err(ParquetError::Damaged)));
    let dates = Schema::new(vec![Field::new("d", DataType::Date32, true)]);
    assert!(matches!(
        ParquetWriter::new(Vec::new(), &dates),
        Err(ParquetError::UnsupportedType { .. })
    ));
    let other = Schema::new(vec![Field::new("id", DataType::Int64, true)]);
    let mut writer = ParquetWriter::new(Vec::new(), &other).unwrap();
    assert!(matches!(
        writer.write(&sample()),
        Err(ParquetError::OtherSchema { .. })
    ));
}

#[test]
fn stored_archive_members_are_read_in_place() {
    let inner = python("zstd");
    let mut outer = b"before".to_vec();
    outer.extend(&inner);
    outer.extend(b"after");
    let mut file = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut file, &outer).unwrap();
    let range = 6..6 + inner.len() as u64;
    let table: ParquetTable<File> =
        ParquetTable::open(file, range, &DecodingLimits::default()).unwrap();
    assert_eq!(
        rows(table.batches(None, None, 100).unwrap().map(Result::unwrap)).len(),
        50
    );
}

/// A file whose reads fail with an I/O error after `reads_left` successful reads.
struct FailingDisk {
    file: Vec<u8>,
    reads_left: AtomicI64,
}

impl ReadAt for FailingDisk {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self.reads_left.fetch_sub(1, Ordering::Relaxed) {
            ..=0 => Err(io::Error::from_raw_os_error(5)),
            _ => self.file.read_at(buffer, offset),
        }
    }
}

#[test]
fn failing_disk_is_distinguished_from_a_damaged_file() {
    for name in PYTHON {
        let mut failed = 0;
        for reads in 0.. {
            let file = python(name);
            let length = file.len() as u64;
            let disk = FailingDisk {
                file,
                reads_left: AtomicI64::new(reads),
            };
            let read =
                ParquetTable::open(disk, 0..length, &DecodingLimits::default()).and_then(|table| {
                    table
                        .batches(None, None, 10)?
                        .collect::<Result<Vec<_>, _>>()
                });
            match read {
                Ok(_) => break,
                Err(ParquetError::Io(error)) => assert_eq!(error.raw_os_error(), Some(5), "{name}"),
                Err(other) => panic!("{name}, {reads} reads: {other:?}"),
            }
            failed += 1;
        }
        assert!(failed > 4, "{name}: {failed} reads");
    }
}

/// Returns a file with this column, written with dictionaries.
fn written(column: ArrayRef) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
    // In version 1, only texts have dictionaries.
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_writer_version(parquet::file::properties::WriterVersion::PARQUET_2_0)
        .build();
    let mut file = Vec::new();
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    file
}

/// Returns a column of `rows` rows with the same text of 100 kB. A dictionary stores the text once.
fn repeated_text(rows: usize) -> ArrayRef {
    let texts = Arc::new(StringArray::from(vec!["x".repeat(100_000)]));
    let keys = Int32Array::from(vec![0; rows]);
    Arc::new(DictionaryArray::new(keys, texts))
}

/// Regression test: each row of a batch received its own copy of a long text that the dictionary stores only once.
#[test]
fn batches_of_repeated_long_texts_are_small() {
    let rows = 5_000;
    let texts = repeated_text(rows);
    let item = Arc::new(Field::new("item", texts.data_type().clone(), true));
    let offsets = OffsetBuffer::from_repeated_length(1, rows);
    let lists = ListArray::new(item, offsets, Arc::clone(&texts), None);
    let list_of_texts = DataType::List(Arc::new(Field::new("item", DataType::Utf8, true)));
    for (column, data_type) in [
        (texts, DataType::Utf8),
        (Arc::new(lists) as ArrayRef, list_of_texts),
    ] {
        let file = written(column);
        assert!(file.len() < 300_000);
        let table = open(file).unwrap();
        assert_eq!(table.schema().field(0).data_type(), &data_type);
        let mut count = 0;
        for batch in table.batches(None, None, 1 << 14).unwrap() {
            let batch = batch.unwrap();
            assert!(batch.get_array_memory_size() < 70 << 20, "{data_type}");
            assert_eq!(batch.schema().field(0).data_type(), &data_type);
            count += batch.num_rows();
        }
        assert_eq!(count, rows);
    }
}

/// Regression test: the crate copies a value of fixed length for each row, even if a dictionary stores it only once.
#[test]
fn batches_of_repeated_fixed_values_are_small() {
    let value = [b'x'; 100_000];
    let values = std::iter::repeat_n(value.as_slice(), 2_000);
    let column = FixedSizeBinaryArray::try_from_iter(values).unwrap();
    let file = written(Arc::new(column));
    assert!(file.len() < 300_000, "{}", file.len());
    let mut count = 0;
    for batch in open(file).unwrap().batches(None, None, 1 << 14).unwrap() {
        let batch = batch.unwrap();
        assert!(batch.get_array_memory_size() < 70 << 20);
        count += batch.num_rows();
    }
    assert_eq!(count, 2_000);
}

/// The file takes 100 kB, but its decoded texts would take two gigabytes.
#[test]
fn repeated_texts_exceed_the_limit() {
    let table = open(written(repeated_text(20_000))).unwrap();
    let batches = table.batches(None, None, 1 << 14).unwrap();
    let error = batches.filter_map(Result::err).next().expect("an error");
    let exceeded = LimitExceeded::find_in(&error).unwrap();
    assert_eq!(exceeded.limit, Limit::Unpacked);
}

/// Regression test: a page of a few bytes can contain one row with a list of billions of equal values.
#[test]
fn long_lists_exceed_the_limit() {
    let count = 20_000_000;
    let field = Arc::new(Field::new("item", DataType::Int16, true));
    let items = Arc::new(Int16Array::from(vec![1; count]));
    let lists = ListArray::new(field, OffsetBuffer::from_lengths([count]), items, None);
    let file = written(Arc::new(lists));
    assert!(file.len() < 100_000, "{}", file.len());
    let table = open(file).unwrap();
    let batches = table.batches(None, None, 1 << 14).unwrap();
    let error = batches.filter_map(Result::err).next().expect("an error");
    assert_eq!(LimitExceeded::find_in(&error).unwrap().limit, Limit::Cells);
}
