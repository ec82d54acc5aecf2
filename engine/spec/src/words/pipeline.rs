//! The file's outermost sections.

use super::{Key, OUTPUT, Section, TABLE, Value};

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
            "lists",
            Value::Map {
                key: "a list's name",
                value: &Value::Texts,
            },
            "Named lists of texts for `one_hot(column, list)` and `constants(value, list)`.",
            "{ authors: [EAP, HPL, MWS] }",
        ),
        Key::optional(
            "tables",
            Value::Map {
                key: "a table's name",
                value: &TABLE,
            },
            "Named, ordered sequences of rows: read from the bundle, or made by a query.",
            "{ labelled: { read: train.csv } }",
        ),
        Key::optional(
            "split",
            Value::Split,
            "Divides the rows of one table into two new tables.",
            "{ rows: labelled, method: shuffle, test_size: 0.1, seed: 0 }",
        ),
        Key::optional(
            "public",
            Value::Map {
                key: "an output's path",
                value: &OUTPUT,
            },
            "What a participant gets.",
            "{ train.csv: SELECT * FROM train }",
        ),
        Key::optional(
            "private",
            Value::Map {
                key: "an output's path",
                value: &OUTPUT,
            },
            "What only the grader sees.",
            "{ answers.csv: SELECT * FROM test }",
        ),
        Key::optional(
            "checks",
            Value::Map {
                key: "a check's name",
                value: &Value::Query,
            },
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
            "variants",
            Value::Section(&VARIANTS),
            "Other versions of the pipeline, as differences from what the file says: mappings are merged, everything else is replaced, and `null` removes a key.",
            "{ fixed: { split: { seed: 1 } } }",
        ),
    ],
};

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

pub static VARIANTS: Section = Section {
    name: "the section `variants`",
    doc: "The file itself is variant `v1`.",
    keys: &[Key::optional(
        "fixed",
        Value::Patch,
        "Corrects what `v1` keeps for the sake of published scores.",
        "{ split: { seed: 1 } }",
    )],
};
