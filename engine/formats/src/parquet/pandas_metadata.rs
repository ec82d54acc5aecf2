//! Formats the `pandas` entry of the footer. `pandas.read_parquet` reads the types and the index of the frame from it.

use arrow::datatypes::{DataType, Field};

use super::ParquetError;
use crate::json::{JsonValue, WriteOptions};

/// Returns the text of the entry for a frame with these columns and without an index. Keys are sorted, as in
/// fastparquet.
pub(super) fn text(fields: &[&Field]) -> Result<String, ParquetError> {
    let columns = fields
        .iter()
        .map(|field| column(field))
        .collect::<Result<Vec<_>, _>>()?;
    // The column labels have one level without a name.
    let labels = JsonValue::from([
        ("field_name", JsonValue::Null),
        ("metadata", JsonValue::Null),
        ("name", JsonValue::Null),
        ("numpy_type", "object".into()),
        ("pandas_type", "unicode".into()),
    ]);
    let creator = JsonValue::from([
        ("library", "prep".into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
    ]);
    let entry = JsonValue::from([
        ("column_indexes", JsonValue::List(vec![labels])),
        ("columns", JsonValue::List(columns)),
        ("creator", creator),
        ("index_columns", JsonValue::List(Vec::new())),
        ("pandas_version", "2.2.3".into()),
        ("partition_columns", JsonValue::List(Vec::new())),
    ]);
    let options = WriteOptions {
        sort_keys: true,
        ..WriteOptions::default()
    };
    // ASCII output cannot fail and is UTF-8.
    let bytes = entry.to_json(&options).unwrap_or_default();
    Ok(String::from_utf8(bytes).unwrap_or_default())
}

/// Describes a column.
fn column(field: &Field) -> Result<JsonValue, ParquetError> {
    let (pandas, numpy) = types(field)?;
    let name = || JsonValue::from(field.name().as_str());
    Ok(JsonValue::from([
        ("field_name", name()),
        ("metadata", JsonValue::Null),
        ("name", name()),
        ("numpy_type", numpy.into()),
        ("pandas_type", pandas.into()),
    ]))
}

/// Returns pandas' name for the logical type and NumPy's name for the storage type.
fn types(field: &Field) -> Result<(&'static str, &'static str), ParquetError> {
    Ok(match field.data_type() {
        DataType::Int8 => ("int8", "int8"),
        DataType::Int16 => ("int16", "int16"),
        DataType::Int32 => ("int32", "int32"),
        DataType::Int64 => ("int64", "int64"),
        DataType::UInt8 => ("uint8", "uint8"),
        DataType::UInt16 => ("uint16", "uint16"),
        DataType::UInt32 => ("uint32", "uint32"),
        DataType::UInt64 => ("uint64", "uint64"),
        DataType::Float32 => ("float32", "float32"),
        DataType::Float64 => ("float64", "float64"),
        DataType::Boolean => ("bool", "bool"),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ("unicode", "object"),
        other => {
            return Err(ParquetError::UnsupportedType {
                column: field.name().clone(),
                data_type: other.clone(),
            });
        }
    })
}
