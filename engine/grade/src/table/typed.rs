//! Defines `LazySubmission`, a CSV submission whose cells are read when they are needed. Also parses *typed frames*,
//! which are tables whose columns have a declared type.
//!
//! Some callers have the submission as a table in memory. As CSV, the table would lose its types: the text `1` would become
//! a number, and an empty text would become a missing cell. Therefore these callers write a typed frame: first a line with a
//! JSON header, and then one column after another.
//!
//! ```text
//! {"rows": 2, "columns": [{"name": "id", "type": "int64"}, {"name": "y", "type": "object", "bytes": 13}]}\n
//! int64, uint64, float64   8 bytes per cell, little endian
//! bool                     1 byte per cell
//! object                   a JSON list, which is `bytes` bytes long
//! ```
//!
//! A cell of an `object` column is null (missing), true, false, a number or a text. A number that JSON cannot represent is a
//! JSON object that contains the number as text: `{"float": "inf"}`.

use std::collections::HashSet;
use std::io;
use std::sync::OnceLock;

use prep_formats::pandas::{
    CellValue, ColumnData, CsvError, Frame, FrameColumn, ObjectColumn, ScannedFrame,
};
use serde::Deserialize;
use thiserror::Error;

use super::submission::invalid;
use crate::refusal::{Refusal, RefusalKind};

/// The reason why a typed frame is invalid.
#[derive(Debug, Error)]
pub enum TypedFrameError {
    /// The first line is not a header.
    #[error("the typed frame has no header: {0}")]
    Header(String),
    /// A column has too few bytes or too few cells.
    #[error(
        "the column `{0}` of the typed frame is truncated, or its number of cells differs from the header's `rows`"
    )]
    Length(String),
    /// Two columns have the same name.
    #[error("the typed frame has two columns `{0}`")]
    Repeated(String),
    /// A cell does not have the type of its column.
    #[error("the column `{name}` of the typed frame has a cell of a different type")]
    Cells {
        /// The column.
        name: String,
        /// The error about the first such cell.
        #[source]
        cause: serde_json::Error,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    rows: usize,
    columns: Vec<HeaderColumn>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderColumn {
    name: String,
    r#type: Type,
    /// Length of an `object` column in bytes.
    #[serde(default)]
    bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Type {
    Int64,
    Uint64,
    Float64,
    Bool,
    Object,
}

/// A cell of an `object` column. The parser tries the variants in this order.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ObjectCell {
    Missing(()),
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Text(String),
    NotInJson { float: String },
}

/// Parses a typed frame.
pub fn parse(bytes: &[u8]) -> Result<Frame, TypedFrameError> {
    let line = bytes.iter().position(|byte| *byte == b'\n');
    let split = line.and_then(|at| Some((bytes.get(..at)?, bytes.get(at + 1..)?)));
    let (header, mut rest) =
        split.ok_or_else(|| TypedFrameError::Header("it has no line".to_owned()))?;
    let header: Header = serde_json::from_slice(header)
        .map_err(|error| TypedFrameError::Header(error.to_string()))?;
    let mut names = HashSet::new();
    let mut columns = Vec::with_capacity(header.columns.len());
    for column in header.columns {
        if !names.insert(column.name.clone()) {
            return Err(TypedFrameError::Repeated(column.name));
        }
        let length = match column.r#type {
            Type::Object => Some(column.bytes),
            Type::Bool => Some(header.rows),
            _ => header.rows.checked_mul(8),
        };
        let parts = length.and_then(|length| rest.split_at_checked(length));
        let Some((cells, after)) = parts else {
            return Err(TypedFrameError::Length(column.name));
        };
        rest = after;
        let data = match column.r#type {
            Type::Int64 => ColumnData::Int64(words(cells).map(i64::from_le_bytes).collect()),
            Type::Uint64 => ColumnData::UInt64(words(cells).map(u64::from_le_bytes).collect()),
            Type::Float64 => ColumnData::Float64(words(cells).map(f64::from_le_bytes).collect()),
            Type::Bool => ColumnData::Bool(cells.iter().map(|byte| *byte != 0).collect()),
            Type::Object => ColumnData::Object(objects(&column.name, cells, header.rows)?),
        };
        let name = column.name;
        columns.push(FrameColumn { name, data });
    }
    Ok(Frame {
        columns,
        rows: header.rows,
    })
}

fn words(cells: &[u8]) -> impl Iterator<Item = [u8; 8]> {
    cells.as_chunks::<8>().0.iter().copied()
}

fn objects(name: &str, cells: &[u8], rows: usize) -> Result<ObjectColumn, TypedFrameError> {
    let cells: Vec<ObjectCell> =
        serde_json::from_slice(cells).map_err(|cause| TypedFrameError::Cells {
            name: name.to_owned(),
            cause,
        })?;
    if cells.len() != rows {
        return Err(TypedFrameError::Length(name.to_owned()));
    }
    let mut objects = ObjectColumn::default();
    for cell in &cells {
        objects.push(match cell {
            ObjectCell::Missing(()) => CellValue::Missing,
            ObjectCell::Bool(value) => CellValue::Bool(*value),
            ObjectCell::Int(value) => CellValue::Int(*value),
            ObjectCell::UInt(value) => CellValue::UInt(*value),
            ObjectCell::Float(value) => CellValue::Float(*value),
            ObjectCell::Text(text) => CellValue::Text(text),
            ObjectCell::NotInJson { float } => CellValue::Float(float.parse().unwrap_or(f64::NAN)),
        });
    }
    Ok(objects)
}

