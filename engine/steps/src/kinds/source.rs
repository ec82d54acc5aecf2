//! `source`: the files of a further source as a tree.
//!
//! Paths begin with `NAME:`, so that paths are unique among all sources of a pipeline.

use prep_core::{DirectoryValue, FileValue, StepError};

use super::function_step::FunctionStep;
use crate::value::{ContentRef, TreeBuilder, input};

/// Builds the tree of the source `name`. `file` is the name of its only file. `None` for a directory.
pub(crate) fn source_tree(name: String, file: Option<String>) -> FunctionStep {
    let params = serde_json::json!({ "name": name, "file": file });
    FunctionStep::new("source", 2, params, move |context, inputs| {
        let value = input(inputs, "source")?;
        let mut files = TreeBuilder::default();
        let mut push = |path: &str, digest, bytes| {
            let content = ContentRef::Object { digest, bytes };
            files.push(&format!("{name}:{path}"), Some(&content));
        };
        match &file {
            Some(name) => {
                let file = FileValue::from_value(value)?;
                push(name, file.digest, file.bytes);
            }
            None => {
                for (path, file) in DirectoryValue::from_value(value)?.files {
                    push(&path, file.digest, file.bytes);
                }
            }
        }
        let tree = files.finish(&context.cancel).map_err(StepError::internal)?;
        tree.save(context)
    })
}
