//! Reads records (JSON objects, BSON documents) as a table: the declared members as columns, and the entire records.
//!
//! A column of texts contains the texts unchanged. An inferred column is the one of `pandas.DataFrame(records)`:
//! integers become doubles if the column also has fractions or missing values, and values are printed like `to_csv`.
//! Lists and objects must be declared `json`.
//!
//! With a dialect of pandas, the records themselves become rows of pandas' table: each record has all members, with the
//! types of their columns. The types depend on the entire file or on a chunk of it, but they rarely change a record.
//! Therefore all records are stored unchanged while the types are inferred. If the table would change a record, a
//! second pass over the file is needed. In the remainder of the first pass, nested values are skipped.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::BufRead;

use prep_core::{BoxError, Context, Failure, StepError};
use prep_formats::json::{FormattedObject, JsonValue, NestedValues, WriteOptions, parse};
use prep_formats::pandas::{ColumnSchema as StoredColumn, ColumnType, CsvWriter};
use prep_spec::model::{Column, ColumnKind};
use prep_spec::shortened;
use prep_sql::RECORD_COLUMN;

use super::dialect::CHUNK_COLUMN;
use super::inferred::{MemberTypes, infer_chunks, infer_members, plain};
use super::{MAX_SHOWN_CHARACTERS, ReadError, ReadSpec, failed, stored};
use crate::limits::undecodable;
use crate::located::{Subject, error_at};
use crate::value::{ContentRef, OpenContent, Opener, TableValue, TableWriter, column};

/// A record, and the number of its chunk.
pub(super) struct Record {
    pub content: RecordContent,
    pub chunk: u64,
}

/// An entire record.
pub(super) enum RecordContent {
    Value(JsonValue),
    /// An object as normalized text, without parsed values.
    Printed(FormattedObject),
}

impl RecordContent {
    /// A member of an object.
    pub fn get(&self, key: &str) -> Option<Cow<'_, JsonValue>> {
        match self {
            RecordContent::Value(value) => value.get(key).map(Cow::Borrowed),
            RecordContent::Printed(record) => record.get(key).map(Cow::Owned),
        }
    }

    pub fn into_value(self) -> Result<JsonValue, StepError> {
        match self {
            RecordContent::Value(value) => Ok(value),
            RecordContent::Printed(record) => parse(record.text().as_bytes()).map_err(undecodable),
        }
    }

    /// Replaces an existing member.
    fn set(&mut self, key: &str, value: JsonValue) -> Result<(), StepError> {
        match self {
            RecordContent::Value(JsonValue::Object(record)) => {
                if let Some(member) = record.get_mut(key) {
                    *member = value;
                }
                Ok(())
            }
            RecordContent::Value(_) => Ok(()),
            RecordContent::Printed(record) => record.set(key, &value).map_err(StepError::internal),
        }
    }

    /// Returns the record as JSON on one line, ASCII only.
    fn text(&self) -> Result<Cow<'_, str>, StepError> {
        match self {
            RecordContent::Value(value) => compact(value).map(Cow::Owned),
            RecordContent::Printed(record) => Ok(record.text().into()),
        }
    }
}

impl From<JsonValue> for Record {
    fn from(value: JsonValue) -> Record {
        Record {
            content: RecordContent::Value(value),
            chunk: 0,
        }
    }
}

/// The records of a file, one after another.
pub(super) type Records<'r> = Box<dyn Iterator<Item = Result<Record, BoxError>> + 'r>;

/// Parses a file. The flag determines whether nested values of the next record are parsed.
type Parse = for<'r> fn(
    &Context,
    &'r ReadSpec,
    &'r Cell<NestedValues>,
    Box<dyn BufRead + 'r>,
) -> Records<'r>;

/// A file of records.
pub(super) struct RecordFile<'a> {
    pub context: &'a Context,
    pub read: &'a ReadSpec,
    opened: OpenContent<'a>,
    parse: Parse,
}

