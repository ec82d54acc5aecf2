//! A JSON list of objects, or JSON lines: the declared members as columns, and the whole records.
//!
//! A column of texts holds the texts as they are. An inferred one is what `pandas.DataFrame(records)` has: whole numbers
//! become doubles beside fractions and missing ones, and everything is printed as `to_csv` prints it. Lists and objects
//! have to be declared `json`.

use std::io::{BufRead, BufReader};

use prep_core::{BoxError, Context, StepError};
use prep_formats::json::{JsonElements, JsonLines, JsonRecords, Object, Value, WriteOptions};
use prep_formats::pandas::{Column as StoredColumn, ColumnType, CsvWriter};
use prep_spec::model::{Column, ColumnKind};
use prep_spec::words::{Holds, Word};
use prep_sql::RECORD;

use super::{Format, Read, ReadError, failed, shortened};
use crate::value::{Content, Opener, TableValue, TableWriter};

pub(super) const LIST: Format = Format {
    word: Word {
        name: "json",
        doc: "one JSON value, `.json`: a row per element of the list, in the hidden column `record`",
    },
    endings: &["json"],
    record: Some(Holds::Values(ColumnKind::Json)),
    read: |context, opener, content, read| {
        records(context, opener, content, read, &|reader| match &read.at {
            None => Box::new(JsonRecords::new(reader).map(|record| Ok(record?))),
            Some(path) => Box::new(elements(reader, path)),
        })
    },
};

pub(super) const LINES: Format = Format {
    word: Word {
        name: "json_lines",
        doc: "a JSON value per line, `.jsonl`, `.ndjson`: a row per line, in the hidden column `record`",
    },
    endings: &["jsonl", "ndjson"],
    record: Some(Holds::Values(ColumnKind::Json)),
    read: |context, opener, content, read| {
        records(context, opener, content, read, &|reader| {
            Box::new(JsonLines::new(reader).map(|record| Ok(record?)))
        })
    },
};

/// Records of a file, one after the other.
pub(super) type Records<'r> = Box<dyn Iterator<Item = Result<Value, BoxError>> + 'r>;

/// The elements at a path; of an object a record with `key` and `value` for each member.
fn elements<R: BufRead>(
    reader: R,
    path: &str,
) -> impl Iterator<Item = Result<Value, BoxError>> + use<R> {
    let steps = path.split('.').filter(|step| !step.is_empty());
    let steps: Vec<String> = steps.map(str::to_owned).collect();
    JsonElements::new(reader, steps).map(|element| {
        Ok(match element? {
            (None, value) => value,
            (Some(key), value) => {
                let mut record = Object::new();
                record.insert("key".into(), Value::String(key));
                record.insert("value".into(), value);
                Value::Object(record)
            }
        })
    })
}

pub(super) fn records(
    context: &Context,
    opener: &Opener,
    content: &Content,
    read: &Read,
    parse: &dyn for<'r> Fn(Box<dyn BufRead + 'r>) -> Records<'r>,
) -> Result<TableValue, StepError> {
    let declared: Vec<&Column> = read
        .columns
        .iter()
        .filter(|column| column.name.value != RECORD)
        .collect();
    let mut seen: Vec<Seen> = declared.iter().map(|_| Seen::default()).collect();
    if declared
        .iter()
        .any(|column| column.kind == ColumnKind::Inferred)
    {
        // What a column is depends on all of its members.
        for_each(opener, content, read, parse, |_, record| {
            for (column, seen) in declared.iter().zip(&mut seen) {
                seen.see(record.get(&column.name.value).unwrap_or(&Value::Null));
            }
            Ok(())
        })?;
    }
    let mut columns: Vec<StoredColumn> = declared.iter().map(|column| stored(column)).collect();
    columns.push(StoredColumn {
        name: RECORD.to_owned(),
        kind: ColumnType::Json,
        nullable: false,
    });
    let mut table = TableWriter::new(context, columns)?;
    for_each(opener, content, read, parse, |number, record| {
        for (index, column) in declared.iter().enumerate() {
            let name = &column.name.value;
            let Some(member) = record.get(name) else {
                let error = ReadError::NoMember {
                    path: read.path.clone(),
                    record: number,
                    column: name.clone(),
                };
                return Err(StepError::input(error));
            };
            let is_missing =
                matches!(member, Value::Null) || member.as_str().is_some_and(str::is_empty);
            if let Some(column) = table.schema.columns.get_mut(index) {
                column.nullable |= is_missing;
            }
            let seen = seen.get(index).copied().unwrap_or_default();
            write_member(table.cells(), column, member, seen).ok_or_else(|| {
                StepError::input(ReadError::OtherMember {
                    path: read.path.clone(),
                    record: number,
                    column: name.clone(),
                    declared: column.kind.name(),
                    found: shown(member),
                })
            })?;
        }
        table.cells().text(&compact(&record)?);
        table.end_row()
    })?;
    let mut table = table.finish()?;
    table.has_record = true;
    Ok(table)
}

