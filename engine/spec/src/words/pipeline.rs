//! The outermost sections of a pipeline file.

use super::{Key, Section, Value};

/// The whole file.
pub static PIPELINE: Section = Section {
    name: "the pipeline",
    doc: "A file `pipelines/ID/pipeline.yaml`: one competition, from Kaggle's archive to the grade.",
    keys: &[
        Key::required(
            "name",
            Value::Text,
            "Title of the competition.",
            "Spooky Author Identification",
        ),
        Key::required(
            "category",
            Value::Text,
            "What kind of task it is.",
            "Text Classification",
        ),
        Key::required(
            "bundle",
            Value::Section(&BUNDLE),
            "The archive that Kaggle serves.",
            "{ kaggle: spooky-author-identification }",
        ),
        Key::optional(
            "sources",
            Value::FurtherSources,
            "Further sources beside the bundle, by name. A path in one of them is written `NAME:path`.",
            "{ labels: { url: https://example.org/labels.zip } }",
        ),
        Key::optional(
            "lists",
            Value::Lists,
            "Named lists of texts: for queries (`column IN list`, `FROM list`, `one_hot(column, list)`, `multi_hot(column, list)`, `constants(value, list)`) and for grading (`{ list: NAME }`).",
            "{ authors: [EAP, HPL, MWS] }",
        ),
        Key::optional(
            "tables",
            Value::Tables,
            "Named, ordered sequences of rows: read from the bundle, made by a query, or divided. A kind that makes two tables has two names: `train, test:`.",
            "{ labelled: { read: train.csv } }",
        ),
        Key::optional(
            "public",
            Value::Outputs,
            "What a participant gets.",
            "{ train.csv: SELECT * FROM train }",
        ),
        Key::optional(
            "private",
            Value::Outputs,
            "What only the grader sees.",
            "{ answers.csv: SELECT * FROM test }",
        ),
        Key::optional(
            "checks",
            Value::Checks,
            "Queries that must return no row.",
            "{ disjoint: SELECT id FROM train INTERSECT SELECT id FROM test }",
        ),
        Key::optional(
            "grade",
            Value::Grade,
            "How a submission is validated and scored.",
            "{ answers: private/answers.csv, sample: public/sample_submission.csv }",
        ),
        Key::optional(
            "accepted",
            Value::Reasons,
            "What is known to give answers away and is left as it is, with the reason: detectors of `prep leaks`, and what no look at the data can find.",
            "{ groups: pictures of one patient are in both parts as in the original }",
        ),
        Key::optional(
            "variants",
            Value::Section(&VARIANTS),
            "Other versions of the pipeline, as differences from what the file says: mappings are merged, everything else is replaced, and `null` removes a key.",
            "{ fixed: { public: { train.csv: null } } }",
        ),
    ],
};

/// The section `bundle`.
pub static BUNDLE: Section = Section {
    name: "the bundle",
    doc: "The archive that Kaggle serves.",
    keys: &[
        Key::required(
            "kaggle",
            Value::Text,
            "Kaggle's name of the competition.",
            "spooky-author-identification",
        ),
        Key::optional(
            "md5",
            Value::Md5,
            "Published MD5 of the archive.",
            "8f12d4f1f138f3867e881293b9bc54ee",
        ),
    ],
};

/// An entry of `sources`.
pub static SOURCE: Section = Section {
    name: "the source",
    doc: "A file at an address (`url`), or a folder (`folder`). The file is the one path of its source: `labels:labels.zip`, and what is in it `labels:labels.zip/test.csv`.",
    keys: &[
        Key::optional(
            "url",
            Value::Url,
            "Address of a file, which is downloaded as a bundle is.",
            "https://example.org/labels.zip?download=1",
        ),
        Key::optional(
            "file",
            Value::Path,
            "Name of the file at `url`. Default: the last part of the address's path.",
            "labels.zip",
        ),
        Key::optional(
            "md5",
            Value::Md5,
            "Published MD5 of the file.",
            "8f12d4f1f138f3867e881293b9bc54ee",
        ),
        Key::optional(
            "sha256",
            Value::Sha256,
            "Published SHA-256 of the file.",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        ),
        Key::optional(
            "size",
            Value::Natural,
            "Length of the file in bytes, for the estimate of disk.",
            "1234567",
        ),
        Key::optional(
            "folder",
            Value::Text,
            "A folder with all files below it: absolute, or relative to the folder of the pipeline's file.",
            "../labels",
        ),
    ],
};

/// The section `grade`.
pub static GRADE: Section = Section {
    name: "the grading",
    doc: "How a submission is validated and scored. Besides these keys it has those of the metric and its rules, in which `{ list: NAME }` stands for one of `lists`.",
    keys: &[
        Key::required(
            "answers",
            Value::Path,
            "The output with the answers. It is private.",
            "private/answers.csv",
        ),
        Key::required(
            "sample",
            Value::Path,
            "The output that shows what a submission looks like.",
            "public/sample_submission.csv",
        ),
    ],
};

/// The section `variants`.
pub static VARIANTS: Section = Section {
    name: "the section `variants`",
    doc: "The file itself is variant `v1`.",
    keys: &[Key::optional(
        "fixed",
        Value::Patch,
        "Corrects what `v1` keeps for the sake of published scores.",
        "{ public: { train.csv: null } }",
    )],
};
