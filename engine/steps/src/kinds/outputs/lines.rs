//! `lines`: texts, one per line.

use prep_spec::words::{Form, Key, Makes, Section, Value};

use super::export::export;
use crate::emit::write_lines;
use crate::kinds::StepKind;

pub(crate) static KIND: StepKind = StepKind {
    form: Form {
        section: Section {
            name: "a text file",
            doc: "Text line by line: the query has one column of texts, and there is no header. Every line ends with LF; a missing text is an empty line. A second column, a boolean, says which lines have an end: no LF follows where it is false.",
            keys: &[Key::required(
                "lines",
                Value::Lines,
                "The lines.",
                "SELECT line, ended FROM train",
            )],
        },
        methods: &[],
        makes: Makes::File(&[]),
        check: None,
    },
    step: |declaration, session| {
        let query = declaration.query("lines")?;
        export("lines", query, serde_json::json!({}), session, write_lines)
    },
};
