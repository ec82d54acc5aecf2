//! Reads JSON: a list of objects, the elements at a path of a document, or JSON lines.

use std::cell::Cell;
use std::io::BufRead;

use prep_core::{BoxError, Context};
use prep_formats::json::{JsonElements, JsonLine, JsonLines, JsonObject, JsonValue, NestedValues};
use prep_spec::model::ColumnKind;
use prep_spec::words::{CellContent, Word};

use super::records::{Record, RecordContent, Records, records};
use super::{ReadFormat, ReadSpec};
use crate::limits::limits;

pub(super) const LIST: ReadFormat = ReadFormat {
    word: Word {
        name: "json",
        doc: "one JSON value, `.json`: one row per element of the list, in the hidden column `record`",
    },
    endings: &["json"],
    record: Some(CellContent::Values(ColumnKind::Json)),
    read: |context, opener, content, read| records(context, opener, content, read, list),
    plain: None,
};

pub(super) const LINES: ReadFormat = ReadFormat {
    word: Word {
        name: "json_lines",
        doc: "one JSON value per line, `.jsonl`, `.ndjson`: one row per line, in the hidden column `record`",
    },
    endings: &["jsonl", "ndjson"],
    record: Some(CellContent::Values(ColumnKind::Json)),
    read: |context, opener, content, read| records(context, opener, content, read, lines),
    plain: None,
};

fn list<'r>(
    context: &Context,
    read: &'r ReadSpec,
    nested: &'r Cell<NestedValues>,
    reader: Box<dyn BufRead + 'r>,
) -> Records<'r> {
    let grammar = read.dialect.grammar();
    let limits = limits(context);
    match &read.at {
        None => {
            let records = JsonElements::list(reader)
                .with_grammar(grammar)
                .with_limits(&limits)
                .with_nested(nested.get());
            Box::new(records.values().map(|record| Ok(Record::from(record?))))
        }
        Some(path) => {
            let steps = path.split('.').filter(|step| !step.is_empty());
            let elements = JsonElements::new(reader, steps)
                .with_grammar(grammar)
                .with_limits(&limits)
                .with_nested(nested.get());
            Box::new(elements.map(|element| Ok(Record::from(member(element?)))))
        }
    }
}

/// Converts an element at a path to a record. A member of an object becomes a record with `key` and `value`.
fn member(element: (Option<prep_formats::json::JsonString>, JsonValue)) -> JsonValue {
    match element {
        (None, value) => value,
        (Some(key), value) => {
            let mut record = JsonObject::new();
            record.insert("key".into(), JsonValue::String(key));
            record.insert("value".into(), value);
            JsonValue::Object(record)
        }
    }
}

fn lines<'r>(
    context: &Context,
    read: &'r ReadSpec,
    nested: &'r Cell<NestedValues>,
    reader: Box<dyn BufRead + 'r>,
) -> Records<'r> {
    let chunk = read.chunksize.unwrap_or(u64::MAX).max(1);
    let mut lines = JsonLines::new(reader)
        .with_grammar(read.dialect.grammar())
        .with_limits(&limits(context));
    Box::new(std::iter::from_fn(move || {
        lines.set_nested(nested.get());
        let content = match lines.next_line()? {
            Ok(JsonLine::Formatted(record)) => RecordContent::Printed(record),
            Ok(JsonLine::Value(value)) => RecordContent::Value(value),
            Err(error) => return Some(Err(BoxError::from(error))),
        };
        // Empty lines are counted, too.
        let chunk = (lines.number() - 1) / chunk;
        Some(Ok(Record { content, chunk }))
    }))
}
