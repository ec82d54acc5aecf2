//! `json_lines`: a table as JSON lines.

use prep_spec::words::{KeyType, KindSpec, Produces, Section, SectionKey};

use super::dialect::{DIALECT, SORT_KEYS, check, dialect};
use crate::emit::write_json_lines;
use crate::kinds::StepKind;
use crate::kinds::function_step::FunctionStep;

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a file of JSON lines",
            doc: "A table as JSON lines, each ending with LF. A line is an object with the cells of a row. If the only column is `record`, it is the record itself.",
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
