//! `json`: a table as a JSON list, as Python's `json.dump` writes it.

use prep_spec::words::{Form, Key, Makes, Section, Value};

use super::export::Export;
use crate::emit::write_json;
use crate::kinds::Kind;

pub(crate) static KIND: Kind = Kind {
    form: Form {
        section: Section {
            name: "a JSON file",
            doc: "A table as a JSON list, as Python's `json.dump` writes it: an object per row; or the records themselves when the query has the one column `record`.",
            keys: &[
                Key::required("json", Value::Rows, "The rows.", "SELECT record FROM train"),
                Key::optional(
                    "indent",
                    Value::Natural,
                    "Spaces per level. Default: everything on one line.",
                    "4",
                ),
            ],
        },
        methods: &[],
        makes: Makes::File(&[".json"]),
        check: None,
    },
    step: |declaration, session| {
        let indent = declaration.natural("indent");
        let indent = indent.and_then(|indent| usize::try_from(indent).ok());
        let params = serde_json::json!({ "indent": indent });
        let query = declaration.query("json")?;
        Export::step(
            "json",
            query,
            params,
            session,
            move |session, query, context, inputs| {
                write_json(session, query, context, inputs, indent)
            },
        )
    },
};
