//! Writes tables as files: `csv`, `json`, `json_lines`, `lines`, `npy`, `parquet` and `bson`. Tables do not contain the
//! long binary values of BSON documents. Therefore `bson` copies these values from the bundle.

use std::io::Write;

use prep_core::{FileValue, StepError, Value};
use prep_formats::bson::push_json;
use prep_formats::pandas::{CsvDialect, LineEnding, Quoting};
use prep_formats::parquet::WriterVersions;
use prep_spec::Diagnostic;
use prep_spec::model::Declaration;
use prep_spec::words::{KeyType, KindSpec, Produces, Section, SectionKey, Word};

use crate::emit::{
    JsonFormat, JsonLibrary, for_each_record, write_csv, write_json, write_json_lines, write_lines,
    write_npy, write_parquet,
};
use crate::kinds::StepKind;
use crate::kinds::content_parts::ContentParts;
use crate::kinds::function_step::FunctionStep;
use crate::relation::QueryRun;

pub(crate) const CSV: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a CSV file",
            doc: "A table as CSV, in the format of pandas.",
            keys: &[
                SectionKey::required("csv", KeyType::Rows, "The rows.", "SELECT * FROM train"),
                SectionKey::optional(
                    "delimiter",
                    KeyType::Delimiter,
                    "Separator of the fields. Default: a comma; a tab for `.tsv`.",
                    "tab",
                ),
                SectionKey::optional(
                    "quoting",
                    KeyType::Word(QUOTING),
                    "The fields that are quoted. Default: `minimal`.",
                    "nonnumeric",
                ),
                SectionKey::optional(
                    "line_ending",
                    KeyType::Word(LINE_ENDINGS),
                    "The end of each line. Default: `lf`.",
                    "crlf",
                ),
            ],
        },
        methods: &[],
        makes: Produces::File(&[".csv", ".tsv"]),
        check: None,
    },
    step: |declaration, session| {
        let delimiter = delimiter(declaration);
        let word = declaration.text("quoting").unwrap_or("minimal");
        let quoting = match word {
            "nonnumeric" => Quoting::NonNumeric,
            "all" => Quoting::All,
            _ => Quoting::Minimal,
        };
        let mut params = serde_json::json!({ "delimiter": char::from(delimiter), "quoting": word });
        let line_ending = match declaration.text("line_ending") {
            Some("crlf") => LineEnding::CrLf,
            _ => LineEnding::Lf,
        };
        if line_ending == LineEnding::CrLf {
            params["line_ending"] = "crlf".into();
        }
        let dialect = CsvDialect {
            delimiter,
            quoting,
            line_ending,
        };
        let query = declaration.query("csv")?;
        FunctionStep::of_query("csv", query, params, session, move |run| {
            write_csv(run, dialect)
        })
        .step()
    },
};

const QUOTING: &[Word] = &[
    Word {
        name: "minimal",
        doc: "fields that need quotes",
    },
    Word {
        name: "nonnumeric",
        doc: "all fields except numbers",
    },
    Word {
        name: "all",
        doc: "all fields, as with pandas' `quoting=csv.QUOTE_ALL`",
    },
];

const LINE_ENDINGS: &[Word] = &[
    Word {
        name: "lf",
        doc: "LF",
    },
    Word {
        name: "crlf",
        doc: "CR LF, as Python's `csv.writer` writes by default. Strings with CR or LF are quoted",
    },
];

/// Returns the declared delimiter, or the usual one for the file name.
fn delimiter(declaration: &Declaration) -> u8 {
    let by_name = match Declaration::extension(&declaration.name.value).as_str() {
        "tsv" => b'\t',
        _ => b',',
    };
    declaration.delimiter("delimiter").unwrap_or(by_name)
}

pub(crate) const JSON: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a JSON file",
            doc: "A table as a JSON list, as Python's `json.dump` writes it. Each row becomes an object, with the names of the columns as keys. If the only column is `record`, each row becomes the JSON value of this column.",
            keys: &[
                SectionKey::required(
                    "json",
                    KeyType::Rows,
                    "The rows.",
                    "SELECT record FROM train",
                ),
                INDENT,
                SORT_KEYS,
                DIALECT,
            ],
        },
        methods: &[],
        makes: Produces::File(&[".json"]),
        check: Some(check),
    },
    step: |declaration, session| {
        let dialect = dialect(declaration);
        let params = serde_json::json!({ "dialect": dialect });
        let query = declaration.query("json")?;
        FunctionStep::of_query("json", query, params, session, move |run| {
            write_json(run, dialect)
        })
        .step()
    },
};

