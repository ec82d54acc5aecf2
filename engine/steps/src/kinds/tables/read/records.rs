//! Records (objects of JSON, documents of BSON) as a table: the declared members as columns, and the whole records.
//!
//! A column of texts holds the texts as they are. An inferred one is what `pandas.DataFrame(records)` has: whole numbers
//! become doubles beside fractions and missing ones, and everything is printed as `to_csv` prints it. Lists and objects
//! have to be declared `json`.
//!
//! Where the dialect is pandas', the records themselves are those of its table: all members in each, with the types of
//! their columns. Types depend on the whole file (or on a piece of it), so it is gone through twice; the
//! first time, what is nested in members is passed over.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use prep_core::{BoxError, Context, Failure, Inputs, StepError};
use prep_formats::json::{
    Columns, Frame, FrameError, Inference, Inferred, Nested, Object, Typing, Value, WriteOptions,
};
use prep_formats::pandas::{Column as StoredColumn, ColumnType, CsvWriter};
use prep_spec::model::{Column, ColumnKind};
use prep_sql::RECORD;

use super::dialect::PIECE;
use super::{Read, ReadError, failed, failed_at, file_column, shortened, stored};
use crate::placed::{Subject, blamed};
use crate::relation::for_each_file;
use crate::value::{Content, OpenContent, Opener, TableValue, TableWriter};

/// A record, and which piece of its file it belongs to.
pub(super) struct Record {
    pub value: Value,
    pub piece: u64,
}

impl From<Value> for Record {
    fn from(value: Value) -> Record {
        Record { value, piece: 0 }
    }
}

/// Records of a file, one after the other.
pub(super) type Records<'r> = Box<dyn Iterator<Item = Result<Record, BoxError>> + 'r>;

/// Parses a file, given what it is called, and whether what is nested in records matters.
type Parse<'p> = dyn for<'r> Fn(&'r str, Nested, Box<dyn BufRead + 'r>) -> Records<'r> + 'p;

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
type Act<'a> = dyn FnMut(&str, u64, Record) -> Result<(), StepError> + 'a;

/// Goes through all records.
type Walk<'a> = dyn Fn(Nested, &mut Act<'_>) -> Result<(), StepError> + 'a;

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
        Some(typing) => Types::Pieces(infer_pieces(context, read, typing, walk)?),
    };
    let before = usize::from(with_file);
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
    let mut table = TableWriter::new(context, columns)?;
    walk(Nested::Read, &mut |path, number, record| {
        if with_file {
            table.cells().text(path);
        }
        let piece = record.piece;
        let mut record = types.record(record)?;
        if let (Types::Pieces(_), Value::Object(record)) = (&types, &mut record) {
            spell_texts(record, &declared)?;
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
            let cell = types.cell(index, plain(read, member));
            let member = cell.as_ref().unwrap_or(member);
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
        if read.chunksize.is_some() {
            table.cells().integer(piece);
        }
        table.cells().text(&compact(&record)?);
        table.end_row()
    })?;
    let mut table = table.finish()?;
    table.hidden = hidden;
    table.inferred = types.inferred(&declared);
    Ok(table)
}

