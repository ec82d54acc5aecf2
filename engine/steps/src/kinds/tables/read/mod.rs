//! `read`: one file of the bundle as a table.
//!
//! CSV is stored as *canonical text*: the text that pandas would write. Usually, the first pass over the file writes
//! canonical text. If the first pass finds that values must be rewritten, for example `1.50` as `1.5`, a second pass writes
//! the canonical text.
//!
//! JSON becomes a table of declared columns and the hidden column `record`. Parquet files and arrays are stored unchanged.

mod csv;
mod in_place;
mod json;
mod records;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::sync::Arc;

use prep_core::{BoxError, Context, Failure, StepError};
use prep_formats::pandas::{
    ColumnSchema as StoredColumn, ColumnType, FloatParser, ReadOptions, Schema, TypeMismatch,
};
use prep_formats::text_encoding::TextEncoding;
use prep_spec::model::{Column, ColumnKind, Declaration};
use prep_spec::words::{
    CellContent, KeyType, KindSpec, ProducedColumn, Produces, Section, SectionKey, Word,
};
use prep_spec::{Diagnostic, alternatives, decimal_comma, shortened};
use prep_sql::RECORD_COLUMN;
use thiserror::Error;

use crate::kinds::unpack::extract;
use crate::kinds::{ENCODING, encoding};
use crate::kinds::{FunctionStep, StepKind};
use crate::limits::{FileError, undecodable_file};
use crate::located::{Subject, error_at};
use crate::value::{ContentRef, Opener, TableStorage, TableValue, column, file_content, only_tree};

pub(crate) use csv::KIND as EACH;
use json::{CHUNKSIZE, DIALECT, ReadDialect};
use records::CHUNK_COLUMN;

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a table that is read",
            doc: "One file of the bundle.",
            keys: &[
                SectionKey::required(
                    "read",
                    KeyType::Source,
                    "Path in the bundle. It may lead into archives.",
                    "train.zip/train.csv",
                ),
                SectionKey::optional(
                    "format",
                    KeyType::Word(WORDS),
                    "The format of the file. Default: the format that its name implies.",
                    "json",
                ),
                COLUMNS,
                DELIMITER,
                FLOAT_PRECISION_KEY,
                AT,
                ENCODING,
                DIALECT,
                CHUNKSIZE,
            ],
        },
        methods: &[],
        makes: Produces::Table(columns),
        check: Some(check),
    },
    step: |declaration, _| {
        let read = ReadSpec::declared(declaration)?;
        // Version 5 changed the results of the dialect `ujson` for unusual input, and of Parquet files with missing integers.
        let is_parquet = read.format.word.name == in_place::PARQUET.word.name;
        let has_changed = is_parquet || read.dialect == ReadDialect::Ujson;
        let version = if has_changed { 5 } else { 4 };
        let function = FunctionStep::new("read", version, read.params(), move |context, inputs| {
            let tree = only_tree(context, inputs)?;
            let content = file_content(&tree, &read.path, "read")?;
            let opener = Opener::new(context);
            let table = (read.format.read)(context, &opener, &content, &read)?;
            Ok(table.into_value())
        });
        function.step()
    },
};

const COLUMNS: SectionKey = SectionKey::optional(
    "columns",
    KeyType::Columns,
    "Columns that the file must have, each with its type. A list of names declares `inferred` columns. The file may have other columns. In queries, `*` includes them, and they are also `inferred`.",
    "{ id: integer, text: text, note: inferred }",
);
const DELIMITER: SectionKey = SectionKey::optional(
    "delimiter",
    KeyType::Delimiter,
    "Separator of a CSV file's fields. Default: a comma; a tab for `.tsv`.",
    "tab",
);
const FLOAT_PRECISION_KEY: SectionKey = SectionKey::optional(
    "float_precision",
    KeyType::Word(FLOAT_PRECISION),
    "How decimals of a CSV file are rounded. Default: `round_trip`.",
    "high",
);
const AT: SectionKey = SectionKey::optional(
    "at",
    KeyType::Text,
    "Path of the rows in a JSON value: keys of objects and indices of lists (from 0), separated by dots. `.` is the entire value. The rows of a list are its elements. The rows of an object are its members, each as `{ key: ..., value: ... }`.",
    "annotations",
);

/// In a message, a longer cell or member is shortened to this number of characters.
const MAX_SHOWN_CHARACTERS: usize = 40;

struct ReadFormat {
    pub word: Word,
    pub endings: &'static [&'static str],
    /// Content of the hidden column `record`, if any.
    pub record: Option<CellContent>,
    pub read: fn(&Context, &Opener, &ContentRef, &ReadSpec) -> Result<TableValue, StepError>,
    /// Decodes a member that the format encodes specially, such as `$numberLong` in BSON. Returns `None` for other members.
    pub plain: Option<fn(&prep_formats::json::JsonValue) -> Option<prep_formats::json::JsonValue>>,
}