pub(crate) const JSON_LINES: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a file of JSON lines",
            doc: "A table as JSON lines, each ending with LF. Each row becomes an object, with the names of the columns as keys. If the only column is `record`, each row becomes the JSON value of this column.",
            keys: &[
                SectionKey::required(
                    "json_lines",
                    KeyType::Rows,
                    "The rows.",
                    "SELECT record FROM train",
                ),
                SORT_KEYS,
                DIALECT,
            ],
        },
        methods: &[],
        makes: Produces::File(&[".jsonl", ".ndjson"]),
        check: Some(check),
    },
    step: |declaration, session| {
        let dialect = dialect(declaration);
        let params = serde_json::json!({ "dialect": dialect });
        let query = declaration.query("json_lines")?;
        FunctionStep::of_query("json_lines", query, params, session, move |run| {
            write_json_lines(run, dialect)
        })
        .step()
    },
};

pub(super) const INDENT: SectionKey = SectionKey::optional(
    "indent",
    KeyType::Natural,
    "Spaces per level. Default: everything on one line.",
    "4",
);
pub(super) const SORT_KEYS: SectionKey = SectionKey::optional(
    "sort_keys",
    KeyType::True,
    "Sorts the keys of every object by code point.",
    "true",
);
pub(super) const DIALECT: SectionKey = SectionKey::optional(
    "dialect",
    KeyType::Word(DIALECTS),
    "The library whose format is written. Default: `python`.",
    "ujson",
);

const DIALECTS: &[Word] = &[
    Word {
        name: "python",
        doc: "Python's `json.dump`",
    },
    Word {
        name: "ujson",
        doc: "pandas' `to_json`: no spaces, `/` escaped, at most ten fraction digits",
    },
];

/// Returns the declared JSON format: the library, the indentation, and whether keys are sorted.
pub(super) fn dialect(declaration: &Declaration) -> JsonFormat {
    let has = |key: &str| declaration.has(key);
    let indent = has("indent")
        .then(|| declaration.natural("indent"))
        .flatten();
    JsonFormat {
        writer: match has("dialect")
            .then(|| declaration.text("dialect"))
            .flatten()
        {
            Some("ujson") => JsonLibrary::Ujson,
            _ => JsonLibrary::Python,
        },
        indent: indent.and_then(|indent| usize::try_from(indent).ok()),
        sort_keys: has("sort_keys"),
    }
}

/// Reports `indent` and `sort_keys`, which have no effect with the dialect `ujson`.
pub(super) fn check(declaration: &Declaration) -> Vec<Diagnostic> {
    if dialect(declaration).writer == JsonLibrary::Python {
        return Vec::new();
    }
    let keys = ["indent", "sort_keys"].into_iter();
    keys.filter(|key| declaration.has(key))
        .map(|key| {
            let message = format!("the dialect `ujson` has no `{key}`");
            let fault = declaration.fault(key, "no-effect", message);
            fault.help("remove it, or write `dialect: python`")
        })
        .collect()
}

pub(crate) const LINES: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a text file",
            doc: "A text file without a header: one line for each string in the query's first column. Every line ends \
            with LF, and a missing string becomes an empty line.\n\nA second, boolean column is optional. If the \
            value of this column is false, no LF follows the line.",
            keys: &[SectionKey::required(
                "lines",
                KeyType::Lines,
                "The lines.",
                "SELECT line, ended FROM train",
            )],
        },
        methods: &[],
        makes: Produces::File(&[]),
        check: None,
    },
    step: |declaration, session| {
        let query = declaration.query("lines")?;
        FunctionStep::of_query("lines", query, serde_json::json!({}), session, write_lines).step()
    },
};

pub(crate) const NPY: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a NumPy array",
            doc: "Writes entries of a NumPy array, in the format of `numpy.save`. The query must select only the column `record` of a table that was read from an array. The entries keep their type and shape.",
            keys: &[SectionKey::required(
                "npy",
                KeyType::Entries,
                "The rows.",
                "SELECT record FROM frames",
            )],
        },
        methods: &[],
        makes: Produces::File(&[".npy"]),
        check: None,
    },
    step: |declaration, session| {
        let query = declaration.query("npy")?;
        FunctionStep::of_query("npy", query, serde_json::json!({}), session, write_npy).step()
    },
};

