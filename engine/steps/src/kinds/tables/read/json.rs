//! Reads JSON (a list, elements at a path of a document, or JSON lines) and BSON documents. Each object becomes a row with
//! a column per declared member. The column `record` contains the entire object.
//!
//! BSON documents are stored as MongoDB Extended JSON. The output `bson` converts them to the BSON that pymongo writes. A
//! long binary value is replaced by its position in the BSON file (see [`prep_formats::bson::BinaryReference`]).

use std::cell::Cell;
use std::io::BufRead;

use prep_core::{BoxError, Context};
use prep_formats::bson::BsonDocuments;
use prep_formats::json::{
    FrameFunction, JsonElements, JsonError, JsonErrorKind, JsonGrammar, JsonLine, JsonLines,
    JsonObject, JsonValue, NestedValues, Position,
};
use prep_spec::Diagnostic;
use prep_spec::model::{ColumnKind, Declaration};
use prep_spec::words::{CellContent, KeyType, SectionKey, Word};
use serde::Serialize;

use super::records::{CHUNK_COLUMN, Record, RecordContent, Records, records};
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
            let elements = JsonElements::new(reader, steps(path))
                .with_grammar(grammar)
                .with_limits(&limits)
                .with_nested(nested.get());
            Box::new(elements.map(|element| match element {
                Ok(element) => Ok(Record::from(member(element))),
                Err(error) => Err(PathError::explain(path, error)),
            }))
        }
    }
}

/// Returns the keys and indices of a path, outermost first.
fn steps(path: &str) -> impl Iterator<Item = &str> {
    path.split('.').filter(|step| !step.is_empty())
}

#[derive(Debug, thiserror::Error)]
pub(super) enum PathError {
    #[error("there is no `{step}` in {}", .parent.as_ref().map_or("the JSON value".to_owned(), |path| format!("`{path}`")))]
    NoStep {
        step: String,
        /// Path of the object or list that does not contain `step`. `None` if this is the entire value.
        parent: Option<String>,
    },
    #[error(
        "the value at {position} is neither a list nor an object, so `{path}` does not lead to rows"
    )]
    NotNested { path: String, position: Position },
}

impl PathError {
    /// Describes an error that the path caused. Returns other errors unchanged.
    fn explain(path: &str, error: JsonError) -> BoxError {
        match &error {
            JsonError::Syntax {
                kind: JsonErrorKind::NoSuchElement { step },
                ..
            } => {
                let steps = steps(path).take(step + 1).collect::<Vec<_>>();
                let (missing, parent) = steps.split_last().unwrap_or((&path, &[]));
                let parent = (!parent.is_empty()).then(|| parent.join("."));
                PathError::NoStep {
                    step: (*missing).to_owned(),
                    parent,
                }
                .into()
            }
            JsonError::Syntax {
                kind: JsonErrorKind::ExpectedListOrObject,
                position,
            } => PathError::NotNested {
                path: path.to_owned(),
                position: *position,
            }
            .into(),
            _ => error.into(),
        }
    }
}

/// Converts an element to a record. A member of an object becomes a record with `key` and `value`.
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
        // The lines of a chunk include empty lines, which are not records.
        let chunk = (lines.number() - 1) / chunk;
        Some(Ok(Record { content, chunk }))
    }))
}

pub(super) const BSON: ReadFormat = ReadFormat {
    word: Word {
        name: "bson",
        doc: "BSON documents, one after another, `.bson`: one row per document. The hidden column `record` contains the document as MongoDB Extended JSON. A binary value of more than 64 bytes is replaced by its position in the file",
    },
    endings: &["bson"],
    record: Some(CellContent::Documents),
    read: |context, opener, content, read| records(context, opener, content, read, documents),
    plain: Some(plain),
};

fn documents<'r>(
    _: &Context,
    read: &'r ReadSpec,
    _: &'r Cell<NestedValues>,
    reader: Box<dyn BufRead + 'r>,
) -> Records<'r> {
    let documents = BsonDocuments::new(reader);
    Box::new(
        documents
            .map(move |document| Ok(Record::from(document?.to_json_with_references(&read.path)?))),
    )
}

