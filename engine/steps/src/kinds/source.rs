//! `source`: what a further source brought, as a tree.
//!
//! Paths begin with `NAME:`, so that a file has one name among all sources of a pipeline.

use prep_core::{Context, FileValue, FolderValue, Inputs, Outputs, Step, StepError};
use prep_spec::split_source;

use super::one;
use crate::value::{Content, TreeBuilder, input};

pub(crate) struct SourceTree {
    pub name: String,
    /// The source is one file, of this name; else a folder.
    pub file: Option<String>,
}

impl Step for SourceTree {
    fn kind(&self) -> &'static str {
        "source"
    }

    fn version(&self) -> u32 {
        2
    }

    fn params(&self) -> serde_json::Value {
        serde_json::json!({ "name": self.name, "file": self.file })
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let value = input(inputs, "source")?;
        let mut files = TreeBuilder::default();
        let mut push = |path: &str, digest, bytes| {
            let content = Content::Object { digest, bytes };
            files.push(&format!("{}:{path}", self.name), Some(&content));
        };
        match &self.file {
            Some(name) => {
                let file = FileValue::of(value)?;
                push(name, file.digest, file.bytes);
            }
            None => {
                for (path, file) in FolderValue::of(value)?.files {
                    push(&path, file.digest, file.bytes);
                }
            }
        }
        let tree = files.finish(&context.cancel).map_err(StepError::internal)?;
        Ok(one(tree.save(context)?))
    }
}

/// What a message calls the source of a path, and the path in it.
pub(crate) fn holder(path: &str) -> (String, &str) {
    match split_source(path) {
        (Some(source), inner) => (format!("the source `{source}`"), inner),
        (None, path) => ("the bundle".to_owned(), path),
    }
}
