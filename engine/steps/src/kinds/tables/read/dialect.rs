//! The keys `dialect` and `chunksize`: the library whose way of reading JSON is reproduced.

use prep_formats::json::{FrameFunction, JsonGrammar};
use prep_spec::Diagnostic;
use prep_spec::model::Declaration;
use prep_spec::words::{Key, Value, Word};
use serde::Serialize;

pub(super) const DIALECT: Key = Key::optional(
    "dialect",
    Value::Word(DIALECTS),
    "Whose way of reading JSON. In the dialects of pandas a column that is declared text is one in the record, too, as `astype(str)` makes it. Default: `python`.",
    "ujson",
);

pub(super) const CHUNKSIZE: Key = Key::optional(
    "chunksize",
    Value::Natural,
    "So many lines at a time are a table of their own: members and types in the dialect `dataframe` or `ujson` are those of the piece. The hidden column `piece` numbers them, from 0. Default: the whole file is one.",
    "1000",
);

static DIALECTS: &[Word] = &[
    Word {
        name: "python",
        doc: "Python's `json.load`: each record is what it says",
    },
    Word {
        name: "dataframe",
        doc: "`pandas.DataFrame(records)` of what Python reads: each record has the members of all, in order of first appearance, and values have the types of their columns: beside a fraction or a missing value whole numbers are doubles, a member that is not there is NaN",
    },
    Word {
        name: "ujson",
        doc: "`pandas.read_json`: as `dataframe`, doubles are ujson's (not always the nearest), columns of texts that spell numbers are numbers, and columns of doubles that are all whole are integers",
    },
];

/// Name of the column with the number of the chunk of a row.
pub(super) const CHUNK_COLUMN: &str = "piece";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::kinds::tables) enum ReadDialect {
    Python,
    Dataframe,
    Ujson,
}

impl ReadDialect {
    pub fn of(declaration: &Declaration) -> ReadDialect {
        let has = declaration.has("dialect");
        match has.then(|| declaration.text("dialect")).flatten() {
            Some("dataframe") => ReadDialect::Dataframe,
            Some("ujson") => ReadDialect::Ujson,
            _ => ReadDialect::Python,
        }
    }

    /// The library that defines the syntax.
    pub fn grammar(self) -> JsonGrammar {
        match self {
            ReadDialect::Python | ReadDialect::Dataframe => JsonGrammar::Python,
            ReadDialect::Ujson => JsonGrammar::Ujson,
        }
    }

    /// How the library infers the types of columns. `None` if it does not build a table.
    pub fn typing(self) -> Option<FrameFunction> {
        match self {
            ReadDialect::Python => None,
            ReadDialect::Dataframe => Some(FrameFunction::DataFrame),
            ReadDialect::Ujson => Some(FrameFunction::ReadJson),
        }
    }
}

/// The number of lines that form a table of their own.
pub(super) fn chunksize(declaration: &Declaration) -> Option<u64> {
    let has = declaration.has("chunksize");
    has.then(|| declaration.natural("chunksize")).flatten()
}

/// Checks that chunks have at least one line, that their column name is free, and that the dialect uses them.
pub(super) fn check(declaration: &Declaration) -> Option<Diagnostic> {
    let size = chunksize(declaration)?;
    let mut columns = declaration.columns("columns").iter();
    if let Some(column) = columns.find(|column| column.name.value == CHUNK_COLUMN) {
        let message = "with `chunksize` the column `piece` says which piece a row is from";
        let fault = Diagnostic::error("duplicate-column", column.name.span, message);
        return Some(fault.help("remove it from `columns`; `record` has the member"));
    }
    if size == 0 {
        let fault = declaration.fault("chunksize", "bad-parameter", "a piece has no lines");
        return Some(fault.help("write 1 or more"));
    }
    let message = "`chunksize` says nothing about records that stay as they are";
    let is_python = ReadDialect::of(declaration) == ReadDialect::Python;
    is_python.then(|| {
        let fault = declaration.fault("chunksize", "no-effect", message);
        fault.help("remove it, or write `dialect: ujson` or `dialect: dataframe`")
    })
}