/// Hands over every record of a file.
fn for_each(
    opened: &OpenContent<'_>,
    path: &str,
    read: &Read,
    nested: Nested,
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

/// What pandas takes columns for.
enum Types {
    /// The inferred ones of the declared columns; records stay as they are.
    Members(Vec<Option<Inferred>>),
    /// All columns, piece by piece of the file; records follow.
    Pieces(BTreeMap<u64, Columns>),
}

impl Types {
    fn record(&self, record: Record) -> Result<Value, StepError> {
        match (self, record.value) {
            (Types::Members(_), value) => Ok(value),
            (Types::Pieces(pieces), Value::Object(object)) => {
                let columns = pieces.get(&record.piece);
                let columns =
                    columns.ok_or_else(|| StepError::internal("a piece without types"))?;
                Ok(Value::Object(columns.record(object)))
            }
            (Types::Pieces(_), _) => Err(StepError::internal("a record that is no object")),
        }
    }

    /// The cell of the declared column `index`, where it is another value than the member.
    fn cell(&self, index: usize, plain: Plain<'_>) -> Option<Value> {
        let inferred = match self {
            Types::Members(inferred) => inferred.get(index).copied().flatten(),
            Types::Pieces(_) => None,
        };
        match (inferred, plain) {
            (Some(inferred), Plain::Other(value)) => Some(inferred.value(Some(value))),
            (Some(inferred), Plain::Same(value)) => Some(inferred.value(Some(value.clone()))),
            (None, Plain::Other(value)) => Some(value),
            (None, Plain::Same(_)) => None,
        }
    }

    /// What the inferred columns are, where all pieces agree.
    fn inferred(&self, declared: &[&Column]) -> BTreeMap<String, ColumnType> {
        let kind = |index: usize, name: &str| match self {
            Types::Members(inferred) => inferred.get(index).copied().flatten().map(|one| one.kind),
            Types::Pieces(pieces) => {
                let mut kinds = pieces.values().map(|columns| columns.kind(name));
                let first = kinds.next().flatten();
                first.filter(|first| kinds.all(|kind| kind == Some(*first)))
            }
        };
        let inferred = declared.iter().enumerate();
        let inferred = inferred.filter(|(_, column)| column.kind == ColumnKind::Inferred);
        inferred
            .filter_map(|(index, column)| {
                let name = &column.name.value;
                let kind = kind(index, name).filter(|kind| *kind != ColumnType::Text)?;
                Some((name.clone(), kind))
            })
            .collect()
    }
}

/// What the declared columns are that are inferred.
fn infer_members(
    read: &Read,
    declared: &[&Column],
    walk: &Walk<'_>,
) -> Result<Vec<Option<Inferred>>, StepError> {
    let is_inferred = |column: &&Column| column.kind == ColumnKind::Inferred;
    if !declared.iter().any(is_inferred) {
        return Ok(Vec::new());
    }
    let mut seen: Vec<Inference> = declared.iter().map(|_| Inference::default()).collect();
    walk(Nested::PassedOver, &mut |_, _, record| {
        for (column, seen) in declared.iter().zip(&mut seen) {
            let member = record.value.get(&column.name.value);
            seen.see(Some(match member.map(|member| plain(read, member)) {
                None => &Value::Null,
                Some(Plain::Same(member)) => member,
                Some(Plain::Other(ref member)) => member,
            }));
        }
        Ok(())
    })?;
    let seen = declared.iter().zip(seen);
    let inferred = seen.map(|(column, seen)| {
        let inferred = is_inferred(column);
        inferred.then(|| seen.finish(Typing::DataFrame))
    });
    Ok(inferred.collect())
}

/// What all columns are, piece by piece.
fn infer_pieces(
    context: &Context,
    read: &Read,
    typing: Typing,
    walk: &Walk<'_>,
) -> Result<BTreeMap<u64, Columns>, StepError> {
    let failed = |cause: FrameError| {
        let error = ReadError::Format {
            path: read.path.clone(),
            cause: cause.into(),
        };
        blamed(Failure::Input, Subject::Key("dialect"), error)
    };
    let mut pieces = BTreeMap::new();
    let mut current: Option<(u64, Frame)> = None;
    walk(Nested::PassedOver, &mut |_, _, record| {
        context.check()?;
        if let Some((piece, frame)) = current.take_if(|(piece, _)| *piece != record.piece) {
            pieces.insert(piece, frame.finish().map_err(failed)?);
        }
        let (_, frame) = current.get_or_insert_with(|| (record.piece, Frame::new(typing)));
        frame.see(&record.value).map_err(failed)
    })?;
    if let Some((piece, frame)) = current {
        pieces.insert(piece, frame.finish().map_err(failed)?);
    }
    Ok(pieces)
}

/// A member as a plain value: as it is, or in place of what the format has its own spelling for.
enum Plain<'m> {
    Same(&'m Value),
    Other(Value),
}

fn plain<'m>(read: &Read, member: &'m Value) -> Plain<'m> {
    let plain = read.format.plain.and_then(|plain| plain(member));
    plain.map_or(Plain::Same(member), Plain::Other)
}

/// What is declared a text is one in pandas' table, as `astype(str)` makes it: numbers as Python prints them.
fn spell_texts(record: &mut Object, declared: &[&Column]) -> Result<(), StepError> {
    let texts = declared.iter().filter(|one| one.kind == ColumnKind::Text);
    for column in texts {
        if let Some(member) = record.get_mut(&column.name.value) {
            match member {
                Value::Float(value) if value.is_nan() => {}
                Value::Int(_) | Value::BigInt(_) | Value::Float(_) => {
                    *member = Value::from(compact(member)?.as_str());
                }
                Value::Bool(value) => *member = Value::from(if *value { "True" } else { "False" }),
                _ => {}
            }
        }
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
