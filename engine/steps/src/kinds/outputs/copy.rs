//! `copy`: a file or a folder of the bundle, as it is.

use prep_core::{Context, Inputs, Outputs, Step, StepError};
use prep_spec::words::{Form, Key, Makes, Section, Value};
use thiserror::Error;

use crate::kinds::unpack::similar;
use crate::kinds::{Kind, holder, one};
use crate::value::{TreeBuilder, memory_of_trees, only_tree};

#[derive(Debug, Error)]
#[error("{} has no `{}`{}", holder(path).0, holder(path).1, .similar.as_ref().map(|name| format!("; it has `{name}`")).unwrap_or_default())]
pub(crate) struct Absent {
    pub path: String,
    pub similar: Option<String>,
}

pub(crate) static KIND: Kind = Kind {
    form: Form {
        section: Section {
            name: "a copy",
            doc: "A file of the bundle, byte by byte; a folder when both paths end in `/`.",
            keys: &[Key::required(
                "copy",
                Value::Source,
                "Path in the bundle.",
                "images/",
            )],
        },
        methods: &[],
        makes: Makes::Like("copy"),
        check: None,
    },
    step: |declaration, _| {
        let from = declaration.text("copy")?.to_owned();
        Some(Box::new(Copy { from }))
    },
};

struct Copy {
    /// Path in the bundle; a folder ends in `/`.
    from: String,
}

impl Step for Copy {
    fn kind(&self) -> &'static str {
        "copy"
    }

    fn version(&self) -> u32 {
        3
    }

    fn params(&self) -> serde_json::Value {
        serde_json::json!({ "from": self.from })
    }

    fn memory(&self, inputs: &Inputs) -> u64 {
        (16 << 20) + 2 * memory_of_trees(inputs)
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let tree = only_tree(context, inputs)?;
        let mut files = TreeBuilder::default();
        if self.from.ends_with('/') {
            for file in tree.below(&self.from) {
                let path = file.path().get(self.from.len()..).unwrap_or_default();
                files.push_file(path, file);
            }
        } else if let Some(file) = tree.find(&self.from).filter(|file| !file.is_folder()) {
            files.push_file("", file);
        }
        if files.is_empty() {
            let similar = similar(&tree, &self.from);
            return Err(StepError::input(Absent {
                path: self.from.clone(),
                similar,
            }));
        }
        Ok(one(files
            .finish(&context.cancel)
            .map_err(StepError::internal)?
            .save(context)?))
    }
}
