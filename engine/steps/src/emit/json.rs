//! Writes the rows of a query as JSON lists, JSON lines or documents.

use std::borrow::Cow;
use std::io::{self, Write};

use parking_lot::Mutex;
use prep_core::{FileValue, StepError, Value};
use prep_formats::json::{
    JsonGrammar, JsonObject, JsonStyle, JsonValue, WriteOptions, parse, reformat,
};
use prep_formats::pandas::ColumnType;
use prep_sql::RECORD_COLUMN;
use serde::Serialize;

use super::cells::{Cell, ResultLayout};
use crate::ordered::process_in_order;
use crate::relation::QueryRun;

/// Approximate size in bytes of a batch of lines. It fits into processor caches.
const BATCH_BYTES: usize = 1 << 18;

/// A larger batch contains one very long record. Such batches are processed one at a time to limit memory.
const LARGE_BATCH_BYTES: usize = 32 * BATCH_BYTES;

/// Assumed size in bytes of an object whose members are the cells of a row.
const ASSUMED_OBJECT_BYTES: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum JsonLibrary {
    /// `json.dump`.
    Python,
    /// `DataFrame.to_json`.
    Ujson,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct JsonFormat {
    pub writer: JsonLibrary,
    pub indent: Option<usize>,
    pub sort_keys: bool,
}

impl JsonFormat {
    fn text(self, value: &JsonValue) -> Result<Vec<u8>, StepError> {
        let mut text = Vec::new();
        self.push(value, &mut text)?;
        Ok(text)
    }

    fn push(self, value: &JsonValue, text: &mut Vec<u8>) -> Result<(), StepError> {
        match self.writer {
            JsonLibrary::Python => {
                let options = WriteOptions {
                    indent: self.indent,
                    sort_keys: self.sort_keys,
                    ..WriteOptions::default()
                };
                value.write(text, &options).map_err(StepError::input)
            }
            JsonLibrary::Ujson => value.push_pandas(text).map_err(StepError::input),
        }
    }

    /// Appends a row as JSON. If possible, reformats a record without parsing it, because this is faster.
    fn push_row(self, row: JsonRow<'_>, text: &mut Vec<u8>) -> Result<(), StepError> {
        let style = match (self.writer, self.indent) {
            (JsonLibrary::Ujson, _) => Some(JsonStyle::Pandas),
            (JsonLibrary::Python, None) if !self.sort_keys => Some(JsonStyle::Python),
            (JsonLibrary::Python, _) => None,
        };
        if let (JsonRow::Record(record), Some(style)) = (&row, style)
            && reformat(record, JsonGrammar::Python, style, text)
        {
            return Ok(());
        }
        self.push(&row.value()?, text)
    }

    fn comma(self) -> &'static [u8] {
        match (self.writer, self.indent) {
            (JsonLibrary::Python, None) => b", ",
            _ => b",",
        }
    }

    fn colon(self) -> &'static [u8] {
        match self.writer {
            JsonLibrary::Python => b": ",
            JsonLibrary::Ujson => b":",
        }
    }
}

enum JsonRow<'a> {
    /// The JSON text of the column `record`.
    Record(Cow<'a, [u8]>),
    /// An object with one member per column.
    Members(JsonValue),
}

impl JsonRow<'_> {
    fn value(self) -> Result<JsonValue, StepError> {
        match self {
            JsonRow::Record(text) => parse(&text).map_err(StepError::input),
            JsonRow::Members(value) => Ok(value),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            JsonRow::Record(text) => text.len(),
            JsonRow::Members(_) => ASSUMED_OBJECT_BYTES,
        }
    }

    fn into_owned(self) -> JsonRow<'static> {
        match self {
            JsonRow::Record(text) => JsonRow::Record(text.into_owned().into()),
            JsonRow::Members(value) => JsonRow::Members(value),
        }
    }
}