pub(crate) const PARQUET: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a parquet file",
            doc: "A table as Apache Parquet. The bytes of the file depend on the library that writes it, and on the \
                  version of this library. If the keys `fastparquet` and `pandas` name versions of these Python \
                  libraries, `prep` writes the same bytes as these versions. Without the two keys, `prep` uses its own \
                  writer.\n\n\
                  A published checksum can only match if the keys name the versions that wrote the published file. If \
                  the checksum does not match, the run continues, and reports the checksum as `depends on the writer`.",
            keys: &[
                SectionKey::required("parquet", KeyType::Rows, "The rows.", "SELECT * FROM train"),
                SectionKey::optional(
                    "fastparquet",
                    KeyType::Text,
                    "Version of fastparquet whose `to_parquet` is reproduced. Default: the writer of `prep`.",
                    "2024.5.0",
                ),
                SectionKey::optional(
                    "pandas",
                    KeyType::Text,
                    "Version of pandas that fastparquet uses.",
                    "2.2.2",
                ),
            ],
        },
        methods: &[],
        makes: Produces::File(&[".parquet"]),
        check: Some(check_versions),
    },
    step: |declaration, session| {
        let query = declaration.query("parquet")?;
        let versions = versions(declaration);
        let params = match &versions {
            Some(versions) => {
                serde_json::json!({ "fastparquet": versions.fastparquet(), "pandas": versions.pandas() })
            }
            None => serde_json::json!({}),
        };
        FunctionStep::of_query("parquet", query, params, session, move |run| {
            write_parquet(run, versions.as_ref())
        })
        .step()
    },
};

/// Returns the versions of the libraries to reproduce. `None` if `prep` uses its own writer.
fn versions(declaration: &Declaration) -> Option<WriterVersions> {
    let (fastparquet, pandas) = (
        declaration.text("fastparquet")?,
        declaration.text("pandas")?,
    );
    WriterVersions::new(fastparquet, pandas).ok()
}

fn check_versions(declaration: &Declaration) -> Vec<Diagnostic> {
    let fault = |key, message: String| vec![declaration.fault(key, "parquet-writer", message)];
    match (declaration.text("fastparquet"), declaration.text("pandas")) {
        (Some(fastparquet), Some(pandas)) => match WriterVersions::new(fastparquet, pandas) {
            Ok(_) => Vec::new(),
            Err(error) => {
                // With a valid version of pandas, an error can only concern fastparquet.
                let key = if WriterVersions::new(fastparquet, "2").is_err() {
                    "fastparquet"
                } else {
                    "pandas"
                };
                fault(key, error.to_string())
            }
        },
        (Some(_), None) => fault(
            "fastparquet",
            "`fastparquet` needs `pandas`, because the Parquet file records the versions of both libraries".into(),
        ),
        (None, Some(_)) => fault(
            "pandas",
            "`pandas` needs `fastparquet`, because it is the version of pandas that fastparquet uses".into(),
        ),
        (None, None) => Vec::new(),
    }
}

pub(crate) const BSON: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a BSON file",
            doc: "BSON documents, one after another, as pymongo encodes them. Each row becomes a document, with the names of the columns as keys. If the only column is `record`, each row becomes the document in this column.",
            keys: &[SectionKey::required(
                "bson",
                KeyType::Documents,
                "The documents.",
                "SELECT record FROM train",
            )],
        },
        methods: &[],
        makes: Produces::File(&[".bson"]),
        check: None,
    },
    step: |declaration, session| {
        let query = declaration.query("bson")?;
        FunctionStep::of_query("bson", query, serde_json::json!({}), session, write_bson).step()
    },
};

/// Writes the rows of a query as BSON documents. Reads their long binary values from the bundle.
fn write_bson(run: QueryRun<'_>) -> Result<Value, StepError> {
    let mut out = run.context.store.writer()?;
    let mut parts = ContentParts::new(run.context, run.inputs)?;
    let mut document = Vec::new();
    let (count, columns) = for_each_record(run, |value| {
        document.clear();
        let pushed = push_json(value, &mut document, &mut |binary, out| {
            parts.read(&binary.file, binary.at, binary.bytes, out)
        });
        pushed.map_err(StepError::input)?;
        out.write_all(&document).map_err(StepError::machine)
    })?;
    Ok(FileValue::table(out.commit()?, count, columns).into_value())
}
