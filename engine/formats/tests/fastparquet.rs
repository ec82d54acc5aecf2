//! Reads files of several versions of fastparquet, writes them again, and compares them byte by byte.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema};
use prep_formats::limits::DecodingLimits;
use prep_formats::parquet::{
    FastparquetWriter, ParquetFooter, ParquetTable, WriterVersions, with_versions,
};

/// Returns the path, the versions and the name of each table that `tests/data/fastparquet/record.py` wrote.
fn recorded() -> Vec<(PathBuf, WriterVersions, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fastparquet");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let Some(stem) = name.strip_suffix(".parquet") else {
            continue;
        };
        let (versions, name) = stem.rsplit_once('.').unwrap();
        let (fastparquet, pandas) = versions.split_once('+').unwrap();
        let versions = WriterVersions::new(fastparquet, pandas).unwrap();
        found.push((path.clone(), versions, name.to_owned()));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// Writes the table `empty`, which has no rows. It cannot be read from the recorded file: the list of row groups in
/// this file is empty and has no element type, which the parquet crate rejects.
fn no_rows(versions: &WriterVersions) -> Vec<u8> {
    let field = |name, kind| Field::new(name, kind, true);
    let schema = Schema::new(vec![
        field("a", DataType::Int64),
        field("f", DataType::Float64),
    ]);
    let scratch = tempfile::tempdir().unwrap();
    let writer =
        FastparquetWriter::new(Vec::new(), &schema, versions.clone(), scratch.path()).unwrap();
    writer.finish().unwrap()
}

/// Reads a recorded table and writes it with [`FastparquetWriter`].
fn rewritten(file: &[u8], versions: &WriterVersions, name: &str) -> Vec<u8> {
    let table = ParquetTable::open(
        file.to_vec(),
        0..file.len() as u64,
        &DecodingLimits::default(),
    )
    .unwrap();
    // A column in which all texts are missing is stored as bytes.
    let text = |field: &Field| match field.data_type() {
        DataType::Binary => Field::new(field.name(), DataType::Utf8, true),
        _ => field.clone(),
    };
    let fields: Vec<Field> = table
        .schema()
        .fields()
        .iter()
        .map(|field| text(field))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let scratch = tempfile::tempdir().unwrap();
    let mut writer =
        FastparquetWriter::new(Vec::new(), &schema, versions.clone(), scratch.path()).unwrap();
    if name == "groups" {
        writer = writer.with_row_group_rows(16);
    }
    for batch in table.batches(None, None, 7).unwrap() {
        let batch = batch.unwrap();
        let columns = batch.columns().iter().zip(schema.fields());
        let columns = columns.map(|(column, field)| cast(column, field.data_type()).unwrap());
        writer
            .write(&RecordBatch::try_new(schema.clone(), columns.collect()).unwrap())
            .unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn rewritten_files_equal_the_recorded_files() {
    let all = recorded();
    assert!(all.len() >= 40, "{}", all.len());
    let mut wrong = Vec::new();
    for (path, versions, name) in all {
        let expected = std::fs::read(&path).unwrap();
        let found = match name.as_str() {
            "empty" => no_rows(&versions),
            _ => rewritten(&expected, &versions, &name),
        };
        if found != expected {
            let at = found.iter().zip(&expected).position(|(a, b)| a != b);
            wrong.push(format!(
                "{} from byte {at:?} of {}",
                path.display(),
                expected.len()
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn replacing_the_footer_changes_the_version() {
    let all = recorded();
    // In tables without missing values and booleans, the versions of fastparquet and pandas affect only the footer.
    let numbers: Vec<_> = all
        .iter()
        .filter(|(_, _, name)| name == "numbers")
        .collect();
    for (path, _, _) in &numbers {
        let file = std::fs::read(path).unwrap();
        let length = file.len() as u64;
        let begin = ParquetFooter::begin(length, &file[file.len() - 8..]).unwrap();
        let tail = ParquetFooter::parse(begin, &file[begin as usize..file.len() - 8]).unwrap();
        for (other, versions, _) in &numbers {
            let expected = std::fs::read(other).unwrap();
            let mut found = file[..begin as usize].to_vec();
            found.extend(with_versions(&tail, versions).unwrap());
            assert!(found == expected, "{} as {versions}", path.display());
        }
    }
}

#[test]
fn unknown_footers_are_not_parsed() {
    assert!(ParquetFooter::begin(100, b"\x05\0\0\0PAR2").is_none());
    assert!(ParquetFooter::begin(10, b"\x05\0\0\0PAR1").is_none());
    assert!(ParquetFooter::parse(4, b"anything").is_none());
}
