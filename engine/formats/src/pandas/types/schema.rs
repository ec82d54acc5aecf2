//! The schema of a table, and the options for reading a raw file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The type of a column, as a pandas dtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnType {
    /// `int64`.
    Int64,
    /// `uint64`: integers, some of which exceed `int64`.
    UInt64,
    /// `float64`. Missing cells are NaN.
    Float64,
    /// `float32`, only on request.
    Float32,
    /// `int32`, only on request.
    Int32,
    /// `int16`, only on request.
    Int16,
    /// `int8`, only on request.
    Int8,
    /// `bool`, or `object` with `True`, `False` and missing cells.
    Bool,
    /// `object`: text, and columns for which the reader infers different types in different blocks of rows.
    Text,
    /// Text with one JSON value per cell. Readers of JSON files use it. pandas has no such type.
    Json,
}

impl ColumnType {
    /// Returns the name of the pandas dtype: `object` for text, and `json` for [`ColumnType::Json`].
    #[must_use]
    pub fn dtype(self) -> &'static str {
        match self {
            ColumnType::Int64 => "int64",
            ColumnType::UInt64 => "uint64",
            ColumnType::Float64 => "float64",
            ColumnType::Float32 => "float32",
            ColumnType::Int32 => "int32",
            ColumnType::Int16 => "int16",
            ColumnType::Int8 => "int8",
            ColumnType::Bool => "bool",
            ColumnType::Text => "object",
            ColumnType::Json => "json",
        }
    }
}

/// The name and type of a column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnSchema {
    /// The name, unique in its table.
    pub name: String,
    /// The type of the cells.
    pub kind: ColumnType,
    /// Whether any cell is missing.
    pub nullable: bool,
}

/// The columns and the number of rows of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// The columns from left to right.
    pub columns: Vec<ColumnSchema>,
    /// Number of rows, without the header.
    pub rows: u64,
}

impl Schema {
    /// Returns the index of the column `name`.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }

    /// Returns the schema of the columns with these indices. Ignores invalid indices.
    #[must_use]
    pub fn of_columns(&self, columns: &[usize]) -> Schema {
        let columns = columns
            .iter()
            .filter_map(|column| self.columns.get(*column));
        Schema {
            columns: columns.cloned().collect(),
            rows: self.rows,
        }
    }
}

/// The algorithm that converts decimals to doubles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FloatParser {
    /// Correct rounding: `float_precision="round_trip"`.
    #[default]
    RoundTrip,
    /// pandas' default. One value in four is off by one in the last digit.
    Fast,
}

/// The supported arguments of `read_csv`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadOptions {
    /// The byte that separates fields (`sep`).
    pub delimiter: u8,
    /// The conversion of decimals to doubles (`float_precision`).
    pub floats: FloatParser,
    /// Columns that are text regardless of their content (`dtype={name: str}`).
    pub text: Vec<String>,
    /// Whether all columns are text (`dtype=str`).
    pub all_text: bool,
    /// Columns with a requested numeric type (`dtype={name: "int8"}`).
    pub types: BTreeMap<String, ColumnType>,
    /// Whether the first row contains the names. Otherwise the names are `0`, `1`, ...
    pub header: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            delimiter: b',',
            floats: FloatParser::RoundTrip,
            text: Vec::new(),
            all_text: false,
            types: BTreeMap::new(),
            header: true,
        }
    }
}
