//! The keys `dialect` and `chunksize`, which select the library whose reading of JSON is reproduced.

use prep_formats::json::{FrameFunction, JsonGrammar};
use prep_spec::Diagnostic;
use prep_spec::model::Declaration;
use prep_spec::words::{KeyType, SectionKey, Word};
use serde::Serialize;

pub(super) const DIALECT: SectionKey = SectionKey::optional(
    "dialect",
    KeyType::Word(DIALECTS),
    "The library whose reading of JSON is reproduced. With the dialects of pandas, the members of a column declared text are also converted to text in the record, as `astype(str)` does. Default: `python`.",
    "ujson",
);

pub(super) const CHUNKSIZE: SectionKey = SectionKey::optional(
    "chunksize",
    KeyType::Natural,
    "Number of lines per chunk. pandas reads each chunk as a separate table, so with the dialect `dataframe` or `ujson`, members and types are those of the chunk. The hidden column `piece` contains the number of the chunk, from 0. Default: all lines of the file are one chunk.",
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
        doc: "`pandas.read_json`: like `dataframe`, with three differences. Doubles are parsed by ujson and are not always the nearest, columns of texts with numbers become numbers, and columns of doubles without fractions become integers",
    },
];

/// Name of the column with the number of a row's chunk.
pub(super) const CHUNK_COLUMN: &str = "piece";

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

    /// The library that defines the syntax.
    pub fn grammar(self) -> JsonGrammar {
        match self {
            ReadDialect::Python | ReadDialect::Dataframe => JsonGrammar::Python,
            ReadDialect::Ujson => JsonGrammar::Ujson,
        }
    }

    /// Returns how the library infers the types of columns. `None` if it does not build a table.
    pub fn typing(self) -> Option<FrameFunction> {
        match self {
            ReadDialect::Python => None,
            ReadDialect::Dataframe => Some(FrameFunction::DataFrame),
            ReadDialect::Ujson => Some(FrameFunction::ReadJson),
        }
    }
}

/// Returns the declared number of lines per chunk. pandas reads each chunk as a separate table.
pub(super) fn chunksize(declaration: &Declaration) -> Option<u64> {
    let has = declaration.has("chunksize");
    has.then(|| declaration.natural("chunksize")).flatten()
}

/// Checks that `chunksize` is at least 1, that no declared column is named `piece`, and that the dialect depends on
/// chunks.
pub(super) fn check(declaration: &Declaration) -> Option<Diagnostic> {
    let size = chunksize(declaration)?;
    let mut columns = declaration.columns("columns").iter();
    if let Some(column) = columns.find(|column| column.name.value == CHUNK_COLUMN) {
        let message =
            "with `chunksize`, the column `piece` is reserved for the number of a row's chunk";
        let fault = Diagnostic::error("duplicate-column", column.name.span, message);
        return Some(fault.help("remove it from `columns`, and read the member from `record`"));
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
