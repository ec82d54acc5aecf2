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
use prep_formats::pandas::{Column as StoredColumn, ColumnType, Schema};
use prep_spec::model::{Column, ColumnKind, Floats, Format, Read};
use thiserror::Error;

use super::copy::Absent;
use super::one;
use super::unpack::{extract, similar};
use crate::value::{Content, Opener, Tree, input, own_meaning};

#[derive(Debug, Error)]
pub(crate) enum ReadError {
    #[error("`{path}`: {cause}")]
    Format { path: String, cause: BoxError },
    #[error("`{path}` has no column `{column}`; it has {}", .found.join(", "))]
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
        let floats = match self.read.floats {
            Floats::RoundTrip => "round_trip",
            Floats::Fast => "fast",
        };
        let columns: Vec<_> = self
            .read
            .columns
            .iter()
            .map(|column| (&column.name.value, column.kind.map(kind_name)))
            .collect();
        serde_json::json!({
            "path": self.read.path.value,
            "format": format,
            "columns": columns,
            "delimiter": char::from(self.read.delimiter),
            "floats": floats,
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
    own_meaning(cause.into()).unwrap_or_else(|cause| {
        StepError::input(ReadError::Format {
            path: read.path.value.clone(),
            cause,
        })
    })
}

/// Holds the file against its declaration. A column declared text is text to queries, whatever its cells look like.
fn check_columns(read: &Read, schema: &mut Schema) -> Result<(), StepError> {
    let path = &read.path.value;
    for column in &read.columns {
        let name = &column.name.value;
        let found: Vec<String> = schema
            .columns
            .iter()
            .map(|column| column.name.clone())
            .collect();
        let stored = schema
            .columns
            .iter_mut()
            .find(|stored| stored.name == *name)
            .ok_or_else(|| {
                StepError::input(ReadError::NoColumn {
                    path: path.clone(),
                    column: name.clone(),
                    found,
                })
            })?;
        check_type(path, column, stored)?;
    }
    Ok(())
}

fn check_type(path: &str, column: &Column, stored: &mut StoredColumn) -> Result<(), StepError> {
    let Some(declared) = column.kind else {
        return Ok(());
    };
    let is_integer = matches!(
        stored.kind,
        ColumnType::Int64
            | ColumnType::UInt64
            | ColumnType::Int32
            | ColumnType::Int16
            | ColumnType::Int8
    );
    let is_float = matches!(stored.kind, ColumnType::Float64 | ColumnType::Float32);
    let fits = match declared {
        ColumnKind::Text => {
            stored.kind = ColumnType::Text;
            true
        }
        ColumnKind::Integer => is_integer,
        ColumnKind::Number => is_integer || is_float,
        ColumnKind::Boolean => stored.kind == ColumnType::Bool,
        ColumnKind::Json => {
            stored.kind = ColumnType::Json;
            true
        }
    };
    if fits {
        return Ok(());
    }
    let found = match stored.kind {
        _ if is_integer => "integers",
        _ if is_float => "numbers with a fraction, or missing ones",
        ColumnType::Bool => "booleans",
        _ => "text",
    };
    Err(StepError::input(ReadError::OtherType {
        path: path.to_owned(),
        column: column.name.value.clone(),
        declared: kind_name(declared),
        found,
    }))
}
