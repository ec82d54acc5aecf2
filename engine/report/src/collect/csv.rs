//! Tables of `public`: their first rows, and the fraction of missing cells per column.
//!
//! A table is read up to [`MAX_TABLE_BYTES`] bytes. The page states that if the table is longer.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use prep_formats::pandas::{ColumnData, Frame, FrameColumn, ObjectValue, ReadOptions, read_frame};
use prep_steps::Manifest;

/// Maximum bytes that are read of a table.
const MAX_TABLE_BYTES: u64 = 16 << 20;
/// Maximum tables of one competition.
const TABLES: usize = 6;

/// A table of `public`.
pub struct PublicTable {
    /// Path below `prepared`: `public/train.csv`.
    pub path: String,
    /// Number of rows of the entire file, if it is known.
    pub rows: Option<u64>,
    pub frame: Frame,
    /// Whether the frame is the entire file.
    pub is_complete: bool,
}

/// Reads the tables among the outputs of `public`. Files that cannot be read as a table are skipped.
pub fn tables(prepared: &Path, manifest: &Manifest) -> Vec<PublicTable> {
    let outputs = manifest.outputs.iter();
    let outputs = outputs.filter(|output| {
        output.files == 1 && output.path.starts_with("public/") && output.path.ends_with(".csv")
    });
    let tables = outputs.filter_map(|output| {
        let (frame, whole) = frame(&prepared.join(&output.path))?;
        Some(PublicTable {
            path: output.path.clone(),
            rows: output.rows.or(whole.then_some(frame.rows as u64)),
            frame,
            is_complete: whole,
        })
    });
    tables.take(TABLES).collect()
}

/// Reads the beginning of a CSV file. Returns it, and whether it is the entire file.
pub fn frame(path: &Path) -> Option<(Frame, bool)> {
    let (bytes, whole) = front(path).ok()?;
    let end = match whole {
        true => bytes.len(),
        false => last_line_end(&bytes),
    };
    let frame = read_frame(bytes.get(..end)?, &ReadOptions::default()).ok()?;
    (frame.rows > 0).then_some((frame, whole))
}

fn front(path: &Path) -> io::Result<(Vec<u8>, bool)> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.take(MAX_TABLE_BYTES).read_to_end(&mut bytes)?;
    Ok((bytes, length <= MAX_TABLE_BYTES))
}

/// Returns the end of the last complete row: after a line end that is not within quotes.
fn last_line_end(bytes: &[u8]) -> usize {
    let (mut quoted, mut end) = (false, 0);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => end = at + 1,
            _ => {}
        }
    }
    end
}

impl PublicTable {
    /// The file's name.
    pub fn name(&self) -> &str {
        self.path.strip_prefix("public/").unwrap_or(&self.path)
    }

    /// Returns whether the name is that of a test table, for whose rows agents predict.
    pub fn is_test(&self) -> bool {
        self.name().to_ascii_lowercase().contains("test")
    }

    /// Returns whether the name is that of a sample submission.
    pub fn is_sample(&self) -> bool {
        let name = self.name().to_ascii_lowercase();
        name.contains("sample") || name.contains("submission")
    }

    /// The fraction of missing cells of every column.
    pub fn missing(&self) -> Vec<(&str, f64)> {
        let columns = self.frame.columns.iter();
        #[allow(clippy::cast_precision_loss)] // a fraction
        let share = |column: &FrameColumn| missing(column) as f64 / self.frame.rows as f64;
        columns
            .map(|column| (column.name.as_str(), share(column)))
            .collect()
    }
}

fn missing(column: &FrameColumn) -> usize {
    match &column.data {
        ColumnData::Float64(values) => values.iter().filter(|value| value.is_nan()).count(),
        ColumnData::Object(cells) => cells
            .iter()
            .filter(|cell| *cell == ObjectValue::Missing)
            .count(),
        ColumnData::Int64(_) | ColumnData::UInt64(_) | ColumnData::Bool(_) => 0,
    }
}

/// Returns a cell as text, or `None` if it is missing.
pub fn text(column: &FrameColumn, row: usize) -> Option<String> {
    let boolean = |value: bool| if value { "True" } else { "False" }.to_owned();
    match &column.data {
        ColumnData::Int64(values) => values.get(row).map(|value| value.to_string()),
        ColumnData::UInt64(values) => values.get(row).map(ToString::to_string),
        ColumnData::Float64(values) => {
            let value = values.get(row).filter(|value| !value.is_nan());
            value.map(|value| value.to_string())
        }
        ColumnData::Bool(values) => values.get(row).map(|value| boolean(*value)),
        ColumnData::Object(cells) => match cells.get(row)? {
            ObjectValue::Missing => None,
            ObjectValue::Bool(value) => Some(boolean(value)),
            ObjectValue::Int(value) => Some(value.to_string()),
            ObjectValue::UInt(value) => Some(value.to_string()),
            ObjectValue::Float(value) => Some(value.to_string()),
            ObjectValue::Text(value) => Some(value.to_string()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_cut_off_does_not_count() {
        for (text, expected) in [
            ("a,b\n1,2\n3", "a,b\n1,2\n"),
            ("a\n\"x\ny", "a\n"),
            ("a\n\"x\ny\"\n", "a\n\"x\ny\"\n"),
            ("", ""),
        ] {
            assert_eq!(&text[..last_line_end(text.as_bytes())], expected);
        }
    }

    #[test]
    fn missing_cells_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.csv");
        std::fs::write(&path, "x,y,z\n1,,a\n,,é\n").unwrap();
        let (frame, whole) = frame(&path).unwrap();
        let table = PublicTable {
            path: "public/a.csv".into(),
            rows: None,
            frame,
            is_complete: whole,
        };
        assert_eq!(table.missing(), [("x", 0.5), ("y", 1.0), ("z", 0.0)]);
    }
}
