//! Reads files as tables: rows of cells, with the text that pandas would print.
//!
//! A missing cell is empty. A text that could be confused with another value (an empty text, or `1` and `true` in JSON)
//! is in quotes, so two cells are equal only if their values are equal.

mod csv;
pub mod npy;
mod parquet;
mod records;
mod row;

use std::path::Path;

use prep_formats::limits::DecodingLimits;

use crate::error::{ContentsError, Result};

pub use csv::{CsvDialect, CsvTable, guess_delimiter};
pub use npy::ArrayFile;
pub use parquet::ParquetFile;
pub use records::{RecordLayout, Records, is_json_lines, lists_of_objects, parse_within, unquoted};
pub use row::{Row, Rows, TableReader};

/// A format that is read as a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Csv(u8),
    /// A text file, in which each line is a row.
    Lines,
    JsonLines,
    /// The longest list of records in a JSON document. If each line is a document, despite the name, its lines.
    Json,
    Bson,
    Parquet,
    /// A NumPy array, whose last dimension gives the columns.
    Array,
}

impl Format {
    /// Finds the format by the ending of a path.
    pub fn from_path(path: &str) -> Option<Format> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (_, ending) = name.rsplit_once('.')?;
        Some(match ending.to_ascii_lowercase().as_str() {
            "csv" => Format::Csv(b','),
            "tsv" => Format::Csv(b'\t'),
            "txt" | "md" | "tokens" => Format::Lines,
            "jsonl" | "ndjson" => Format::JsonLines,
            "json" | "geojson" => Format::Json,
            "bson" => Format::Bson,
            "parquet" => Format::Parquet,
            "npy" => Format::Array,
            _ => return None,
        })
    }
}

/// An opened file.
pub enum DetectedFile {
    Csv(CsvTable),
    Records(Records),
    Parquet(ParquetFile),
    Array(ArrayFile),
}

impl DetectedFile {
    /// # Errors
    /// If the file cannot be read, or is not of this format.
    pub fn open(path: &Path, format: Format, limits: &DecodingLimits) -> Result<DetectedFile> {
        let records = |source| Records::open(path, source, limits).map(DetectedFile::Records);
        match format {
            Format::Csv(delimiter) => {
                CsvTable::open(path, delimiter, limits).map(DetectedFile::Csv)
            }
            Format::Lines => CsvTable::lines(path, limits).map(DetectedFile::Csv),
            Format::Json if is_json_lines(path)? => records(RecordLayout::Lines),
            Format::JsonLines => records(RecordLayout::Lines),
            Format::Json => records(RecordLayout::List),
            Format::Bson => records(RecordLayout::Bson),
            Format::Parquet => ParquetFile::open(path, limits).map(DetectedFile::Parquet),
            Format::Array => ArrayFile::open(path, limits).map(DetectedFile::Array),
        }
    }

    pub fn table(&self) -> &dyn TableReader {
        match self {
            DetectedFile::Csv(table) => table,
            DetectedFile::Records(table) => table,
            DetectedFile::Parquet(table) => table,
            DetectedFile::Array(table) => table,
        }
    }
}

/// Applies `each` to the cells of a column, in order. Returns `None` if the column does not exist.
///
/// # Errors
/// If the file cannot be read as such a table.
pub fn column<T>(
    path: &Path,
    format: Format,
    column: &str,
    limits: &DecodingLimits,
    mut each: impl FnMut(&Row, usize) -> T,
) -> Result<Option<Vec<T>>> {
    let opened = DetectedFile::open(path, format, limits)?;
    let table = opened.table();
    let Some(place) = table.columns().iter().position(|own| own == column) else {
        return Ok(None);
    };
    let mut rows = table.rows()?;
    let (mut row, mut found) = (Row::default(), Vec::new());
    while rows.next(&mut row)? {
        found.push(each(&row, place));
    }
    Ok(Some(found))
}

/// Returns the names of a file's columns.
///
/// # Errors
/// If the file cannot be read as such a table.
pub fn columns_of(path: &Path, format: Format, limits: &DecodingLimits) -> Result<Vec<String>> {
    let opened = DetectedFile::open(path, format, limits)?;
    Ok(opened.table().columns().to_vec())
}

/// Checks that a table in a file of this length does not have too many columns or cells.
fn check_cells(limits: &DecodingLimits, bytes: u64, rows: u64, columns: usize) -> Result<()> {
    let cells = rows.saturating_mul(columns as u64);
    let checked = limits.check_columns(columns);
    let checked = checked.and_then(|()| limits.check_cells(bytes, cells));
    checked.map_err(ContentsError::Limit)
}
