//! Reads files as tables of cells. A cell contains the text that pandas would print.
//!
//! A missing cell is empty. A string is in quotes if it looks like a value of another type, for example the string `1` in
//! JSON. An empty string is in quotes, too. Therefore equal cells have equal values.

mod csv;
pub mod npy;
mod parquet;
mod records;

use std::path::Path;

use prep_formats::limits::{DecodingLimits, Limit};

use crate::{ContentsError, Result};

pub use csv::{CsvDialect, CsvTable, guess_delimiter};
pub use npy::ArrayFile;
pub use parquet::ParquetFile;
pub use records::{RecordLayout, Records, is_json_lines, lists_of_objects, parse_within, unquoted};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Csv(u8),
    /// A text file. Each line is a row.
    Lines,
    JsonLines,
    /// A JSON document. The rows are the objects of its longest list. JSON lines are read as [`Format::JsonLines`].
    Json,
    Bson,
    Parquet,
    /// A NumPy array. Its last dimension gives the columns.
    Array,
}

impl Format {
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

pub enum DetectedFile {
    Csv(CsvTable),
    Records(Records),
    Parquet(ParquetFile),
    Array(ArrayFile),
}

impl DetectedFile {
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

/// Calls `each` for each row with the row and the index of `column`, and returns the results. Returns `None` if the column
/// does not exist.
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

pub fn columns_of(path: &Path, format: Format, limits: &DecodingLimits) -> Result<Vec<String>> {
    let opened = DetectedFile::open(path, format, limits)?;
    Ok(opened.table().columns().to_vec())
}

fn check_cells(limits: &DecodingLimits, bytes: u64, rows: u64, columns: usize) -> Result<()> {
    let cells = rows.saturating_mul(columns as u64);
    let checked = limits.check_columns(columns);
    let checked = checked.and_then(|()| limits.check_cells(bytes, cells));
    checked.map_err(ContentsError::Limit)
}

/// The cells of a row. The memory is reused for the next row.
#[derive(Debug, Default, Clone)]
pub struct Row {
    /// The bytes of all cells.
    bytes: Vec<u8>,
    /// The end of each cell in `bytes`.
    ends: Vec<usize>,
}

impl Row {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn cell(&self, index: usize) -> &[u8] {
        let begin = match index {
            0 => 0,
            _ => self
                .ends
                .get(index - 1)
                .copied()
                .unwrap_or(self.bytes.len()),
        };
        let end = self.ends.get(index).copied().unwrap_or(self.bytes.len());
        self.bytes.get(begin..end).unwrap_or_default()
    }

    /// Returns the buffer for the next cell. The caller must call [`end_cell`](Self::end_cell) afterwards.
    pub fn open(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    pub fn end_cell(&mut self) {
        self.ends.push(self.bytes.len());
    }

    /// Returns the memory of a copy of the row in bytes.
    pub fn bytes(&self) -> u64 {
        (size_of::<Row>() + self.bytes.len() + self.ends.len() * size_of::<usize>()) as u64
    }

    /// Fails if the row takes more memory than one record may, or has too many cells.
    pub(crate) fn check(&self, limits: &DecodingLimits) -> Result<()> {
        let checked = limits.check(Limit::Record, self.bytes());
        let checked = checked.and_then(|()| limits.check_columns(self.len()));
        checked.map_err(ContentsError::Limit)
    }

    /// Returns whether the cells with the indices `cells` of this row equal the cells with the indices `others` of `other`.
    pub fn equals(&self, cells: &[usize], other: &Row, others: &[usize]) -> bool {
        let pairs = cells.iter().zip(others);
        cells.len() == others.len()
            && pairs
                .into_iter()
                .all(|(cell, other_cell)| self.cell(*cell) == other.cell(*other_cell))
    }

    /// Hashes the cells with these indices, in this order. Returns 128 bits of BLAKE3, because collisions of a weaker hash
    /// could be constructed.
    pub fn hash(&self, cells: &[usize]) -> u128 {
        let mut hasher = blake3::Hasher::new();
        for cell in cells {
            let cell = self.cell(*cell);
            hasher.update(&(cell.len() as u64).to_le_bytes());
            hasher.update(cell);
        }
        short(&hasher)
    }
}

/// Returns the first 128 bits of the hash.
pub(crate) fn short(hasher: &blake3::Hasher) -> u128 {
    let hash = hasher.finalize();
    let first = hash.as_bytes().first_chunk();
    first.map_or(0, |bytes| u128::from_le_bytes(*bytes))
}

/// A table whose rows can be read repeatedly.
pub trait TableReader: Sync {
    fn columns(&self) -> &[String];

    fn rows(&self) -> Result<Box<dyn Rows + '_>>;
}

pub trait Rows {
    /// Reads the next row into `row`. Returns false after the last row.
    fn next(&mut self, row: &mut Row) -> Result<bool>;
}