/// Converts a member that MongoDB Extended JSON encodes as an object: a 64-bit integer, or a double such as NaN.
/// Returns `None` for other values.
fn plain(member: &JsonValue) -> Option<JsonValue> {
    if let Some(digits) = member.get("$numberLong") {
        return digits.as_str()?.parse().ok().map(JsonValue::Int);
    }
    let word = member.get("$numberDouble")?.as_str()?;
    word.parse().ok().map(JsonValue::Float)
}

pub(super) const DIALECT: SectionKey = SectionKey::optional(
    "dialect",
    KeyType::Word(DIALECTS),
    "The library whose reading of JSON is reproduced. The dialects `dataframe` and `ujson` are those of pandas. They convert each member that is declared `text` to a string, like `astype(str)`, also in `record`. Default: `python`.",
    "ujson",
);

pub(super) const CHUNKSIZE: SectionKey = SectionKey::optional(
    "chunksize",
    KeyType::Natural,
    "Number of lines per chunk. pandas reads each chunk as a separate table. Therefore, with the dialect `dataframe` or `ujson`, each record has all members of its chunk, with the types that pandas infers for the chunk. The hidden column `piece` contains the number of the chunk, from 0. Default: all lines of the file are one chunk.",
    "1000",
);

const DIALECTS: &[Word] = &[
    Word {
        name: "python",
        doc: "Python's `json.load`: records are unchanged",
    },
    Word {
        name: "dataframe",
        doc: "`pandas.DataFrame(records)` of the records that Python reads: each record has the members of all records, in order of first appearance, and values have the types of their columns. Integers become doubles if the column also has fractions or missing values. A missing member becomes NaN",
    },
    Word {
        name: "ujson",
        doc: "`pandas.read_json`: like `dataframe`, with three differences. ujson does not always parse a decimal as the nearest double. Text columns that contain only numbers become numbers. Columns of doubles without fractions become integers",
    },
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ReadDialect {
    Python,
    Dataframe,
    Ujson,
}

impl ReadDialect {
    pub fn declared(declaration: &Declaration) -> ReadDialect {
        let has = declaration.has("dialect");
        match has.then(|| declaration.text("dialect")).flatten() {
            Some("dataframe") => ReadDialect::Dataframe,
            Some("ujson") => ReadDialect::Ujson,
            _ => ReadDialect::Python,
        }
    }

    pub fn grammar(self) -> JsonGrammar {
        match self {
            ReadDialect::Python | ReadDialect::Dataframe => JsonGrammar::Python,
            ReadDialect::Ujson => JsonGrammar::Ujson,
        }
    }

    /// Returns the pandas function that infers types. `None` if records stay unchanged.
    pub fn typing(self) -> Option<FrameFunction> {
        match self {
            ReadDialect::Python => None,
            ReadDialect::Dataframe => Some(FrameFunction::DataFrame),
            ReadDialect::Ujson => Some(FrameFunction::ReadJson),
        }
    }
}

pub(super) fn chunksize(declaration: &Declaration) -> Option<u64> {
    let has = declaration.has("chunksize");
    has.then(|| declaration.natural("chunksize")).flatten()
}

/// Checks `chunksize`: at least 1, no declared column `piece`, and a dialect that depends on chunks.
pub(super) fn check(declaration: &Declaration) -> Option<Diagnostic> {
    let size = chunksize(declaration)?;
    let mut columns = declaration.columns("columns").iter();
    if let Some(column) = columns.find(|column| column.name.value == CHUNK_COLUMN) {
        let message =
            "with `chunksize`, the column `piece` is reserved for the number of a row's chunk";
        let fault = Diagnostic::error("duplicate-column", column.name.span, message);
        return Some(fault.help(
            "remove `piece` from `columns`; a query can read the member `piece` from the column `record`",
        ));
    }
    if size == 0 {
        let fault = declaration.fault("chunksize", "bad-parameter", "`chunksize` is 0");
        return Some(fault.help("write 1 or more"));
    }
    let message =
        "`chunksize` has no effect with the dialect `python`, which leaves records unchanged";
    let is_python = ReadDialect::declared(declaration) == ReadDialect::Python;
    is_python.then(|| {
        let fault = declaration.fault("chunksize", "no-effect", message);
        fault.help("remove it, or write `dialect: ujson` or `dialect: dataframe`")
    })
}
