//! A JSON list of objects, or JSON lines: the declared members as columns, and the whole records.

use std::io::BufReader;

use prep_core::{Context, StepError};
use prep_formats::json::{JsonLines, JsonRecords, Value, WriteOptions};
use prep_formats::pandas::{Column as StoredColumn, ColumnType, CsvWriter};
use prep_spec::model::{Column, ColumnKind, Format, Read};
use prep_sql::RECORD;

use super::{ReadError, failed, kind_name, shortened};
use crate::value::{Content, Opener, TableValue, TableWriter};

pub(super) fn read(
    context: &Context,
    opener: &Opener,
    content: &Content,
    read: &Read,
) -> Result<TableValue, StepError> {
    let opened = opener.open(content).map_err(|cause| failed(read, cause))?;
    let reader = BufReader::with_capacity(
        1 << 18,
        opened.reader().map_err(|cause| failed(read, cause))?,
    );
    let records: Box<dyn Iterator<Item = Result<Value, prep_formats::json::JsonError>>> =
        match read.format {
            Format::JsonLines => Box::new(JsonLines::new(reader)),
            _ => Box::new(JsonRecords::new(reader)),
        };
    let declared: Vec<&Column> = read
        .columns
        .iter()
        .filter(|column| column.name.value != RECORD)
        .collect();
    let mut columns: Vec<StoredColumn> = declared.iter().map(|column| stored(column)).collect();
    columns.push(StoredColumn {
        name: RECORD.to_owned(),
        kind: ColumnType::Json,
        nullable: false,
    });
    let mut table = TableWriter::new(context, columns)?;
    for record in records {
        let record = record.map_err(|cause| failed(read, cause))?;
        let number = table.schema.rows + 1;
        for (index, column) in declared.iter().enumerate() {
            let name = &column.name.value;
            let Some(member) = record.get(name) else {
                let error = ReadError::NoMember {
                    path: read.path.value.clone(),
                    record: number,
                    column: name.clone(),
                };
                return Err(StepError::input(error));
            };
            let is_missing =
                matches!(member, Value::Null) || member.as_str().is_some_and(str::is_empty);
            table.schema.columns[index].nullable |= is_missing;
            write_member(table.cells(), column, member).ok_or_else(|| {
                StepError::input(ReadError::OtherMember {
                    path: read.path.value.clone(),
                    record: number,
                    column: name.clone(),
                    declared: kind_name(column.kind),
                    found: shown(member),
                })
            })?;
        }
        table.cells().text(&compact(&record)?);
        table.end_row()?;
    }
    let mut table = table.finish()?;
    table.has_record = true;
    Ok(table)
}

fn stored(column: &Column) -> StoredColumn {
    let kind = match column.kind {
        ColumnKind::Text => ColumnType::Text,
        ColumnKind::Integer => ColumnType::Int64,
        ColumnKind::Number => ColumnType::Float64,
        ColumnKind::Boolean => ColumnType::Bool,
        ColumnKind::Json | ColumnKind::Inferred => ColumnType::Json,
    };
    StoredColumn {
        name: column.name.value.clone(),
        kind,
        nullable: false,
    }
}

/// Writes a member as its declared type; none if it does not fit. Null is missing.
fn write_member(
    writer: &mut CsvWriter<impl std::io::Write>,
    column: &Column,
    member: &Value,
) -> Option<()> {
    match (column.kind, member) {
        (ColumnKind::Json | ColumnKind::Inferred, value) => writer.text(&compact(value).ok()?),
        (_, Value::Null) => writer.missing(),
        (ColumnKind::Text, Value::String(text)) => writer.text(text.as_str()?),
        (ColumnKind::Integer, Value::Int(value)) => writer.integer(*value),
        (ColumnKind::Number, Value::Int(value)) => writer.f64(*value as f64),
        (ColumnKind::Number, Value::Float(value)) => writer.f64(*value),
        (ColumnKind::Boolean, Value::Bool(value)) => writer.bool(*value),
        _ => return None,
    }
    Some(())
}

/// JSON on one line, ASCII only: halves of surrogate pairs survive in escaped form.
fn compact(value: &Value) -> Result<String, StepError> {
    let text = value
        .to_json(&WriteOptions::default())
        .map_err(StepError::input)?;
    String::from_utf8(text).map_err(StepError::internal)
}

/// The beginning of a value, for messages.
fn shown(value: &Value) -> String {
    shortened(&compact(value).unwrap_or_default())
}