impl RecordFile<'_> {
    /// Length in bytes.
    pub fn bytes(&self) -> u64 {
        self.opened.bytes()
    }

    /// Calls `act` with the number of each record, from 1, and the record.
    pub fn for_each(
        &self,
        nested: &Cell<NestedValues>,
        act: &mut dyn FnMut(u64, Record) -> Result<(), StepError>,
    ) -> Result<(), StepError> {
        let failed = |cause| failed(self.read, cause);
        let reader = self.opened.read_ahead().map_err(BoxError::from);
        let reader = self.read.encoding.buffered(reader.map_err(failed)?);
        for (number, record) in (1..).zip((self.parse)(self.context, self.read, nested, reader)) {
            act(number, record.map_err(failed)?)?;
        }
        Ok(())
    }
}

/// Reads a file as a table.
pub(super) fn records(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    read: &ReadSpec,
    parse: Parse,
) -> Result<TableValue, StepError> {
    let file = RecordFile {
        context,
        read,
        opened: opener.open(content).map_err(|cause| failed(read, cause))?,
        parse,
    };
    let declared: Vec<&Column> = read
        .columns
        .iter()
        .filter(|column| column.name.value != RECORD_COLUMN)
        .collect();
    let types = match read.dialect.typing() {
        None => MemberTypes::Members(infer_members(&file, &declared)?),
        Some(typing) => {
            let none = MemberTypes::Members(Vec::new());
            let mut rows = RecordTable::new(context, read, &declared)?;
            let mut keep = |number, record| match rows.push(number, record, &none) {
                // The record may become valid when it is converted to pandas' table.
                Err(error) if error.failure() == Failure::Input => Ok(false),
                pushed => pushed.map(|()| true),
            };
            let (chunks, is_kept) = infer_chunks(&file, typing, &mut keep)?;
            let types = MemberTypes::Chunks(chunks);
            if is_kept {
                return rows.finish(&types);
            }
            types
        }
    };
    let mut rows = RecordTable::new(context, read, &declared)?;
    file.for_each(&Cell::new(NestedValues::Read), &mut |number, record| {
        rows.push(number, record, &types)
    })?;
    rows.finish(&types)
}

/// The table that is being written.
struct RecordTable<'a> {
    read: &'a ReadSpec,
    declared: &'a [&'a Column],
    table: TableWriter<'a>,
    hidden: BTreeSet<usize>,
}

impl<'a> RecordTable<'a> {
    fn new(
        context: &'a Context,
        read: &'a ReadSpec,
        declared: &'a [&'a Column],
    ) -> Result<RecordTable<'a>, StepError> {
        let mut columns: Vec<StoredColumn> = declared.iter().map(|column| stored(column)).collect();
        let mut hidden = BTreeSet::new();
        if read.chunksize.is_some() {
            hidden.insert(columns.len());
            columns.push(column(CHUNK_COLUMN, ColumnType::Int64, false));
        }
        // A declared column `record` is not hidden.
        if declared.len() == read.columns.len() {
            hidden.insert(columns.len());
        }
        columns.push(column(RECORD_COLUMN, ColumnType::Json, false));
        Ok(RecordTable {
            read,
            declared,
            table: TableWriter::new(context, columns)?,
            hidden,
        })
    }

    fn push(&mut self, number: u64, record: Record, types: &MemberTypes) -> Result<(), StepError> {
        let table = &mut self.table;
        let chunk = record.chunk;
        let mut record = types.record(record)?;
        if self.read.dialect.typing().is_some() {
            convert_texts(&mut record, self.declared)?;
        }
        for (index, column) in self.declared.iter().enumerate() {
            let name = &column.name.value;
            let Some(member) = record.get(name) else {
                let error = ReadError::NoMember {
                    path: self.read.path.clone(),
                    record: number,
                    column: name.clone(),
                };
                let column = Subject::At(column.name.span);
                return Err(error_at(Failure::Input, column, error));
            };
            let cell = types.cell(index, plain(self.read, &member));
            let member = cell.as_ref().unwrap_or(&member);
            if let Some(column) = table.schema.columns.get_mut(index) {
                column.nullable |= is_missing(member);
            }
            write_member(table.cells(), column, member).ok_or_else(|| {
                let error = ReadError::OtherMember {
                    path: self.read.path.clone(),
                    record: number,
                    column: name.clone(),
                    declared: column.kind.name(),
                    found: value_start(member),
                };
                error_at(Failure::Input, Subject::At(column.name.span), error)
            })?;
        }
        if self.read.chunksize.is_some() {
            table.cells().integer(chunk);
        }
        table.cells().text(&record.text()?);
        table.end_row()
    }

    fn finish(self, types: &MemberTypes) -> Result<TableValue, StepError> {
        let mut table = self.table.finish()?;
        table.hidden = self.hidden;
        table.inferred = types.inferred(self.declared);
        Ok(table)
    }
}

