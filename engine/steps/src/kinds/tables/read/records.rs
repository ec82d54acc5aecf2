//! Records (objects of JSON, documents of BSON) as a table: the declared members as columns, and the whole records.
//!
//! A column of texts holds the texts as they are. An inferred one is what `pandas.DataFrame(records)` has: whole numbers
//! become doubles beside fractions and missing ones, and everything is printed as `to_csv` prints it. Lists and objects
//! have to be declared `json`.
//!
//! Where the dialect is pandas', the records themselves are those of its table: all members in each, with the types of
//! their columns. Types depend on the whole file (or on a piece of it). Mostly they change no record: all are stored as they
//! are while the types are inferred. Where one turns out to be another in the table, the file is gone through a second time;
//! the rest of the first time, what is nested in members is passed over.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::BufRead;

use prep_core::{BoxError, Context, Failure, Inputs, StepError};
use prep_formats::json::{Nested, Printed, Value, WriteOptions, parse};
use prep_formats::pandas::{Column as StoredColumn, ColumnType, CsvWriter};
use prep_spec::model::{Column, ColumnKind};
use prep_sql::RECORD;

use super::dialect::PIECE;
use super::inferred::{Types, infer_members, infer_pieces, plain};
use super::{Read, ReadError, failed, failed_at, file_column, shortened, stored};
use crate::limits::undecodable;
use crate::placed::{Subject, blamed};
use crate::relation::for_each_file;
use crate::value::{Content, OpenContent, Opener, TableValue, TableWriter};

/// A record, and which piece of its file it belongs to.
pub(super) struct Record {
    pub whole: Whole,
    pub piece: u64,
}

/// All of a record.
pub(super) enum Whole {
    Value(Value),
    /// An object that was read without making values of it.
    Printed(Printed),
}

impl Whole {
    /// A member of an object.
    pub fn get(&self, key: &str) -> Option<Cow<'_, Value>> {
        match self {
            Whole::Value(value) => value.get(key).map(Cow::Borrowed),
            Whole::Printed(record) => record.get(key).map(Cow::Owned),
        }
    }

    pub fn into_value(self) -> Result<Value, StepError> {
        match self {
            Whole::Value(value) => Ok(value),
            Whole::Printed(record) => parse(record.text().as_bytes()).map_err(undecodable),
        }
    }

    /// Replaces a member that is there.
    fn set(&mut self, key: &str, value: Value) -> Result<(), StepError> {
        match self {
            Whole::Value(Value::Object(record)) => {
                if let Some(member) = record.get_mut(key) {
                    *member = value;
                }
                Ok(())
            }
            Whole::Value(_) => Ok(()),
            Whole::Printed(record) => record.set(key, &value).map_err(StepError::internal),
        }
    }

    /// JSON on one line, ASCII only.
    fn text(&self) -> Result<Cow<'_, str>, StepError> {
        match self {
            Whole::Value(value) => compact(value).map(Cow::Owned),
            Whole::Printed(record) => Ok(record.text().into()),
        }
    }
}

impl From<Value> for Record {
    fn from(value: Value) -> Record {
        Record {
            whole: Whole::Value(value),
            piece: 0,
        }
    }
}

/// Records of a file, one after the other.
pub(super) type Records<'r> = Box<dyn Iterator<Item = Result<Record, BoxError>> + 'r>;

/// Parses a file, given what it is called, and whether what is nested in the next record matters.
type Parse<'p> =
    dyn for<'r> Fn(&'r str, &'r Cell<Nested>, Box<dyn BufRead + 'r>) -> Records<'r> + 'p;

/// One file as a table.
pub(super) fn records(
    context: &Context,
    opener: &Opener,
    content: &Content,
    read: &Read,
    parse: &Parse<'_>,
) -> Result<TableValue, StepError> {
    let opened = opener.open(content).map_err(|cause| failed(read, cause))?;
    table(context, read, false, &|nested, act| {
        for_each(&opened, &read.path, read, nested, parse, act)
    })
}

/// The files that the input `files` names as one table.
pub(super) fn each_record(
    context: &Context,
    inputs: &Inputs,
    read: &Read,
    parse: &Parse<'_>,
) -> Result<TableValue, StepError> {
    table(context, read, true, &|nested, act| {
        for_each_file(context, inputs, &mut |file, opened| {
            for_each(opened, file, read, nested, parse, act)
        })
    })
}

/// Takes a file's name, the number of a record in it from 1, and the record.
pub(super) type Act<'a> = dyn FnMut(&str, u64, Record) -> Result<(), StepError> + 'a;

/// Goes through all records.
pub(super) type Walk<'a> = dyn Fn(&Cell<Nested>, &mut Act<'_>) -> Result<(), StepError> + 'a;

/// Makes a table of the records that `walk` hands over, of files that have names where `with_file`.
fn table(
    context: &Context,
    read: &Read,
    with_file: bool,
    walk: &Walk<'_>,
) -> Result<TableValue, StepError> {
    let declared: Vec<&Column> = read
        .columns
        .iter()
        .filter(|column| column.name.value != RECORD)
        .collect();
    let types = match read.dialect.typing() {
        None => Types::Members(infer_members(read, &declared, walk)?),
        Some(typing) => {
            let none = Types::Members(Vec::new());
            let mut rows = Rows::new(context, read, with_file, &declared)?;
            let mut keep = |path: &str, number, record| match rows.push(path, number, record, &none)
            {
                // As pandas' table has the record, it may do.
                Err(error) if error.failure() == Failure::Input => Ok(false),
                pushed => pushed.map(|()| true),
            };
            let (pieces, is_kept) = infer_pieces(context, read, typing, walk, &mut keep)?;
            let types = Types::Pieces(pieces);
            if is_kept {
                return rows.finish(&types);
            }
            types
        }
    };
    let mut rows = Rows::new(context, read, with_file, &declared)?;
    walk(&Cell::new(Nested::Read), &mut |path, number, record| {
        rows.push(path, number, record, &types)
    })?;
    rows.finish(&types)
}

