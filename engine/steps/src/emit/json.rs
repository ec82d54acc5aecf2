//! A list of JSON objects, as Python's `json.dump` writes it.

use std::io::{self, Write};

use prep_core::{Context, FileValue, Inputs, StepError};
use prep_formats::json::{Object, Value, WriteOptions, parse};
use prep_formats::pandas::ColumnType;
use prep_spec::model::Query;
use prep_sql::{RECORD, Session};

use super::cells::{Cell, Layout};
use crate::relation::{open_tables, query_error, relations, wait};

/// Writes the rows of a query: whole records if its only column is `record`, otherwise an object per row.
pub(crate) fn write_json(
    session: &Session,
    query: &Query,
    context: &Context,
    inputs: &Inputs,
    indent: Option<usize>,
) -> Result<FileValue, StepError> {
    let tables = open_tables(context, inputs)?;
    let mut rows = wait(session.rows(query, relations(&tables))).map_err(query_error)?;
    let mut layout = Layout::new(rows.columns(), &tables)?;
    let names: Vec<String> = layout
        .columns
        .iter()
        .map(|column| column.name.clone())
        .collect();
    let is_record = matches!(names.as_slice(), [name] if name == RECORD);
    let mut list = ListWriter::new(context.store.writer()?, indent);
    while let Some(batch) = wait(rows.next()).map_err(query_error)? {
        context.check()?;
        layout.for_each_row(&batch, |cells| {
            let value = match cells {
                [cell] if is_record => json_text(cell)?,
                cells => {
                    let mut object = Object::new();
                    for (name, cell) in names.iter().zip(cells) {
                        object.insert(name.as_str().into(), member(cell)?);
                    }
                    Value::Object(object)
                }
            };
            list.push(&value)
        })?;
    }
    let (out, count) = list.finish()?;
    let columns = if is_record { Vec::new() } else { names };
    Ok(FileValue::table(out.commit()?, count, columns))
}

/// A cell that holds JSON.
fn json_text(cell: &Cell<'_>) -> Result<Value, StepError> {
    let text = cell.text().ok_or_else(|| {
        StepError::pipeline(format!("the column `{RECORD}` must hold JSON texts"))
    })?;
    parse(&text).map_err(StepError::input)
}

/// A cell as a member of an object.
fn member(cell: &Cell<'_>) -> Result<Value, StepError> {
    Ok(match *cell {
        Cell::Missing => Value::Null,
        Cell::Integer(value) => Value::Int(value),
        Cell::Unsigned(value) => match i64::try_from(value) {
            Ok(value) => Value::Int(value),
            Err(_) => Value::BigInt(value.to_string().into()),
        },
        Cell::Float(value) => Value::Float(value),
        Cell::Single(value) => Value::Float(value.into()),
        Cell::Bool(value) => Value::Bool(value),
        Cell::Text(text) => text.into(),
        Cell::Slice(_, ColumnType::Text) => match cell.text() {
            Some(text) => std::str::from_utf8(&text)
                .map_err(StepError::internal)?
                .into(),
            None => Value::Null,
        },
        Cell::Slice(_, kind) => match cell.text() {
            None => Value::Null,
            Some(text) if kind == ColumnType::Bool => Value::Bool(text.first() == Some(&b'T')),
            // Numbers print alike in both forms.
            Some(text) => parse(&text).map_err(StepError::internal)?,
        },
    })
}

/// Writes a list element by element.
struct ListWriter<W> {
    out: W,
    options: WriteOptions,
    count: u64,
}

impl<W: Write> ListWriter<W> {
    fn new(out: W, indent: Option<usize>) -> ListWriter<W> {
        ListWriter {
            out,
            options: WriteOptions {
                indent,
                ..WriteOptions::default()
            },
            count: 0,
        }
    }

    fn push(&mut self, value: &Value) -> Result<(), StepError> {
        let text = value.to_json(&self.options).map_err(StepError::input)?;
        let first = self.count == 0;
        self.count += 1;
        self.element(first, &text).map_err(StepError::machine)
    }

    fn element(&mut self, first: bool, text: &[u8]) -> io::Result<()> {
        let Some(indent) = self.options.indent else {
            self.out.write_all(if first { b"[" } else { b", " })?;
            return self.out.write_all(text);
        };
        self.out.write_all(if first { b"[" } else { b"," })?;
        // Line feeds inside strings are escaped, so every one in the text begins a line to indent.
        let blanks = vec![b' '; indent];
        for line in text.split(|byte| *byte == b'\n') {
            self.out.write_all(b"\n")?;
            self.out.write_all(&blanks)?;
            self.out.write_all(line)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(W, u64), StepError> {
        let end: &[u8] = match (self.count, self.options.indent) {
            (0, _) => b"[]",
            (_, Some(_)) => b"\n]",
            (_, None) => b"]",
        };
        self.out.write_all(end).map_err(StepError::machine)?;
        Ok((self.out, self.count))
    }
}