macro_rules! formats {
    ($($format:path),*) => {
        const FORMATS: &[ReadFormat] = &[$($format),*];
        const WORDS: &[Word] = &[$($format.word),*];
    };
}

formats![
    csv::FORMAT,
    json::LIST,
    json::LINES,
    json::BSON,
    in_place::PARQUET,
    in_place::NPY
];

const FLOAT_PRECISION: &[Word] = &[
    Word {
        name: "round_trip",
        doc: "correctly rounded",
    },
    Word {
        name: "high",
        doc: "like pandas' default parser",
    },
];

struct ReadSpec {
    pub path: String,
    pub format: &'static ReadFormat,
    pub columns: Vec<Column>,
    pub delimiter: u8,
    /// The pandas option `float_precision`.
    pub float_precision: String,
    pub at: Option<String>,
    pub encoding: TextEncoding,
    pub dialect: ReadDialect,
    /// Number of lines per chunk. pandas reads each chunk as a separate table.
    pub chunksize: Option<u64>,
}

impl ReadSpec {
    fn declared(declaration: &Declaration) -> Option<ReadSpec> {
        let path = declaration.text(declaration.form.head())?.to_owned();
        let tabs = Declaration::extension(&path) == "tsv";
        let delimiter = declaration.delimiter("delimiter");
        Some(ReadSpec {
            format: format(declaration)?,
            columns: declaration.columns("columns").to_vec(),
            delimiter: delimiter.unwrap_or(if tabs { b'\t' } else { b',' }),
            float_precision: float_precision(declaration),
            at: declaration.text("at").map(str::to_owned),
            encoding: encoding(declaration),
            dialect: ReadDialect::declared(declaration),
            chunksize: json::chunksize(declaration),
            path,
        })
    }

    fn params(&self) -> serde_json::Value {
        let columns = self.columns.iter();
        let columns: Vec<_> = columns
            .map(|column| (&column.name.value, column.kind.name()))
            .collect();
        serde_json::json!({
            "path": self.path,
            "format": self.format.word.name,
            "columns": columns,
            "delimiter": char::from(self.delimiter),
            "float_precision": self.float_precision,
            "at": self.at,
            "encoding": self.encoding,
            "dialect": self.dialect,
            "chunksize": self.chunksize,
        })
    }

    fn csv_options(&self) -> ReadOptions {
        let text = self.columns.iter();
        let text = text.filter(|column| column.kind == ColumnKind::Text);
        ReadOptions {
            text: text.map(|column| column.name.value.clone()).collect(),
            delimiter: self.delimiter,
            floats: match self.float_precision.as_str() {
                "high" => FloatParser::Fast,
                _ => FloatParser::RoundTrip,
            },
            ..ReadOptions::default()
        }
    }
}

fn float_precision(declaration: &Declaration) -> String {
    let declared = declaration.text("float_precision");
    declared.unwrap_or("round_trip").to_owned()
}

/// Returns the declared format, or the usual one for the file name.
fn format(declaration: &Declaration) -> Option<&'static ReadFormat> {
    if let Some(word) = declaration.text("format") {
        return FORMATS.iter().find(|format| format.word.name == word);
    }
    let ending = Declaration::extension(declaration.text(declaration.form.head())?);
    FORMATS
        .iter()
        .find(|format| format.endings.contains(&ending.as_str()))
}

/// Returns the declared columns, and the hidden columns of the format.
fn columns(declaration: &Declaration) -> Vec<ProducedColumn> {
    let declared = declaration.columns("columns").iter();
    let mut columns: Vec<ProducedColumn> = declared
        .map(|column| ProducedColumn::new(&column.name.value, column.kind))
        .collect();
    if json::chunksize(declaration).is_some() {
        columns.push(ProducedColumn {
            hidden: true,
            ..ProducedColumn::integer(CHUNK_COLUMN)
        });
    }
    let record = format(declaration).and_then(|format| format.record);
    if let Some(holds) = record.filter(|_| columns.iter().all(|one| one.name != RECORD_COLUMN)) {
        columns.push(ProducedColumn {
            name: RECORD_COLUMN.to_owned(),
            holds,
            hidden: true,
        });
    }
    columns
}

