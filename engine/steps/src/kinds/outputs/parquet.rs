//! `parquet`: a table as Apache Parquet.

use prep_spec::words::{Form, Key, Makes, Section, Value};

use super::export::Export;
use crate::emit::write_parquet;
use crate::kinds::Kind;

pub(crate) static KIND: Kind = Kind {
    form: Form {
        section: Section {
            name: "a parquet file",
            doc: "A table as Apache Parquet.",
            keys: &[Key::required(
                "parquet",
                Value::Rows,
                "The rows.",
                "SELECT * FROM train",
            )],
        },
        methods: &[],
        makes: Makes::File(&[".parquet"]),
        check: None,
    },
    step: |declaration, session| {
        let query = declaration.query("parquet")?;
        Export::step(
            "parquet",
            query,
            serde_json::json!({}),
            session,
            write_parquet,
        )
    },
};