/// Calls `act` for each row of a query. If the only column is `record`, passes the record in this column. Otherwise passes
/// an object with one member per column. Returns the number of rows, and the names of the objects' members.
fn for_each_row(
    run: QueryRun<'_>,
    mut act: impl FnMut(JsonRow<'_>) -> Result<(), StepError>,
) -> Result<(u64, Vec<String>), StepError> {
    let (mut rows, mut layout) = ResultLayout::start(run)?;
    let names: Vec<String> = layout
        .columns
        .iter()
        .map(|column| column.name.clone())
        .collect();
    let is_record = matches!(names.as_slice(), [name] if name == RECORD_COLUMN);
    let mut count = 0;
    while let Some(batch) = rows.next()? {
        layout.for_each_row(&batch, |row| {
            count += 1;
            act(match row.cells {
                [cell] if is_record => JsonRow::Record(json_text(cell)?),
                cells => {
                    let mut object = JsonObject::new();
                    for (name, cell) in names.iter().zip(cells) {
                        object.insert(name.as_str().into(), json_value(cell)?);
                    }
                    JsonRow::Members(JsonValue::Object(object))
                }
            })
        })?;
    }
    let columns = if is_record { Vec::new() } else { names };
    Ok((count, columns))
}

/// Same as [`for_each_row`], but parses each row.
pub(crate) fn for_each_record(
    run: QueryRun<'_>,
    mut act: impl FnMut(&JsonValue) -> Result<(), StepError>,
) -> Result<(u64, Vec<String>), StepError> {
    for_each_row(run, |row| act(&row.value()?))
}

pub(crate) fn write_json(run: QueryRun<'_>, dialect: JsonFormat) -> Result<Value, StepError> {
    let mut list = JsonListWriter::new(run.context.store.writer()?, dialect, 0);
    let (count, columns) = for_each_record(run, |value| list.push(value))?;
    let out = list.0.finish()?;
    Ok(FileValue::table(out.commit()?, count, columns).into_value())
}

/// Writes the rows of a query as JSON lines that end with LF.
pub(crate) fn write_json_lines(run: QueryRun<'_>, dialect: JsonFormat) -> Result<Value, StepError> {
    let mut out = run.context.store.writer()?;
    // Buffers whose lines have been written, for reuse.
    let recycled: Mutex<Vec<Vec<u8>>> = Mutex::default();
    let lines = |rows: Vec<JsonRow<'static>>| -> Result<Vec<u8>, StepError> {
        let mut lines = recycled.lock().pop().unwrap_or_default();
        lines.clear();
        for row in rows {
            dialect.push_row(row, &mut lines)?;
            lines.push(b'\n');
        }
        Ok(lines)
    };
    let mut write = |lines: Result<Vec<u8>, StepError>| {
        let lines = lines?;
        if lines.len() < BATCH_BYTES / 2 {
            return out.write_all(&lines).map_err(StepError::machine);
        }
        let buffer = out.push(lines).map_err(StepError::machine)?;
        recycled.lock().extend(buffer);
        Ok(())
    };
    let (count, columns) = process_in_order(run.context, &lines, |batches| {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        let found = for_each_row(run, |row| {
            bytes += row.bytes();
            batch.push(row.into_owned());
            if bytes < BATCH_BYTES {
                return Ok(());
            }
            let is_large = std::mem::take(&mut bytes) > LARGE_BATCH_BYTES;
            let batch = std::mem::take(&mut batch);
            match is_large {
                true => batches.push_alone(batch, &mut write),
                false => batches.push(batch, &mut write),
            }
        })?;
        batches.push_alone(batch, &mut write)?;
        Ok::<_, StepError>(found)
    })?;
    Ok(FileValue::table(out.commit()?, count, columns).into_value())
}

/// Returns the JSON text of a cell of the column `record`.
fn json_text<'a>(cell: &Cell<'a>) -> Result<Cow<'a, [u8]>, StepError> {
    cell.text().ok_or_else(|| {
        StepError::pipeline(format!(
            "the column `{RECORD_COLUMN}` must contain JSON values as strings"
        ))
    })
}

/// Converts a cell to the JSON value of a member.
fn json_value(cell: &Cell<'_>) -> Result<JsonValue, StepError> {
    Ok(match *cell {
        Cell::Missing => JsonValue::Null,
        Cell::Integer(value) => JsonValue::Int(value),
        Cell::Unsigned(value) => match i64::try_from(value) {
            Ok(value) => JsonValue::Int(value),
            Err(_) => JsonValue::BigInt(value.to_string().into()),
        },
        Cell::Float(value) => JsonValue::Float(value),
        Cell::Single(value) => JsonValue::Float(value.into()),
        Cell::Bool(value) => JsonValue::Bool(value),
        Cell::Text(text) => text.into(),
        Cell::Slice(_, ColumnType::Text) => match cell.text() {
            Some(text) => std::str::from_utf8(&text)
                .map_err(StepError::internal)?
                .into(),
            None => JsonValue::Null,
        },
        Cell::Slice(_, kind) => match cell.text() {
            None => JsonValue::Null,
            Some(text) => match kind {
                ColumnType::Bool => JsonValue::Bool(text.first() == Some(&b'T')),
                ColumnType::Float64 | ColumnType::Float32 => JsonValue::Float(float(&text)?),
                // Integers have the same text in tables and in JSON.
                _ => parse(&text).map_err(StepError::internal)?,
            },
        },
    })
}

