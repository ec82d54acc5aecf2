//! `json`: a table as a JSON list.

use prep_spec::words::{KeyType, KindSpec, Produces, Section, SectionKey};

use super::dialect::{DIALECT, INDENT, SORT_KEYS, check, dialect};
use crate::emit::write_json;
use crate::kinds::StepKind;
use crate::kinds::function_step::FunctionStep;

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a JSON file",
            doc: "A table as a JSON list, as Python's `json.dump` writes it. An element is an object with the cells of a row. If the only column is `record`, it is the record itself.",
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