/// Hands over every record, with its number from 1.
fn for_each(
    opener: &Opener,
    content: &Content,
    read: &Read,
    parse: &dyn for<'r> Fn(Box<dyn BufRead + 'r>) -> Records<'r>,
    mut act: impl FnMut(u64, Value) -> Result<(), StepError>,
) -> Result<(), StepError> {
    let opened = opener.open(content).map_err(|cause| failed(read, cause))?;
    let reader = BufReader::with_capacity(
        1 << 18,
        opened.reader().map_err(|cause| failed(read, cause))?,
    );
    let reader = BufReader::new(read.encoding.reader(reader));
    for (number, record) in (1..).zip(parse(Box::new(reader))) {
        act(number, record.map_err(|cause| failed(read, cause))?)?;
    }
    Ok(())
}

/// What the members of a column are, for a column that is inferred.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    integer: bool,
    fraction: bool,
    missing: bool,
    /// Texts, booleans: the column is of objects, each printed for itself.
    other: bool,
}

impl Seen {
    fn see(&mut self, member: &Value) {
        match member {
            Value::Null => self.missing = true,
            Value::Int(_) | Value::BigInt(_) => self.integer = true,
            Value::Float(value) => {
                self.fraction = true;
                self.missing |= value.is_nan();
            }
            _ => self.other = true,
        }
    }

    /// Whether pandas makes doubles of the integers: beside fractions or missing values, when there are numbers only.
    fn are_doubles(self) -> bool {
        !self.other && (self.fraction || self.missing)
    }
}

fn stored(column: &Column) -> StoredColumn {
    let kind = match column.kind {
        ColumnKind::Text | ColumnKind::Inferred => ColumnType::Text,
        ColumnKind::Integer => ColumnType::Int64,
        ColumnKind::Number => ColumnType::Float64,
        ColumnKind::Boolean => ColumnType::Bool,
        ColumnKind::Json => ColumnType::Json,
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
    seen: Seen,
) -> Option<()> {
    match (column.kind, member) {
        (ColumnKind::Json, value) => writer.text(&compact(value).ok()?),
        (_, Value::Null) => writer.missing(),
        (ColumnKind::Inferred, Value::Int(value)) if seen.are_doubles() => {
            writer.f64(*value as f64);
        }
        (ColumnKind::Inferred, Value::Int(value)) => writer.integer(*value),
        (ColumnKind::Inferred, Value::BigInt(digits)) if seen.are_doubles() => {
            writer.f64(digits.parse().ok()?);
        }
        (ColumnKind::Inferred, Value::BigInt(digits)) => writer.text(digits),
        (ColumnKind::Inferred, Value::Float(value)) => writer.f64(*value),
        (ColumnKind::Inferred, Value::Bool(value)) => writer.bool(*value),
        (ColumnKind::Inferred, Value::String(text)) => writer.text(text.as_str()?),
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