fn check(declaration: &Declaration) -> Vec<Diagnostic> {
    let head = declaration.form.head();
    let Some(path) = declaration.text(head) else {
        return Vec::new();
    };
    let Some(format) = format(declaration) else {
        let message = format!("the name of `{path}` does not imply a format");
        let names = WORDS.iter().map(|word| format!("`{}`", word.name));
        let names = names.collect::<Vec<_>>().join(", ");
        let found = declaration.fault(head, "unknown-format", message);
        return vec![found.help(format!("add `format:` with one of {names}"))];
    };
    // Each key applies to some formats only.
    let csv = [csv::FORMAT.word.name].as_slice();
    let value = [json::LIST.word.name].as_slice();
    let lines = [json::LINES.word.name].as_slice();
    let json = [json::LIST.word.name, json::LINES.word.name].as_slice();
    let texts = [csv, json].concat();
    let texts = texts.as_slice();
    let keys = [
        ("delimiter", csv, "CSV"),
        ("float_precision", csv, "CSV"),
        ("at", value, "a JSON value"),
        ("encoding", texts, "CSV and JSON"),
        ("dialect", json, "JSON"),
        ("chunksize", lines, "JSON lines"),
    ];
    keys.into_iter()
        .filter(|(key, formats, _)| declaration.has(key) && !formats.contains(&format.word.name))
        .map(|(key, formats, format_name)| {
            let message =
                format!("`{key}` applies to {format_name}, but the file has a different format");
            let found = declaration.fault(key, "no-effect", message);
            let first = formats.first().copied().unwrap_or_default();
            found.help(format!("remove `{key}`, or write `format: {first}`"))
        })
        .chain(json::check(declaration))
        .collect()
}

#[derive(Debug, Error)]
enum ReadError {
    #[error("`{path}` has no column `{column}`; {}", alternatives(.column, "it", .found.iter().map(String::as_str)))]
    NoColumn {
        path: String,
        column: String,
        found: Vec<String>,
    },
    #[error("`{path}` has several columns `{column}`")]
    RepeatedColumn { path: String, column: String },
    #[error("`{path}`: column `{column}` is declared {declared}, but the file contains {found}")]
    OtherType {
        path: String,
        column: String,
        declared: &'static str,
        found: &'static str,
    },
    #[error(
        "`{path}`: column `{column}` is declared {declared}, but row {} (byte {}) {}; correct the file, or declare the column {other}{}",
        .mismatch.row, .mismatch.offset, describe_cell(.mismatch), conversion(.column, .mismatch)
    )]
    OtherCell {
        path: String,
        column: String,
        declared: &'static str,
        mismatch: Box<TypeMismatch>,
        /// The type with which the declaration would be valid.
        other: &'static str,
    },
    #[error("`{path}`: record {record} has no member `{column}`")]
    NoMember {
        path: String,
        record: u64,
        column: String,
    },
    #[error(
        "`{path}`: record {record}: member `{column}` is declared {declared}, but contains {found}"
    )]
    OtherMember {
        path: String,
        record: u64,
        column: String,
        declared: &'static str,
        found: String,
    },
}

impl ReadError {
    /// Adds the location of the declared column to the error.
    fn error_at(self, read: &ReadSpec) -> StepError {
        let (ReadError::NoColumn { column, .. }
        | ReadError::RepeatedColumn { column, .. }
        | ReadError::OtherType { column, .. }
        | ReadError::OtherCell { column, .. }
        | ReadError::NoMember { column, .. }
        | ReadError::OtherMember { column, .. }) = &self;
        let mut columns = read.columns.iter().map(|column| &column.name);
        match columns.find(|one| one.value == *column) {
            Some(column) => error_at(Failure::Input, Subject::At(column.span), self),
            None => StepError::input(self),
        }
    }
}

/// Extracts the file into the cache, because queries read it in place. Returns the extracted content and its open file.
fn extracted(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    read: &ReadSpec,
) -> Result<(ContentRef, Arc<File>), StepError> {
    let content = extract(context, opener, content).map_err(|cause| failed(read, cause))?;
    let file = opener
        .open_stored(content.base())
        .map_err(|cause| failed(read, cause))?;
    Ok((content, file))
}

/// Returns the error for a file that cannot be read or parsed.
fn failed(read: &ReadSpec, cause: impl Into<BoxError>) -> StepError {
    let cause = cause.into();
    match cause.is::<json::PathError>() {
        true => error_at(
            Failure::Input,
            Subject::Key("at"),
            FileError::new(&read.path, cause),
        ),
        false => undecodable_file(&read.path, cause),
    }
}

/// Describes a cell that does not have the declared type, as the end of a message.
fn describe_cell(mismatch: &TypeMismatch) -> String {
    match mismatch.cell.as_str() {
        "" => "is empty".to_owned(),
        cell => format!("contains `{}`", shortened(cell, MAX_SHOWN_CHARACTERS)),
    }
}

