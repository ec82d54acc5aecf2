//! The kinds of tables.

use super::{Key, Section, Value, Word};

/// A table: a query, or one of [`TABLES`].
pub static TABLE: Value = Value::QueryOr(TABLES);

pub static TABLES: &[&Section] = &[&READ, &FILES, &TEXT_LINES, &PIXELS, &TFRECORDS];

pub static READ: Section = Section {
    name: "a table that is read",
    doc: "One file of the bundle.",
    keys: &[
        Key::required(
            "read",
            Value::Path,
            "Path in the bundle. A segment that names an archive is entered.",
            "train.zip/train.csv",
        ),
        Key::optional(
            "format",
            Value::Word(FORMATS),
            "How the file is written. Default: by its name.",
            "json_lines",
        ),
        Key::optional(
            "columns",
            Value::Columns,
            "Columns that the file must have, each with its type; a list of names for columns that are `inferred`. Further columns of the file are part of `*`, and `inferred`.",
            "{ id: integer, text: text, note: inferred }",
        ),
        Key::optional(
            "delimiter",
            Value::Delimiter,
            "Separator of a CSV file's fields. Default: a comma; a tab for `.tsv`.",
            "tab",
        ),
        Key::optional(
            "float_precision",
            Value::Word(FLOAT_PRECISION),
            "How decimals of a CSV file become numbers. Default: `round_trip`.",
            "high",
        ),
    ],
};

pub static FILES: Section = Section {
    name: "a table of files",
    doc: "A row per file of the bundle, sorted by path (code points). Columns: `file`, `dir`, `folder` (last part of `dir`), `name`, `stem`, `ext`, `size`.",
    keys: &[Key::required(
        "files",
        Value::Glob,
        "Path in the bundle with `*`, `?`, `[...]`, `{a,b}` (none of which match a `/`) or `**`.",
        "train.zip/train/*.jpg",
    )],
};

pub static TEXT_LINES: Section = Section {
    name: "a table of lines",
    doc: "A row per line of text files in UTF-8; LF, CR LF and CR each end a line. Columns: `file`, `stem`, `number` (from 1 in each file), `line` (missing where it is empty).",
    keys: &[Key::required(
        "text_lines",
        Value::Table,
        "Table whose column `file` names the text files.",
        "texts",
    )],
};

pub static PIXELS: Section = Section {
    name: "a table of pixels",
    doc: "A row per pixel of PNG files. Columns: `file`, `stem`, `row` and `col` (from 1), `grey` (0 to 255).",
    keys: &[Key::required(
        "pixels",
        Value::Table,
        "Table whose column `file` names the PNG files.",
        "pages",
    )],
};

pub static TFRECORDS: Section = Section {
    name: "a table of TFRecords",
    doc: "A row per record of TFRecord files. Columns: `file`, and the features.",
    keys: &[
        Key::required(
            "tfrecords",
            Value::Table,
            "Table whose column `file` names the TFRecord files.",
            "shards",
        ),
        Key::required(
            "features",
            Value::Columns,
            "Features that become columns, each with its type.",
            "[image_name]",
        ),
    ],
};

pub static FORMATS: &[Word] = &[
    Word {
        name: "csv",
        doc: "comma-separated values, `.csv`, `.tsv`",
    },
    Word {
        name: "json",
        doc: "one JSON value, `.json`",
    },
    Word {
        name: "json_lines",
        doc: "a JSON value per line, `.jsonl`, `.ndjson`",
    },
    Word {
        name: "parquet",
        doc: "Apache Parquet, `.parquet`",
    },
    Word {
        name: "npy",
        doc: "a NumPy array, `.npy`: a row per entry of the first axis, in the hidden column `record`; if there is no other axis, its value is the column `value`",
    },
];

pub static FLOAT_PRECISION: &[Word] = &[
    Word {
        name: "round_trip",
        doc: "correctly rounded",
    },
    Word {
        name: "high",
        doc: "as pandas' default parser rounds",
    },
];

pub static COLUMN_KINDS: &[Word] = &[
    Word {
        name: "text",
        doc: "the cell as it stands in the file",
    },
    Word {
        name: "integer",
        doc: "a whole number of 64 bits",
    },
    Word {
        name: "number",
        doc: "a double",
    },
    Word {
        name: "boolean",
        doc: "`True` or `False`",
    },
    Word {
        name: "json",
        doc: "a JSON value",
    },
    Word {
        name: "inferred",
        doc: "what pandas infers from the whole column; in queries the text that pandas prints of it",
    },
];
