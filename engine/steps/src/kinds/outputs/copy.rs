//! `copy`: a file or a folder of the bundle, as it is.

use prep_core::{Context, Inputs, Outputs, Step, StepError};
use prep_spec::words::{Form, Key, Makes, Section, Value};
use thiserror::Error;

use crate::kinds::unpack::similar;
use crate::kinds::{Kind, one};
use crate::value::{Tree, TreeEntry, only_tree};

#[derive(Debug, Error)]
#[error("the bundle has no `{path}`{}", .similar.as_ref().map(|name| format!("; it has `{name}`")).unwrap_or_default())]
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
        1
    }

    fn params(&self) -> serde_json::Value {
        serde_json::json!({ "from": self.from })
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let tree = only_tree(context, inputs)?;
        let entries = if self.from.ends_with('/') {
            let inside = tree.entries().iter().filter_map(|entry| {
                let path = entry.path.strip_prefix(&self.from)?.to_owned();
                Some(TreeEntry {
                    path,
                    content: entry.content.clone(),
                })
            });
            inside.collect()
        } else {
            let content = tree.get(&self.from).cloned();
            content
                .map(|content| {
                    vec![TreeEntry {
                        path: String::new(),
                        content: Some(content),
                    }]
                })
                .unwrap_or_default()
        };
        if entries.is_empty() {
            let similar = similar(&tree, &self.from);
            return Err(StepError::input(Absent {
                path: self.from.clone(),
                similar,
            }));
        }
        Ok(one(Tree::new(entries)
            .map_err(StepError::internal)?
            .save(context)?))
    }
}