/// Parses a floating-point number of a table. Tables and JSON write infinity differently, so the JSON parser cannot be
/// used.
fn float(text: &[u8]) -> Result<f64, StepError> {
    let text = std::str::from_utf8(text).map_err(StepError::internal)?;
    text.parse().map_err(StepError::internal)
}

/// Writes the brackets, separators and line breaks of a list or object at nesting depth `level`.
struct ContainerWriter<W> {
    out: W,
    dialect: JsonFormat,
    level: usize,
    brackets: [u8; 2],
    is_empty: bool,
}

impl<W: Write> ContainerWriter<W> {
    fn new(out: W, dialect: JsonFormat, level: usize, brackets: [u8; 2]) -> ContainerWriter<W> {
        ContainerWriter {
            out,
            dialect,
            level,
            brackets,
            is_empty: true,
        }
    }

    fn start_element(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.is_empty) {
            true => self.out.write_all(&self.brackets[..1])?,
            false => self.out.write_all(self.dialect.comma())?,
        }
        self.new_line(self.level + 1)
    }

    /// Writes a value, and indents its lines. Every line feed starts a line, because JSON escapes line feeds in strings.
    fn value(&mut self, value: &JsonValue) -> Result<(), StepError> {
        let text = self.dialect.text(value)?;
        let mut write = || -> io::Result<()> {
            for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
                if number > 0 {
                    self.new_line(self.level + 1)?;
                }
                self.out.write_all(line)?;
            }
            Ok(())
        };
        write().map_err(StepError::machine)
    }

    fn new_line(&mut self, level: usize) -> io::Result<()> {
        if let Some(indent) = self.dialect.indent {
            self.out.write_all(b"\n")?;
            self.out.write_all(&vec![b' '; indent * level])?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<W, StepError> {
        let mut end = || {
            match self.is_empty {
                true => self.out.write_all(&self.brackets[..1])?,
                false => self.new_line(self.level)?,
            }
            self.out.write_all(&self.brackets[1..])
        };
        end().map_err(StepError::machine)?;
        Ok(self.out)
    }
}

pub(crate) struct JsonListWriter<W>(ContainerWriter<W>);

impl<W: Write> JsonListWriter<W> {
    fn new(out: W, dialect: JsonFormat, level: usize) -> JsonListWriter<W> {
        JsonListWriter(ContainerWriter::new(out, dialect, level, *b"[]"))
    }

    pub fn push(&mut self, value: &JsonValue) -> Result<(), StepError> {
        self.0.start_element().map_err(StepError::machine)?;
        self.0.value(value)
    }
}

pub(crate) struct JsonObjectWriter<W>(ContainerWriter<W>);

impl<W: Write> JsonObjectWriter<W> {
    pub fn new(out: W, dialect: JsonFormat) -> JsonObjectWriter<W> {
        JsonObjectWriter(ContainerWriter::new(out, dialect, 0, *b"{}"))
    }

    fn key(&mut self, key: &JsonValue) -> Result<(), StepError> {
        let ContainerWriter { dialect, .. } = self.0;
        let text = JsonFormat {
            indent: None,
            ..dialect
        };
        let text = text.text(key)?;
        let mut write = || {
            self.0.start_element()?;
            self.0.out.write_all(&text)?;
            self.0.out.write_all(dialect.colon())
        };
        write().map_err(StepError::machine)
    }

    pub fn member(&mut self, key: &JsonValue, value: &JsonValue) -> Result<(), StepError> {
        self.key(key)?;
        self.0.value(value)
    }

    /// Writes a member that is a list. `fill` writes the elements.
    pub fn list(
        &mut self,
        key: &JsonValue,
        fill: impl FnOnce(&mut JsonListWriter<&mut W>) -> Result<(), StepError>,
    ) -> Result<(), StepError> {
        self.key(key)?;
        let mut list = JsonListWriter::new(&mut self.0.out, self.0.dialect, 1);
        fill(&mut list)?;
        list.0.finish().map(drop)
    }

    pub fn finish(self) -> Result<W, StepError> {
        self.0.finish()
    }
}
