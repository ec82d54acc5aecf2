//! `empty`: a folder without files.

use prep_core::{Context, Inputs, Outputs, Step, StepError};
use prep_spec::words::{Form, Key, Makes, Section, Value};

use crate::kinds::{Kind, one};
use crate::value::{Tree, TreeEntry};

pub(crate) static KIND: Kind = Kind {
    form: Form {
        section: Section {
            name: "an empty folder",
            doc: "A folder without files.",
            keys: &[Key::required(
                "empty",
                Value::True,
                "Always `true`.",
                "true",
            )],
        },
        methods: &[],
        makes: Makes::Empty,
        check: None,
    },
    step: |_, _| Some(Box::new(Empty)),
};

struct Empty;

impl Step for Empty {
    fn kind(&self) -> &'static str {
        "empty"
    }

    fn version(&self) -> u32 {
        3
    }

    fn params(&self) -> serde_json::Value {
        serde_json::Value::Null
    }

    fn run(&self, context: &Context, _inputs: &Inputs) -> Result<Outputs, StepError> {
        let folder = TreeEntry {
            path: String::new(),
            content: None,
        };
        Ok(one(Tree::new(vec![folder])
            .map_err(StepError::internal)?
            .save(context)?))
    }
}
