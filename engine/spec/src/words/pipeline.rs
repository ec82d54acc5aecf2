//! Describes the outermost sections of a pipeline file.

use super::{KeyType, Section, SectionKey, Word};
use crate::text::diagnostic::Spanned;

/// Maximum number of corrections of a pipeline, because each combination of corrections is checked.
pub const MAX_CORRECTIONS: usize = 5;

/// The whole file.
pub static PIPELINE: Section = Section {
    name: "the pipeline",
    doc: "The file `pipelines/ID/pipeline.yaml` describes one competition, from Kaggle's archive to the score.",
    keys: &[
        SectionKey::required(
            "name",
            KeyType::Text,
            "Title of the competition.",
            "Spooky Author Identification",
        ),
        SectionKey::required(
            "category",
            KeyType::Text,
            "Category of its task.",
            "Text Classification",
        ),
        SectionKey::optional(
            "bundle",
            KeyType::Section(&BUNDLE),
            "The archive that Kaggle serves. Required unless all paths are in `sources`.",
            "{ kaggle: spooky-author-identification }",
        ),
        SectionKey::optional(
            "sources",
            KeyType::FurtherSources,
            "Sources in addition to the bundle, by name. A path in a source is written `NAME:path`.",
            "{ labels: { url: https://example.org/labels.zip } }",
        ),
        SectionKey::optional(
            "lists",
            KeyType::Lists,
            "Named lists of strings for queries (`column IN list`, `FROM list`, `one_hot(column, list)`, `multi_hot(column, list)`, `constants(value, list)`, `columns(list)`) and for grading (`{ list: NAME }`).",
            "{ authors: [EAP, HPL, MWS] }",
        ),
        SectionKey::optional(
            "defaults",
            KeyType::Defaults,
            "Default values of optional keys, for each kind. They apply to all tables and outputs of the kind that support the key and do not set it. A table or output that sets the key to `null` does not use the default.",
            "{ csv: { quoting: nonnumeric }, read: { float_precision: high } }",
        ),
        SectionKey::optional(
            "tables",
            KeyType::Tables,
            "Named, ordered sequences of rows: read from the bundle, selected by a query, or created by a split. If a kind creates two tables, the key contains both names: `train, test:`.",
            "{ labelled: { read: train.csv } }",
        ),
        SectionKey::optional(
            "public",
            KeyType::Outputs,
            "Files for participants.",
            "{ train.csv: SELECT * FROM train }",
        ),
        SectionKey::optional(
            "private",
            KeyType::Outputs,
            "Files for the grader only.",
            "{ answers.csv: SELECT * FROM test }",
        ),
        SectionKey::optional(
            "checks",
            KeyType::Checks,
            "The checks `unique`, `disjoint` and `each`, and queries that must return no row.",
            "{ disjoint: train.id and test.id, no label: SELECT id FROM train WHERE label IS NULL }",
        ),
        SectionKey::optional(
            "grade",
            KeyType::Grade,
            "How submissions are validated and scored.",
            "{ answers: private/answers.csv, rules: [same_rows], metric: { accuracy: label } }",
        ),
        SectionKey::optional(
            "accepted",
            KeyType::Reasons,
            "Accepted leaks, each with the reason. If the name is a detector of `prep leaks`, the detector's findings are accepted. Any other name stands for a leak that the data do not show.",
            "{ groups: pictures of one patient are in both parts as in the original }",
        ),
        SectionKey::optional(
            "variants",
            KeyType::Section(&VARIANTS),
            "Corrections, as differences from the rest of the file: mappings are merged, other values are replaced, and `null` removes a key.",
            "{ fixed: { 63: { public: { train.csv: null } } } }",
        ),
    ],
};

/// The section `bundle`.
pub static BUNDLE: Section = Section {
    name: "the bundle",
    doc: "The archive that Kaggle serves.",
    keys: &[
        SectionKey::required(
            "kaggle",
            KeyType::Text,
            "Kaggle's name of the competition.",
            "spooky-author-identification",
        ),
        SectionKey::optional(
            "md5",
            KeyType::Md5,
            "Published MD5 of the archive.",
            "8f12d4f1f138f3867e881293b9bc54ee",
        ),
    ],
};

