//! Reads records (JSON objects, BSON documents) as a table: the declared members, and the entire records.
//!
//! A column declared `inferred` has the values that `to_csv` prints for `pandas.DataFrame(records)`. For example, integers
//! become doubles if the column also has fractions. Lists and objects must be declared `json`.
//!
//! If the pipeline declares a dialect of pandas, each record becomes a row of the table that pandas would create. This
//! table has a column for every member of any record. The types of the columns are known only at the end of the file, but
//! rarely change a record.
//!
//! Therefore the first pass infers types and stores unchanged records. If a type changes a record, the rest of the first
//! pass only infers types. Then a second pass reads the file again and stores all records.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use prep_core::{BoxError, Context, Failure, StepError};
use prep_formats::json::{
    FormattedObject, FrameBuilder, FrameColumns, FrameError, FrameFunction, JsonColumnType,
    JsonInference, JsonValue, NestedValues, WriteOptions, parse,
};
use prep_formats::pandas::{ColumnSchema as StoredColumn, ColumnType, CsvWriter};
use prep_spec::model::{Column, ColumnKind};
use prep_spec::shortened;
use prep_sql::RECORD_COLUMN;

use super::{MAX_SHOWN_CHARACTERS, ReadError, ReadSpec, failed, stored};
use crate::limits::{FileError, limits, undecodable, undecodable_file};
use crate::located::{Subject, error_at};
use crate::value::{ContentRef, OpenContent, Opener, TableValue, TableWriter, column};

/// Name of the column with the number of a row's chunk. A chunk is the `chunksize` lines that pandas reads as one
/// table.
pub(super) const CHUNK_COLUMN: &str = "piece";

pub(super) struct Record {
    pub content: RecordContent,
    pub chunk: u64,
}

pub(super) enum RecordContent {
    Value(JsonValue),
    /// An object as normalized text, without parsed values.
    Printed(FormattedObject),
}

impl RecordContent {
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

    /// Returns the record as JSON on one line, in ASCII.
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

pub(super) type Records<'r> = Box<dyn Iterator<Item = Result<Record, BoxError>> + 'r>;

/// Parses a file of records. The `Cell` determines whether nested values are parsed, and may change between records.
type Parse = for<'r> fn(
    &Context,
    &'r ReadSpec,
    &'r Cell<NestedValues>,
    Box<dyn BufRead + 'r>,
) -> Records<'r>;

struct RecordFile<'a> {
    pub context: &'a Context,
    pub read: &'a ReadSpec,
    opened: OpenContent<'a>,
    parse: Parse,
}

impl RecordFile<'_> {
    pub fn bytes(&self) -> u64 {
        self.opened.bytes()
    }

    /// Calls `act` for each record and its number (from 1). `nested` determines whether nested values are parsed.
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