/// The table under way.
struct Rows<'a> {
    read: &'a Read,
    with_file: bool,
    declared: &'a [&'a Column],
    table: TableWriter<'a>,
    hidden: BTreeSet<usize>,
}

impl<'a> Rows<'a> {
    fn new(
        context: &'a Context,
        read: &'a Read,
        with_file: bool,
        declared: &'a [&'a Column],
    ) -> Result<Rows<'a>, StepError> {
        let mut columns: Vec<StoredColumn> = with_file.then(file_column).into_iter().collect();
        columns.extend(declared.iter().map(|column| stored(column)));
        let mut hidden = BTreeSet::new();
        if read.chunksize.is_some() {
            hidden.insert(columns.len());
            columns.push(StoredColumn {
                name: PIECE.to_owned(),
                kind: ColumnType::Int64,
                nullable: false,
            });
        }
        // Who declares it wants it among the others.
        if declared.len() == read.columns.len() {
            hidden.insert(columns.len());
        }
        columns.push(StoredColumn {
            name: RECORD.to_owned(),
            kind: ColumnType::Json,
            nullable: false,
        });
        Ok(Rows {
            read,
            with_file,
            declared,
            table: TableWriter::new(context, columns)?,
            hidden,
        })
    }

    fn push(
        &mut self,
        path: &str,
        number: u64,
        record: Record,
        types: &Types,
    ) -> Result<(), StepError> {
        let table = &mut self.table;
        let before = usize::from(self.with_file);
        if self.with_file {
            table.cells().text(path);
        }
        let piece = record.piece;
        let mut record = types.record(record)?;
        if self.read.dialect.typing().is_some() {
            spell_texts(&mut record, self.declared)?;
        }
        for (index, column) in self.declared.iter().enumerate() {
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
            let cell = types.cell(index, plain(self.read, &member));
            let member = cell.as_ref().unwrap_or(&member);
            if let Some(column) = table.schema.columns.get_mut(index + before) {
                column.nullable |= is_missing(member);
            }
            write_member(table.cells(), column, member).ok_or_else(|| {
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
        if self.read.chunksize.is_some() {
            table.cells().integer(piece);
        }
        table.cells().text(&record.text()?);
        table.end_row()
    }

    fn finish(self, types: &Types) -> Result<TableValue, StepError> {
        let mut table = self.table.finish()?;
        table.hidden = self.hidden;
        table.inferred = types.inferred(self.declared);
        Ok(table)
    }
}

/// Hands over every record of a file.
fn for_each(
    opened: &OpenContent<'_>,
    path: &str,
    read: &Read,
    nested: &Cell<Nested>,
    parse: &Parse<'_>,
    act: &mut Act<'_>,
) -> Result<(), StepError> {
    let reader = opened.ahead().map_err(|cause| failed_at(path, cause))?;
    let reader = read.encoding.buffered(reader);
    for (number, record) in (1..).zip(parse(path, nested, reader)) {
        act(
            path,
            number,
            record.map_err(|cause| failed_at(path, cause))?,
        )?;
    }
    Ok(())
}

/// What is declared a text is one in pandas' table, as `astype(str)` makes it: numbers as Python prints them.
fn spell_texts(record: &mut Whole, declared: &[&Column]) -> Result<(), StepError> {
    let texts = declared.iter().filter(|one| one.kind == ColumnKind::Text);
    for column in texts {
        let name = &column.name.value;
        let text = match record.get(name).as_deref() {
            Some(Value::Float(value)) if value.is_nan() => continue,
            Some(number @ (Value::Int(_) | Value::BigInt(_) | Value::Float(_))) => {
                Value::from(compact(number)?.as_str())
            }
            Some(Value::Bool(value)) => Value::from(if *value { "True" } else { "False" }),
            _ => continue,
        };
        record.set(name, text)?;
    }
    Ok(())
}

fn is_missing(member: &Value) -> bool {
    match member {
        Value::Null => true,
        Value::Float(value) => value.is_nan(),
        other => other.as_str().is_some_and(str::is_empty),
    }
}

/// Writes a member as its declared type; none if it does not fit. Null and NaN are missing.
fn write_member(
    writer: &mut CsvWriter<impl std::io::Write>,
    column: &Column,
    member: &Value,
) -> Option<()> {
    match (column.kind, member) {
        (ColumnKind::Json, value) => writer.text(&compact(value).ok()?),
        (_, Value::Null) => writer.missing(),
        (_, Value::Float(value)) if value.is_nan() => writer.missing(),
        (ColumnKind::Inferred | ColumnKind::Integer, Value::Int(value)) => writer.integer(*value),
        (ColumnKind::Inferred, Value::BigInt(digits)) => writer.text(digits),
        (ColumnKind::Inferred | ColumnKind::Number, Value::Float(value)) => writer.f64(*value),
        (ColumnKind::Number, Value::Int(value)) => writer.f64(*value as f64),
        (ColumnKind::Number, Value::BigInt(digits)) => writer.f64(digits.parse().ok()?),
        (ColumnKind::Inferred | ColumnKind::Boolean, Value::Bool(value)) => writer.bool(*value),
        (ColumnKind::Inferred | ColumnKind::Text, Value::String(text)) => {
            writer.text(text.as_str()?);
        }
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