/// Returns how a query converts the column, as the end of a message, if the cell is a number with a decimal comma.
fn conversion(column: &str, mismatch: &TypeMismatch) -> String {
    let query = decimal_comma(column, &mismatch.cell);
    query.map_or_else(String::new, |query| {
        format!(" and convert it in a query with `{query}`")
    })
}

/// Returns the column in which the values of a declared column are stored.
fn stored(declared: &Column) -> StoredColumn {
    let kind = match declared.kind {
        ColumnKind::Text | ColumnKind::Inferred => ColumnType::Text,
        ColumnKind::Integer => ColumnType::Int64,
        ColumnKind::Number => ColumnType::Float64,
        ColumnKind::Boolean => ColumnType::Bool,
        ColumnKind::Json => ColumnType::Json,
    };
    column(&declared.name.value, kind, false)
}

/// Properties of the declared columns. The schema does not contain these properties.
#[derive(Default)]
struct DeclaredTypes {
    /// The types that pandas infers for columns that queries read as text.
    inferred: BTreeMap<String, ColumnType>,
    /// Indices of the columns that queries read as doubles.
    numbers: BTreeSet<usize>,
}

impl DeclaredTypes {
    fn table(self, schema: Schema, storage: TableStorage, bytes: u64) -> TableValue {
        let mut table = TableValue::new(schema, storage, bytes);
        table.inferred = self.inferred;
        table.numbers = self.numbers;
        table
    }
}

/// Checks that the file has the declared columns, and that their types match the declaration. Changes the types in `schema`
/// to the types that queries see. In queries, a column declared `text` or `inferred` is text. If the file has no rows,
/// each column has its declared type.
fn check_columns(read: &ReadSpec, schema: &mut Schema) -> Result<DeclaredTypes, ReadError> {
    let mut declarations = DeclaredTypes::default();
    let rows = schema.rows;
    let path = &read.path;
    let mut names = BTreeSet::new();
    let mut columns = schema.columns.iter().map(|column| &column.name);
    if let Some(name) = columns.find(|name| !names.insert(*name)) {
        let (path, column) = (path.clone(), name.clone());
        return Err(ReadError::RepeatedColumn { path, column });
    }
    for column in &read.columns {
        let name = &column.name.value;
        let Some(index) = schema.position(name) else {
            return Err(ReadError::NoColumn {
                path: path.clone(),
                column: name.clone(),
                found: schema.columns.iter().map(|one| one.name.clone()).collect(),
            });
        };
        let declared = column.kind;
        let Some(stored) = schema.columns.get_mut(index) else {
            continue;
        };
        let is_empty = rows == 0 && stored.kind == ColumnType::Text;
        if declared == ColumnKind::Number {
            declarations.numbers.insert(index);
        }
        match declared {
            ColumnKind::Inferred => {
                if stored.kind != ColumnType::Text {
                    declarations.inferred.insert(name.clone(), stored.kind);
                }
                stored.kind = ColumnType::Text;
            }
            ColumnKind::Text => stored.kind = ColumnType::Text,
            ColumnKind::Json => stored.kind = ColumnType::Json,
            ColumnKind::Integer if is_empty => stored.kind = ColumnType::Int64,
            ColumnKind::Number if is_empty => stored.kind = ColumnType::Float64,
            ColumnKind::Boolean if is_empty => stored.kind = ColumnType::Bool,
            _ if fits(declared, stored.kind) => {}
            _ => {
                return Err(ReadError::OtherType {
                    path: path.clone(),
                    column: name.clone(),
                    declared: declared.name(),
                    found: describe_type(stored.kind),
                });
            }
        }
    }
    Ok(declarations)
}

fn is_integer(stored: ColumnType) -> bool {
    matches!(
        stored,
        ColumnType::Int64
            | ColumnType::UInt64
            | ColumnType::Int32
            | ColumnType::Int16
            | ColumnType::Int8
    )
}

fn is_float(stored: ColumnType) -> bool {
    matches!(stored, ColumnType::Float64 | ColumnType::Float32)
}

/// Returns whether a column of the type `stored` may be declared as `declared`.
fn fits(declared: ColumnKind, stored: ColumnType) -> bool {
    match declared {
        ColumnKind::Text | ColumnKind::Json | ColumnKind::Inferred => true,
        ColumnKind::Integer => is_integer(stored),
        ColumnKind::Number => is_integer(stored) || is_float(stored),
        ColumnKind::Boolean => stored == ColumnType::Bool,
    }
}

fn describe_type(stored: ColumnType) -> &'static str {
    match stored {
        _ if is_integer(stored) => "integers",
        _ if is_float(stored) => "numbers with a fraction, or missing values",
        ColumnType::Bool => "booleans",
        _ => "text",
    }
}