/// Reads a file of records as a table, see the module's documentation. `parse` returns the records of the file's
/// format.
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
            let unchanged = MemberTypes::Members(Vec::new());
            let mut rows = RecordTable::new(context, read, &declared)?;
            let mut keep = |number, record| match rows.push(number, record, &unchanged) {
                // The record lacks a declared member, or the member has another type. The row of pandas' table may have
                // a valid cell instead, so the second pass must decide.
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

/// Writes the table of records: one column per declared member, and the column `record`.
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

/// Converts members declared `text` to the strings that Python prints, as `astype(str)` does.
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

/// Writes a member as a cell of the column's declared type. Returns `None` if the member has another type. Null and NaN
/// become missing cells, except in `json` columns.
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

/// Returns a value as JSON on one line, in ASCII. Unpaired surrogates become escapes.
fn compact(value: &JsonValue) -> Result<String, StepError> {
    let text = value
        .to_json(&WriteOptions::default())
        .map_err(StepError::input)?;
    String::from_utf8(text).map_err(StepError::internal)
}

/// Returns the beginning of a value's JSON, for messages.
fn value_start(value: &JsonValue) -> String {
    shortened(&compact(value).unwrap_or_default(), MAX_SHOWN_CHARACTERS)
}

enum MemberTypes {
    /// Dialect `python`: the inferred type of each column that is declared `inferred`, and `None` for each other declared
    /// column. Records stay unchanged.
    Members(Vec<Option<JsonColumnType>>),
    /// Dialects of pandas: the types of all columns, for each chunk. Records are converted to these types.
    Chunks(BTreeMap<u64, FrameColumns>),
}

impl MemberTypes {
    /// Converts the record to a row of pandas' table, if the dialect requires this.
    pub fn record(&self, record: Record) -> Result<RecordContent, StepError> {
        let MemberTypes::Chunks(chunks) = self else {
            return Ok(record.content);
        };
        let columns = chunks.get(&record.chunk);
        let columns = columns.ok_or_else(|| StepError::internal("a chunk without types"))?;
        match record.content.into_value()? {
            JsonValue::Object(object) => Ok(RecordContent::Value(JsonValue::Object(
                columns.record(object),
            ))),
            _ => Err(StepError::internal("a record is not an object")),
        }
    }

    /// Returns the value to write as the cell of a member, if it differs from the member itself.
    pub fn cell(&self, index: usize, plain: PlainMember<'_>) -> Option<JsonValue> {
        let inferred = match self {
            MemberTypes::Members(inferred) => inferred.get(index).copied().flatten(),
            MemberTypes::Chunks(_) => None,
        };
        match (inferred, plain) {
            (Some(inferred), PlainMember::Other(value)) => Some(inferred.value(Some(value))),
            (Some(inferred), PlainMember::Same(value)) => Some(inferred.value(Some(value.clone()))),
            (None, PlainMember::Other(value)) => Some(value),
            (None, PlainMember::Same(_)) => None,
        }
    }

    /// Returns the inferred types that are the same in all chunks.
    pub fn inferred(&self, declared: &[&Column]) -> BTreeMap<String, ColumnType> {
        let kind = |index: usize, name: &str| match self {
            MemberTypes::Members(inferred) => {
                inferred.get(index).copied().flatten().map(|one| one.kind)
            }
            MemberTypes::Chunks(chunks) => {
                let mut kinds = chunks.values().map(|columns| columns.kind(name));
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

/// Infers the types of the columns declared `inferred`, in one pass.
fn infer_members(
    file: &RecordFile<'_>,
    declared: &[&Column],
) -> Result<Vec<Option<JsonColumnType>>, StepError> {
    let is_inferred = |column: &&Column| column.kind == ColumnKind::Inferred;
    if !declared.iter().any(is_inferred) {
        return Ok(Vec::new());
    }
    let mut seen: Vec<JsonInference> = declared.iter().map(|_| JsonInference::default()).collect();
    file.for_each(&Cell::new(NestedValues::Skip), &mut |_, record| {
        for (column, seen) in declared.iter().zip(&mut seen) {
            let member = record.content.get(&column.name.value);
            // A missing member is treated as null.
            seen.add(Some(
                match member.as_deref().map(|member| plain(file.read, member)) {
                    None => &JsonValue::Null,
                    Some(PlainMember::Same(member)) => member,
                    Some(PlainMember::Other(ref member)) => member,
                },
            ));
        }
        Ok(())
    })?;
    let seen = declared.iter().zip(seen);
    let inferred = seen.map(|(column, seen)| {
        let inferred = is_inferred(column);
        inferred.then(|| seen.finish(FrameFunction::DataFrame))
    });
    Ok(inferred.collect())
}

/// Infers the types of all columns, chunk by chunk.
///
/// Passes each record to `keep`, until an inferred type changes a record or `keep` returns false. After that, skips nested
/// values, because the file must be read again anyway.
///
/// Returns the types. Also returns true if all records were passed to `keep` and no type changes any of them.
fn infer_chunks(
    file: &RecordFile<'_>,
    typing: FrameFunction,
    keep: &mut dyn FnMut(u64, Record) -> Result<bool, StepError>,
) -> Result<(BTreeMap<u64, FrameColumns>, bool), StepError> {
    let failed = |cause: FrameError| {
        let error = FileError::new(&file.read.path, cause);
        error_at(Failure::Input, Subject::Key("dialect"), error)
    };
    let nested = Cell::new(NestedValues::Read);
    let stop_keeping = || nested.set(NestedValues::Skip);
    let mut chunks = BTreeMap::new();
    let (limits, mut cells) = (limits(file.context), 0_u64);
    let mut end_chunk = |chunk: u64, frame: FrameBuilder| {
        // In pandas' table, each record has a cell for each key of any record in its chunk.
        cells = cells.saturating_add(frame.cells());
        let checked = limits.check_cells(file.bytes(), cells);
        checked.map_err(|exceeded| undecodable_file(&file.read.path, exceeded))?;
        if !frame.keeps_records() {
            stop_keeping();
        }
        chunks.insert(chunk, frame.finish().map_err(failed)?);
        Ok::<_, StepError>(())
    };
    let mut current: Option<(u64, FrameBuilder)> = None;
    let mut seen: u64 = 0;
    file.for_each(&nested, &mut |number, record| {
        file.context.check()?;
        if let Some((chunk, frame)) = current.take_if(|(chunk, _)| *chunk != record.chunk) {
            end_chunk(chunk, frame)?;
        }
        let (_, frame) = current.get_or_insert_with(|| (record.chunk, FrameBuilder::new(typing)));
        match &record.content {
            RecordContent::Printed(record) => frame.add_formatted(record),
            RecordContent::Value(value) => frame.add(value).map_err(failed)?,
        }
        seen += 1;
        if nested.get() == NestedValues::Skip {
            return Ok(());
        }
        // Check after 1, 2, 4, 8 ... records whether the types that were inferred so far leave records unchanged. If they
        // change a record, the types of the entire chunk almost certainly change it, too. Then keeping more records is
        // useless. The check is not made after every record, because it is slow.
        let may_be_unchanged = !seen.is_power_of_two() || frame.keeps_records();
        if !may_be_unchanged || !keep(number, record)? {
            stop_keeping();
        }
        Ok(())
    })?;
    if let Some((chunk, frame)) = current {
        end_chunk(chunk, frame)?;
    }
    Ok((chunks, nested.get() == NestedValues::Read))
}

/// The value of a member: the member itself, or the value that the format encodes specially.
enum PlainMember<'m> {
    Same(&'m JsonValue),
    Other(JsonValue),
}

/// Decodes a member, if the file's format encodes its value specially.
fn plain<'m>(read: &ReadSpec, member: &'m JsonValue) -> PlainMember<'m> {
    let plain = read.format.plain.and_then(|plain| plain(member));
    plain.map_or(PlainMember::Same(member), PlainMember::Other)
}