/// A CSV submission after a first pass, which found the names of its columns and its number of rows.
#[derive(Debug)]
pub(crate) struct LazySubmission<'a> {
    scanned: ScannedFrame<'a>,
    /// The error from reading the file, which does not mean that the submission is invalid.
    failed: OnceLock<io::Error>,
}

impl<'a> LazySubmission<'a> {
    pub fn new(scanned: ScannedFrame<'a>) -> Self {
        LazySubmission {
            scanned,
            failed: OnceLock::new(),
        }
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.scanned.names()
    }

    pub fn rows(&self) -> usize {
        self.scanned.rows()
    }

    pub fn read(&self, columns: &[usize], rows: usize) -> Result<Vec<ColumnData>, Refusal> {
        self.scanned.read(columns, rows).map_err(|error| {
            if let CsvError::Io(error) = error {
                self.failed.get_or_init(|| error);
                return unreadable();
            }
            invalid(&error)
        })
    }

    /// Returns the error from reading the file, if there was one.
    pub fn failure(self) -> Option<io::Error> {
        self.failed.into_inner()
    }
}

pub(crate) fn unreadable() -> Refusal {
    Refusal::new(RefusalKind::Unreadable, "the file cannot be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(header: &str, cells: &[&[u8]]) -> Vec<u8> {
        [header.as_bytes(), b"\n", &cells.concat()].concat()
    }

    #[test]
    fn all_column_types_are_read() {
        let objects = br#"["007",null,-1,18446744073709551615,0.5,true,{"float":"-inf"},"","NA"]"#;
        let header = format!(
            r#"{{"rows":9,"columns":[{{"name":"i","type":"int64"}},{{"name":"u","type":"uint64"}},{{"name":"f","type":"float64"}},{{"name":"b","type":"bool"}},{{"name":"o","type":"object","bytes":{}}}]}}"#,
            objects.len()
        );
        let ints: Vec<u8> = (-4..5_i64).flat_map(i64::to_le_bytes).collect();
        let unsigned: Vec<u8> = (0..9_u64)
            .flat_map(|value| (u64::MAX - value).to_le_bytes())
            .collect();
        let floats: Vec<u8> = (0..9)
            .flat_map(|value| (f64::from(value) / 2.0).to_le_bytes())
            .collect();
        let bytes = typed(&header, &[&ints, &unsigned, &floats, &[1; 9], objects]);
        let frame = parse(&bytes).unwrap();
        assert_eq!(frame.rows, 9);
        let data = |name: &str| &frame.column(name).unwrap().data;
        assert_eq!(data("i"), &ColumnData::Int64((-4..5).collect()));
        assert_eq!(
            data("u"),
            &ColumnData::UInt64((0..9).map(|value| u64::MAX - value).collect())
        );
        assert_eq!(
            data("f"),
            &ColumnData::Float64((0..9).map(|value| f64::from(value) / 2.0).collect())
        );
        assert_eq!(data("b"), &ColumnData::Bool(vec![true; 9]));
        let mut expected = ObjectColumn::default();
        for cell in [
            CellValue::Text("007"),
            CellValue::Missing,
            CellValue::Int(-1),
            CellValue::UInt(u64::MAX),
            CellValue::Float(0.5),
            CellValue::Bool(true),
            CellValue::Float(f64::NEG_INFINITY),
            CellValue::Text(""),
            CellValue::Text("NA"),
        ] {
            expected.push(cell);
        }
        assert_eq!(data("o"), &ColumnData::Object(expected));
    }

    #[test]
    fn invalid_bytes_are_errors() {
        let one = |column: &str, cells: &[u8]| {
            typed(&format!(r#"{{"rows":2,"columns":[{column}]}}"#), &[cells])
        };
        let two = r#"{"name":"a","type":"bool"},{"name":"a","type":"bool"}"#;
        for (bytes, message) in [
            (b"id,y\n1,2\n".to_vec(), "has no header"),
            (b"{}".to_vec(), "has no header"),
            (one(r#"{"name":"a","type":"int64"}"#, &[0; 15]), "`a`"),
            (
                one(r#"{"name":"a","type":"object","bytes":3}"#, b"[1]"),
                "number of cells differs",
            ),
            (
                one(r#"{"name":"a","type":"object","bytes":2}"#, b"[1"),
                "EOF",
            ),
            (one(two, &[0; 4]), "two columns"),
        ] {
            let error = prep_failure::chain(&parse(&bytes).unwrap_err());
            assert!(error.contains(message), "{error}");
        }
        let huge = format!(
            r#"{{"rows":{},"columns":[{{"name":"a","type":"int64"}}]}}"#,
            u64::MAX
        );
        assert!(parse(&typed(&huge, &[])).is_err());
    }
}
