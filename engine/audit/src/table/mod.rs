//! Two tables, from bytes to keys.
//!
//! 1. Columns: an index column, missing, added, renamed, in another order. What follows looks at the common ones.
//! 2. Row by row in order. If all rows agree, or differ in cells only, the cells tell why.
//! 3. Else as multisets of rows, by hash: rows that are equal are paired wherever they stand.
//! 4. The rest is paired by a key, a column whose values are unique on both sides, and compared cell by cell. What has no
//!    pair is missing or added.
//!
//! The order of the pairs tells whether rows moved.

pub(crate) mod cell;
mod columns;
mod compare;
mod csv;
mod forms;
mod json_lines;
mod pairs;
mod parquet;
mod row;
mod tally;

use std::io;
use std::path::Path;

use crate::finding::Finding;

pub use compare::{Moved, Outcome, Role};
pub(crate) use csv::CsvTable;
pub(crate) use json_lines::JsonLines;
pub(crate) use parquet::ParquetFile;
pub use row::{Row, Rows, Table};

/// A format that is read as a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Csv(u8),
    /// A line is a row.
    Lines,
    JsonLines,
    Parquet,
}

impl Format {
    /// By the ending of a path.
    pub fn of(path: &str) -> Option<Format> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (_, ending) = name.rsplit_once('.')?;
        Some(match ending.to_ascii_lowercase().as_str() {
            "csv" => Format::Csv(b','),
            "tsv" => Format::Csv(b'\t'),
            "txt" | "md" | "tokens" => Format::Lines,
            "jsonl" => Format::JsonLines,
            "parquet" => Format::Parquet,
            _ => return None,
        })
    }
}

/// An opened file.
enum Opened {
    Csv(CsvTable),
    JsonLines(JsonLines),
    Parquet(ParquetFile),
}

impl Opened {
    fn open(path: &Path, format: Format) -> io::Result<Opened> {
        Ok(match format {
            Format::Csv(delimiter) => Opened::Csv(CsvTable::open(path, delimiter)?),
            Format::Lines => Opened::Csv(CsvTable::lines(path)?),
            Format::JsonLines => Opened::JsonLines(JsonLines::open(path)?),
            Format::Parquet => Opened::Parquet(ParquetFile::open(path)?),
        })
    }

    fn table(&self) -> &dyn Table {
        match self {
            Opened::Csv(table) => table,
            Opened::JsonLines(table) => table,
            Opened::Parquet(table) => table,
        }
    }
}

/// Compares two files of different bytes as tables.
///
/// # Errors
/// When one cannot be read as such.
pub fn compare(
    path: &str,
    theirs: &Path,
    ours: &Path,
    format: Format,
    role: &Role,
) -> io::Result<Outcome> {
    let (theirs, ours) = (Opened::open(theirs, format)?, Opened::open(ours, format)?);
    let mut outcome = compare::compare(path, theirs.table(), ours.table(), role)?;
    let findings = &mut outcome.findings;
    match (&theirs, &ours) {
        (Opened::Csv(theirs), Opened::Csv(ours)) => {
            findings.extend(forms::of_text(path, &theirs.form, &ours.form));
        }
        (Opened::Parquet(theirs), Opened::Parquet(ours)) => {
            findings.extend(forms::of_parquet(path, theirs, ours, outcome.rows));
        }
        (Opened::JsonLines(theirs), Opened::JsonLines(ours)) => {
            findings.extend(forms::of_json_lines(
                path,
                theirs,
                ours,
                outcome.rows.is_some(),
            ));
        }
        _ => {}
    }
    if findings.is_empty() {
        findings.push(Finding::new(&crate::causes::NOT_CLASSIFIED, path));
    }
    Ok(outcome)
}

/// The columns of a file, and the values of one of them as hashes, in order.
pub(crate) fn column_hashes(
    path: &Path,
    format: Format,
    column: &str,
) -> io::Result<Option<Vec<u64>>> {
    let opened = Opened::open(path, format)?;
    let table = opened.table();
    let Some(place) = table.columns().iter().position(|own| own == column) else {
        return Ok(None);
    };
    let mut rows = table.rows()?;
    let (mut row, mut hashes) = (Row::default(), Vec::new());
    while rows.next(&mut row)? {
        hashes.push(row.hash(&[place]));
    }
    Ok(Some(hashes))
}

/// The names of a file's columns.
pub(crate) fn columns_of(path: &Path, format: Format) -> io::Result<Vec<String>> {
    Ok(Opened::open(path, format)?.table().columns().to_vec())
}

/// The texts of a column, in order.
pub(crate) fn column_values(
    path: &Path,
    format: Format,
    column: &str,
) -> io::Result<Option<Vec<String>>> {
    let opened = Opened::open(path, format)?;
    let table = opened.table();
    let Some(place) = table.columns().iter().position(|own| own == column) else {
        return Ok(None);
    };
    let mut rows = table.rows()?;
    let (mut row, mut values) = (Row::default(), Vec::new());
    while rows.next(&mut row)? {
        values.push(String::from_utf8_lossy(row.cell(place)).into_owned());
    }
    Ok(Some(values))
}
