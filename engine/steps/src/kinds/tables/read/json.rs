//! A JSON list of objects, or JSON lines: the declared members as columns, and the whole records.
//!
//! A column of texts holds the texts as they are. An inferred one is what `pandas.DataFrame(records)` has: whole numbers
//! become doubles beside fractions and missing ones, and everything is printed as `to_csv` prints it. Lists and objects
//! have to be declared `json`.

use std::io::{BufRead, BufReader};

use prep_core::{BoxError, Context, Failure, Inputs, StepError};
use prep_formats::json::{JsonElements, JsonLines, JsonRecords, Object, Value, WriteOptions};
use prep_formats::pandas::{Column as StoredColumn, ColumnType, CsvWriter};
use prep_spec::model::{Column, ColumnKind};
use prep_spec::words::{Holds, Word};
use prep_sql::RECORD;

use super::{FILE, Format, Read, ReadError, failed, failed_at, shortened};
use crate::placed::{Subject, blamed};
use crate::relation::for_each_file;
use crate::value::{Content, OpenContent, Opener, TableValue, TableWriter};

pub(super) const LIST: Format = Format {
    word: Word {
        name: "json",
        doc: "one JSON value, `.json`: a row per element of the list, in the hidden column `record`",
    },
    endings: &["json"],
    record: Some(Holds::Values(ColumnKind::Json)),
    read: |context, opener, content, read| {
        records(context, opener, content, read, &|reader| list(read, reader))
    },
    each: Some(|context, inputs, read| {
        each_record(context, inputs, read, &|reader| list(read, reader))
    }),
    plain: None,
};

pub(super) const LINES: Format = Format {
    word: Word {
        name: "json_lines",
        doc: "a JSON value per line, `.jsonl`, `.ndjson`: a row per line, in the hidden column `record`",
    },
    endings: &["jsonl", "ndjson"],
    record: Some(Holds::Values(ColumnKind::Json)),
    read: |context, opener, content, read| records(context, opener, content, read, &lines),
    each: Some(|context, inputs, read| each_record(context, inputs, read, &lines)),
    plain: None,
};

/// Records of a file, one after the other.
pub(super) type Records<'r> = Box<dyn Iterator<Item = Result<Value, BoxError>> + 'r>;

/// Parses a file.
type Parse<'p> = dyn for<'r> Fn(Box<dyn BufRead + 'r>) -> Records<'r> + 'p;

fn list<'r>(read: &Read, reader: Box<dyn BufRead + 'r>) -> Records<'r> {
    match &read.at {
        None => Box::new(JsonRecords::new(reader).map(|record| Ok(record?))),
        Some(path) => Box::new(elements(reader, path)),
    }
}

fn lines<'r>(reader: Box<dyn BufRead + 'r>) -> Records<'r> {
    Box::new(JsonLines::new(reader).map(|record| Ok(record?)))
}

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

/// One file as a table.
pub(super) fn records(
    context: &Context,
    opener: &Opener,
    content: &Content,
    read: &Read,
    parse: &Parse<'_>,
) -> Result<TableValue, StepError> {
    let opened = opener.open(content).map_err(|cause| failed(read, cause))?;
    table(context, read, false, &|act| {
        for_each(&opened, &read.path, read, parse, act)
    })
}

/// The files that the input `files` names as one table.
pub(super) fn each_record(
    context: &Context,
    inputs: &Inputs,
    read: &Read,
    parse: &Parse<'_>,
) -> Result<TableValue, StepError> {
    table(context, read, true, &|act| {
        for_each_file(context, inputs, &mut |file, opened| {
            for_each(opened, file, read, parse, act)
        })
    })
}

/// Takes a file's name, the number of a record in it from 1, and the record.
type Act<'a> = dyn FnMut(&str, u64, Value) -> Result<(), StepError> + 'a;

/// Makes a table of the records that `walk` hands over, of files that have names where `with_file`.
fn table(
    context: &Context,
    read: &Read,
    with_file: bool,
    walk: &dyn Fn(&mut Act<'_>) -> Result<(), StepError>,
) -> Result<TableValue, StepError> {
    let declared: Vec<&Column> = read
        .columns
        .iter()
        .filter(|column| column.name.value != RECORD)
        .collect();
    let plain = |member: &Value| read.format.plain.and_then(|plain| plain(member));
    let mut seen: Vec<Seen> = declared.iter().map(|_| Seen::default()).collect();
    if declared
        .iter()
        .any(|column| column.kind == ColumnKind::Inferred)
    {
        // What a column is depends on all of its members.
        walk(&mut |_, _, record| {
            for (column, seen) in declared.iter().zip(&mut seen) {
                let member = record.get(&column.name.value).unwrap_or(&Value::Null);
                seen.see(plain(member).as_ref().unwrap_or(member));
            }
            Ok(())
        })?;
    }
    let file = with_file.then(|| StoredColumn {
        name: FILE.to_owned(),
        kind: ColumnType::Text,
        nullable: false,
    });
    let before = usize::from(with_file);
    let mut columns: Vec<StoredColumn> = file.into_iter().collect();
    columns.extend(declared.iter().map(|column| stored(column)));
    columns.push(StoredColumn {
        name: RECORD.to_owned(),
        kind: ColumnType::Json,
        nullable: false,
    });
    let mut table = TableWriter::new(context, columns)?;
    walk(&mut |path, number, record| {
        if with_file {
            table.cells().text(path);
        }
        for (index, column) in declared.iter().enumerate() {
            let name = &column.name.value;
            let Some(member) = record.get(name) else {
                let error = ReadError::NoMember {
                    path: path.to_owned(),
                    record: number,
                    column: name.clone(),
                };
                let column = Subject::At(column.name.span);
                return Err(blamed(Failure::Input, column, error));
            };
            let plain = plain(member);
            let member = plain.as_ref().unwrap_or(member);
            let is_missing =
                matches!(member, Value::Null) || member.as_str().is_some_and(str::is_empty);
            if let Some(column) = table.schema.columns.get_mut(index + before) {
                column.nullable |= is_missing;
            }
            let seen = seen.get(index).copied().unwrap_or_default();
            write_member(table.cells(), column, member, seen).ok_or_else(|| {
                let error = ReadError::OtherMember {
                    path: path.to_owned(),
                    record: number,
                    column: name.clone(),
                    declared: column.kind.name(),
                    found: shown(member),
                };
                blamed(Failure::Input, Subject::At(column.name.span), error)
            })?;
        }
        table.cells().text(&compact(&record)?);
        table.end_row()
    })?;
    let mut table = table.finish()?;
    table.has_record = true;
    Ok(table)
}

/// Hands over every record of a file.
fn for_each(
    opened: &OpenContent<'_>,
    path: &str,
    read: &Read,
    parse: &Parse<'_>,
    act: &mut Act<'_>,
) -> Result<(), StepError> {
    let reader = BufReader::with_capacity(
        1 << 18,
        opened.reader().map_err(|cause| failed_at(path, cause))?,
    );
    let reader = BufReader::new(read.encoding.reader(reader));
    for (number, record) in (1..).zip(parse(Box::new(reader))) {
        act(
            path,
            number,
            record.map_err(|cause| failed_at(path, cause))?,
        )?;
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
