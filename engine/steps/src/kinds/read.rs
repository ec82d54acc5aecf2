//! `read`: one file of the bundle as a table.
//!
//! CSV is read as pandas reads it. The file is extracted into the store while it is scanned; if its bytes are what pandas
//! would print, they are the stored table and nothing is written again, otherwise a second pass prints them. A JSON list
//! becomes a table of its declared columns and the hidden column `record`. Parquet files and NumPy arrays stay as they
//! are.

mod csv;
mod json;
mod npy;
mod parquet;

use std::fs::File;
use std::sync::Arc;

use prep_core::{BoxError, Context, Inputs, Outputs, Step, StepError};
use prep_formats::pandas::{ColumnType, Misfit, Schema};
use prep_spec::alternatives;
use prep_spec::model::{ColumnKind, FloatPrecision, Format, Read};
use thiserror::Error;

use super::copy::Absent;
use super::one;
use super::unpack::{extract, similar};
use crate::value::{Content, Opener, Tree, input};

#[derive(Debug, Error)]
pub(crate) enum ReadError {
    #[error("`{path}`: {cause}")]
    Format {
        path: String,
        #[source]
        cause: BoxError,
    },
    #[error("`{path}` has no column `{column}`; {}", alternatives(.column, "it", .found.iter().map(String::as_str)))]
    NoColumn {
        path: String,
        column: String,
        found: Vec<String>,
    },
    #[error("`{path}`: column `{column}` is declared {declared}, but the file holds {found}")]
    OtherType {
        path: String,
        column: String,
        declared: &'static str,
        found: &'static str,
    },
    #[error(
        "`{path}`: column `{column}` is declared {declared}, but row {} (byte {}) {}; correct the file, or declare the column {other}",
        .misfit.row, .misfit.offset, held(.misfit)
    )]
    OtherCell {
        path: String,
        column: String,
        declared: &'static str,
        misfit: Box<Misfit>,
        /// A type that would fit.
        other: &'static str,
    },
    #[error("`{path}`: record {record} has no member `{column}`")]
    NoMember {
        path: String,
        record: u64,
        column: String,
    },
    #[error(
        "`{path}`: record {record}: member `{column}` is declared {declared}, but holds {found}"
    )]
    OtherMember {
        path: String,
        record: u64,
        column: String,
        declared: &'static str,
        found: String,
    },
}

pub(crate) struct ReadTable {
    pub read: Read,
}

impl Step for ReadTable {
    fn kind(&self) -> &'static str {
        "read"
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        let format = match self.read.format {
            Format::Csv => "csv",
            Format::Json => "json",
            Format::JsonLines => "json_lines",
            Format::Parquet => "parquet",
            Format::Npy => "npy",
        };
        let float_precision = match self.read.float_precision {
            FloatPrecision::RoundTrip => "round_trip",
            FloatPrecision::High => "high",
        };
        let columns: Vec<_> = self
            .read
            .columns
            .iter()
            .map(|column| (&column.name.value, kind_name(column.kind)))
            .collect();
        serde_json::json!({
            "path": self.read.path.value,
            "format": format,
            "columns": columns,
            "delimiter": char::from(self.read.delimiter),
            "float_precision": float_precision,
        })
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let tree = Tree::load(context, input(inputs, "tree")?)?;
        let path = &self.read.path.value;
        let content = tree.get(path).cloned().ok_or_else(|| {
            StepError::input(Absent {
                path: path.clone(),
                similar: similar(&tree, path),
            })
        })?;
        let opener = Opener::new(context);
        let table = match self.read.format {
            Format::Csv => csv::read(context, &opener, &content, &self.read)?,
            Format::Json | Format::JsonLines => json::read(context, &opener, &content, &self.read)?,
            Format::Parquet => parquet::read(context, &opener, &content, &self.read)?,
            Format::Npy => npy::read(context, &opener, &content, &self.read)?,
        };
        Ok(one(table.into_value()))
    }
}

fn kind_name(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Text => "text",
        ColumnKind::Integer => "integer",
        ColumnKind::Number => "number",
        ColumnKind::Boolean => "boolean",
        ColumnKind::Json => "json",
        ColumnKind::Inferred => "inferred",
    }
}

/// The file, extracted into the store, for formats that are read in place.
fn extracted(
    context: &Context,
    opener: &Opener,
    content: &Content,
    read: &Read,
) -> Result<(Content, Arc<File>), StepError> {
    let content = extract(context, opener, content).map_err(|cause| failed(read, cause))?;
    let file = opener
        .base(content.base())
        .map_err(|cause| failed(read, cause))?;
    Ok((content, file))
}

fn failed(read: &Read, cause: impl Into<BoxError>) -> StepError {
    StepError::input(ReadError::Format {
        path: read.path.value.clone(),
        cause: cause.into(),
    })
}

/// What a message says of a cell.
fn held(misfit: &Misfit) -> String {
    match misfit.cell.as_str() {
        "" => "holds nothing".to_owned(),
        cell => format!("holds `{}`", shortened(cell)),
    }
}

/// The beginning of a text, for messages.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Holds the file against its declaration. A column declared text or inferred is text to queries, whatever its cells look like.
fn check_columns(read: &Read, schema: &mut Schema) -> Result<(), ReadError> {
    let path = &read.path.value;
    for column in &read.columns {
        let name = &column.name.value;
        let Some(place) = schema.position(name) else {
            return Err(ReadError::NoColumn {
                path: path.clone(),
                column: name.clone(),
                found: schema.columns.iter().map(|one| one.name.clone()).collect(),
            });
        };
        let declared = column.kind;
        let Some(stored) = schema.columns.get_mut(place) else {
            continue;
        };
        match declared {
            ColumnKind::Text | ColumnKind::Inferred => stored.kind = ColumnType::Text,
            ColumnKind::Json => stored.kind = ColumnType::Json,
            _ if fits(declared, stored.kind) => {}
            _ => {
                return Err(ReadError::OtherType {
                    path: path.clone(),
                    column: name.clone(),
                    declared: kind_name(declared),
                    found: found(stored.kind),
                });
            }
        }
    }
    Ok(())
}

fn is_integer(stored: ColumnType) -> bool {
    matches!(
        stored,
        ColumnType::Int64
            | ColumnType::UInt64
            | ColumnType::Int32
            | ColumnType::Int16
            | ColumnType::Int8
    )
}

fn is_float(stored: ColumnType) -> bool {
    matches!(stored, ColumnType::Float64 | ColumnType::Float32)
}

fn fits(declared: ColumnKind, stored: ColumnType) -> bool {
    match declared {
        ColumnKind::Text | ColumnKind::Json | ColumnKind::Inferred => true,
        ColumnKind::Integer => is_integer(stored),
        ColumnKind::Number => is_integer(stored) || is_float(stored),
        ColumnKind::Boolean => stored == ColumnType::Bool,
    }
}

/// What a column holds, in words.
fn found(stored: ColumnType) -> &'static str {
    match stored {
        _ if is_integer(stored) => "integers",
        _ if is_float(stored) => "numbers with a fraction, or missing ones",
        ColumnType::Bool => "booleans",
        _ => "text",
    }
}
