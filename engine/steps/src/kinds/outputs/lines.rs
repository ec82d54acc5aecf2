//! `lines`: texts, one per line.

use prep_spec::words::{KeyType, KindSpec, Produces, Section, SectionKey};

use crate::emit::write_lines;
use crate::kinds::StepKind;
use crate::kinds::function_step::FunctionStep;

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a text file",
            doc: "A text file without a header: one line for each text of the query's first column. Every line ends with LF, and a missing text is an empty line. A second, boolean column is optional. If it is false, no LF follows the line.",
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
