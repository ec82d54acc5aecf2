//! What an output can be.

use super::{Key, Section, Value, Word};

/// An output: a query (the file's name says the format, a path that ends in `/` makes a folder of files), or one of
/// [`OUTPUTS`].
pub static OUTPUT: Value = Value::QueryOr(OUTPUTS);

pub static OUTPUTS: &[&Section] = &[
    &CSV,
    &JSON,
    &PARQUET,
    &NPY,
    &LINES,
    &COPY,
    &EMPTY,
    &ZIP,
    &ZIP_STORED,
    &TAR,
    &SEVEN_ZIP,
];

pub static CSV: Section = Section {
    name: "a CSV file",
    doc: "A table as CSV, written as pandas writes it.",
    keys: &[
        Key::required("csv", Value::Query, "The rows.", "SELECT * FROM train"),
        Key::optional(
            "delimiter",
            Value::Delimiter,
            "Separator of the fields. Default: a comma; a tab for `.tsv`.",
            "tab",
        ),
        Key::optional(
            "quoting",
            Value::Word(QUOTING),
            "Which fields are quoted. Default: `minimal`.",
            "nonnumeric",
        ),
    ],
};

pub static JSON: Section = Section {
    name: "a JSON file",
    doc: "A table as a JSON list, as Python's `json.dump` writes it: an object per row; or the records themselves when the query has the one column `record`.",
    keys: &[
        Key::required(
            "json",
            Value::Query,
            "The rows.",
            "SELECT record FROM train",
        ),
        Key::optional(
            "indent",
            Value::Natural,
            "Spaces per level. Default: everything on one line.",
            "4",
        ),
    ],
};

pub static PARQUET: Section = Section {
    name: "a parquet file",
    doc: "A table as Apache Parquet.",
    keys: &[Key::required(
        "parquet",
        Value::Query,
        "The rows.",
        "SELECT * FROM train",
    )],
};

pub static NPY: Section = Section {
    name: "a NumPy array",
    doc: "Entries of an array, as `numpy.save` writes them: the query has the one column `record` of a table that was read from an array. Their type and shape stay.",
    keys: &[Key::required(
        "npy",
        Value::Query,
        "The rows.",
        "SELECT record FROM frames",
    )],
};

pub static LINES: Section = Section {
    name: "a text file",
    doc: "Text line by line: the query has one column of texts, and there is no header. Every line ends with LF; a missing text is an empty line.",
    keys: &[Key::required(
        "lines",
        Value::Query,
        "The lines.",
        "SELECT line FROM train",
    )],
};

pub static COPY: Section = Section {
    name: "a copy",
    doc: "A file of the bundle, byte by byte; a folder when both paths end in `/`.",
    keys: &[Key::required(
        "copy",
        Value::Path,
        "Path in the bundle.",
        "images/",
    )],
};

pub static EMPTY: Section = Section {
    name: "an empty folder",
    doc: "A folder without files.",
    keys: &[Key::required(
        "empty",
        Value::True,
        "Always `true`.",
        "true",
    )],
};

pub static ZIP: Section = Section {
    name: "a zip archive",
    doc: "A zip archive of outputs; its members are deflated.",
    keys: &[Key::required(
        "zip",
        Value::Members,
        "The members.",
        "{ train.csv: SELECT * FROM train }",
    )],
};

pub static ZIP_STORED: Section = Section {
    name: "a zip archive without compression",
    doc: "A zip archive of outputs; its members are stored as they are.",
    keys: &[Key::required(
        "zip_stored",
        Value::Members,
        "The members.",
        "{ ./: { copy: images/ } }",
    )],
};

pub static TAR: Section = Section {
    name: "a tar archive",
    doc: "A tar archive of outputs.",
    keys: &[Key::required(
        "tar",
        Value::Members,
        "The members.",
        "{ ./: { copy: images/ } }",
    )],
};

pub static SEVEN_ZIP: Section = Section {
    name: "a 7z archive",
    doc: "A 7z archive of outputs.",
    keys: &[Key::required(
        "7z",
        Value::Members,
        "The members.",
        "{ train.csv: SELECT * FROM train }",
    )],
};

pub static QUOTING: &[Word] = &[
    Word {
        name: "minimal",
        doc: "those that need it",
    },
    Word {
        name: "nonnumeric",
        doc: "all but numbers",
    },
];
