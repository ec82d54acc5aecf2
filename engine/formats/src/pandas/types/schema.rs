//! Names and types of a table's columns, and how a raw file is to be read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What the cells of a column are, as pandas' dtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnType {
    /// `int64`.
    Int64,
    /// `uint64`: whole numbers, some beyond the range of `int64`.
    UInt64,
    /// `float64`; a missing cell is NaN.
    Float64,
    /// `float32`; only when it is asked for.
    Float32,
    /// `int32`; only when it is asked for.
    Int32,
    /// `int16`; only when it is asked for.
    Int16,
    /// `int8`; only when it is asked for.
    Int8,
    /// `bool`, or `object` with `True`, `False` and missing cells.
    Bool,
    /// `object`: text, and columns whose blocks have types that do not join.
    Text,
    /// Text that holds one JSON value per cell. pandas knows no such type; a reader of JSON files sets it.
    Json,
}

/// One column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The name, unique in its table.
    pub name: String,
    /// What the cells are.
    pub kind: ColumnType,
    /// Whether a cell is missing anywhere in the column.
    pub nullable: bool,
}

/// Columns and number of rows of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// The columns from left to right.
    pub columns: Vec<Column>,
    /// Number of rows; the header does not count.
    pub rows: u64,
}

impl Schema {
    /// Position of the column called `name`.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }

    /// The schema of some of the columns, with as many rows. What is no column is passed over.
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

/// How decimals become doubles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FloatParser {
    /// Correct rounding: `float_precision="round_trip"`.
    #[default]
    RoundTrip,
    /// pandas' default, which is off by one in the last digit for one value in four.
    Fast,
}

/// How a raw file is read: the arguments of `read_csv` that matter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadOptions {
    /// Separates the fields (`sep`).
    pub delimiter: u8,
    /// How decimals become doubles (`float_precision`).
    pub floats: FloatParser,
    /// Columns that stay text whatever they hold (`dtype={name: str}`).
    pub text: Vec<String>,
    /// Every column stays text (`dtype=str`).
    pub all_text: bool,
    /// Columns with a numeric type of their own (`dtype={name: "int8"}`).
    pub types: BTreeMap<String, ColumnType>,
    /// Whether the first row holds the names. Without one the names are `0`, `1`, ...
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