/// An entry of `sources`.
pub static SOURCE: Section = Section {
    name: "the source",
    doc: "A source is a file at a URL (`url`) or a directory (`folder`). For example, the source `labels` contains \
    the file `labels.zip`. The path of this file is `labels:labels.zip`, and the path of its member `test.csv` is \
    `labels:labels.zip/test.csv`.",
    keys: &[
        SectionKey::optional(
            "url",
            KeyType::Url,
            "URL of a file, which is downloaded like a bundle.",
            "https://example.org/labels.zip?download=1",
        ),
        SectionKey::optional(
            "file",
            KeyType::Path,
            "Name of the file at `url`. Default: the last part of the URL's path.",
            "labels.zip",
        ),
        SectionKey::optional(
            "md5",
            KeyType::Md5,
            "Published MD5 of the file.",
            "8f12d4f1f138f3867e881293b9bc54ee",
        ),
        SectionKey::optional(
            "sha256",
            KeyType::Sha256,
            "Published SHA-256 of the file.",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        ),
        SectionKey::optional(
            "size",
            KeyType::Natural,
            "Length of the file in bytes, to estimate the required disk space.",
            "1234567",
        ),
        SectionKey::optional(
            "member",
            KeyType::Path,
            "Member of the bundle that is used instead of downloading the file at `url`. Without this key, a member with the name of the file is used only if it has the published checksum.",
            "labels.zip",
        ),
        SectionKey::optional(
            "folder",
            KeyType::Text,
            "A directory with all files below it: an absolute path, or relative to the directory of the pipeline's file.",
            "../labels",
        ),
    ],
};

/// The section `grade`.
pub static GRADE: Section = Section {
    name: "the grading",
    doc: "How submissions are validated and scored. The section also contains the keys of the metric and of the \
    rules. In the values of these keys, `{ list: NAME }` stands for the list NAME of the section `lists`. As an item \
    of another list, it stands for the strings of the list NAME: `[id, { list: labels }]`.",
    keys: &[
        SectionKey::required(
            "answers",
            KeyType::Path,
            "The output with the answers. It must be private.",
            "private/answers.csv",
        ),
        SectionKey::optional(
            "sample",
            KeyType::Path,
            "The output with the sample submission. Default: `public/sample_submission.csv`.",
            "public/sample_submission.csv",
        ),
        SectionKey::optional(
            "invalid_sample",
            KeyType::Text,
            "The reason why the sample submission is invalid. Without this key, a run fails if the sample is invalid.",
            "the sample has a row per image, a submission one per object",
        ),
    ],
};

/// The section `variants`.
pub static VARIANTS: Section = Section {
    name: "the section `variants`",
    doc: "The file itself is variant `v1`. The variant `fixed` has all corrections, `fixed:63` only the correction `63`. Corrections are applied in file order.",
    keys: &[SectionKey::optional(
        "fixed",
        KeyType::Corrections,
        "Corrections of defects that `v1` keeps for compatibility with published scores, each written as its differences from the rest of the file. The name of a correction is the number of an issue of openai/mle-bench, or a word.",
        "{ 63: { public: { train.csv: null } } }",
    )],
};

/// The named checks, with their forms.
pub static CHECKS: &[Word] = &[
    Word {
        name: "unique",
        doc: "`TABLE.COLUMN`: no two rows have the same value.",
    },
    Word {
        name: "disjoint",
        doc: "`TABLE.COLUMN and TABLE.COLUMN`: no value is in both columns.",
    },
    Word {
        name: "each",
        doc: "`TABLE.COLUMN in TABLE.COLUMN`: each value of the first column is in the second.",
    },
];

/// A declared column. A file that does not conform to the column's type is an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The column's name.
    pub name: Spanned<String>,
    /// The column's type.
    pub kind: ColumnKind,
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// The text in the file.
    Text,
    /// A 64-bit integer.
    Integer,
    /// A double.
    Number,
    /// `True` or `False`.
    Boolean,
    /// A JSON value.
    Json,
    /// The type that pandas infers from the entire column.
    Inferred,
}

impl ColumnKind {
    /// Returns the name of the type in the pipeline language.
    pub fn name(self) -> &'static str {
        match self {
            ColumnKind::Text => "text",
            ColumnKind::Integer => "integer",
            ColumnKind::Number => "number",
            ColumnKind::Boolean => "boolean",
            ColumnKind::Json => "json",
            ColumnKind::Inferred => "inferred",
        }
    }
}