/// Converts members that are declared text like pandas' `astype(str)`: numbers as Python prints them.
fn convert_texts(record: &mut RecordContent, declared: &[&Column]) -> Result<(), StepError> {
    let texts = declared.iter().filter(|one| one.kind == ColumnKind::Text);
    for column in texts {
        let name = &column.name.value;
        let text = match record.get(name).as_deref() {
            Some(JsonValue::Float(value)) if value.is_nan() => continue,
            Some(number @ (JsonValue::Int(_) | JsonValue::BigInt(_) | JsonValue::Float(_))) => {
                JsonValue::from(compact(number)?.as_str())
            }
            Some(JsonValue::Bool(value)) => JsonValue::from(if *value { "True" } else { "False" }),
            _ => continue,
        };
        record.set(name, text)?;
    }
    Ok(())
}

fn is_missing(member: &JsonValue) -> bool {
    match member {
        JsonValue::Null => true,
        JsonValue::Float(value) => value.is_nan(),
        other => other.as_str().is_some_and(str::is_empty),
    }
}

/// Writes a member as its declared type. `None` if it does not fit. Null and NaN are missing.
fn write_member(
    writer: &mut CsvWriter<impl std::io::Write>,
    column: &Column,
    member: &JsonValue,
) -> Option<()> {
    match (column.kind, member) {
        (ColumnKind::Json, value) => writer.text(&compact(value).ok()?),
        (_, JsonValue::Null) => writer.missing(),
        (_, JsonValue::Float(value)) if value.is_nan() => writer.missing(),
        (ColumnKind::Inferred | ColumnKind::Integer, JsonValue::Int(value)) => {
            writer.integer(*value)
        }
        (ColumnKind::Inferred, JsonValue::BigInt(digits)) => writer.text(digits),
        (ColumnKind::Inferred | ColumnKind::Number, JsonValue::Float(value)) => writer.f64(*value),
        (ColumnKind::Number, JsonValue::Int(value)) => writer.f64(*value as f64),
        (ColumnKind::Number, JsonValue::BigInt(digits)) => writer.f64(digits.parse().ok()?),
        (ColumnKind::Inferred | ColumnKind::Boolean, JsonValue::Bool(value)) => writer.bool(*value),
        (ColumnKind::Inferred | ColumnKind::Text, JsonValue::String(text)) => {
            writer.text(text.as_str()?);
        }
        _ => return None,
    }
    Some(())
}

/// Returns JSON on one line, ASCII only, so that unpaired surrogates are preserved as escapes.
fn compact(value: &JsonValue) -> Result<String, StepError> {
    let text = value
        .to_json(&WriteOptions::default())
        .map_err(StepError::input)?;
    String::from_utf8(text).map_err(StepError::internal)
}

/// Returns the beginning of a value, for messages.
fn value_start(value: &JsonValue) -> String {
    shortened(&compact(value).unwrap_or_default(), MAX_SHOWN_CHARACTERS)
}
