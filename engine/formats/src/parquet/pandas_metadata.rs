//! Formats the `pandas` entry of the footer. `pandas.read_parquet` reads the types and the index of the frame from it.

use arrow::datatypes::Field;

use super::ParquetError;
use super::fastparquet::numpy_type;
use crate::json::{JsonValue, WriteOptions};

/// The libraries that write a file, and the types of the column labels.
pub(super) struct Creator<'a> {
    pub library: &'a str,
    pub version: &'a str,
    pub pandas_version: &'a str,
    /// NumPy's and pandas' name.
    pub labels: (&'a str, &'a str),
}

/// Returns the entry of a frame with these columns and without an index. Keys are sorted, as in fastparquet.
pub(super) fn entry(columns: Vec<JsonValue>, creator: &Creator<'_>) -> Vec<u8> {
    // The column labels have one level without a name.
    let (numpy, pandas) = creator.labels;
    let labels = column(None, numpy, pandas);
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
pub(super) fn column(name: Option<&str>, numpy: &str, pandas: &str) -> JsonValue {
    JsonValue::from([
        ("field_name", name.into()),
        ("metadata", JsonValue::Null),
        ("name", name.into()),
        ("numpy_type", numpy.into()),
        ("pandas_type", pandas.into()),
    ])
}

/// Returns the text of the entry of a file that this program writes.
pub(super) fn text(fields: &[&Field]) -> Result<String, ParquetError> {
    let describe = |field: &&Field| {
        let numpy = numpy_type(field)?;
        let pandas = if numpy == "object" { "unicode" } else { numpy };
        Ok(column(Some(field.name()), numpy, pandas))
    };
    let columns = fields.iter().map(describe);
    let creator = Creator {
        library: "prep",
        version: env!("CARGO_PKG_VERSION"),
        pandas_version: "2.2.3",
        labels: ("object", "unicode"),
    };
    let bytes = entry(columns.collect::<Result<_, ParquetError>>()?, &creator);
    Ok(String::from_utf8(bytes).unwrap_or_default())
}
