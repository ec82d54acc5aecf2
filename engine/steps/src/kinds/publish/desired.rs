//! The tree to publish: the outputs of the pipeline, and the files of unpacked archives.

use prep_core::{Context, FileValue, Inputs, StepError, Value};

use super::manifest::PublishedOutput;
use super::{Publish, sums, write};
use crate::kinds::outputs::archive::add_output;
use crate::value::{Opener, OutputLayout, Tree, TreeBuilder, TreeFile};

impl Publish {
    /// Returns the tree of all files to publish, with paths below `prepared`.
    pub(super) fn desired(&self, context: &Context, inputs: &Inputs) -> Result<Tree, StepError> {
        let tree = self.layout(context, inputs)?;
        match self.expanded.is_empty() {
            true => Ok(tree),
            false => self.with_expanded(context, inputs, &tree),
        }
    }

    /// Adds the files of unpacked archives, except for files that the tree already contains.
    fn with_expanded(
        &self,
        context: &Context,
        inputs: &Inputs,
        tree: &Tree,
    ) -> Result<Tree, StepError> {
        let opener = Opener::new(context);
        let mut layout = OutputLayout::default();
        layout.add("outputs", |files| {
            for file in tree.files() {
                files.push_file(file.path(), file);
            }
            Ok::<(), StepError>(())
        })?;
        for (name, path) in &self.expanded {
            let mut inside = TreeBuilder::default();
            add_output(
                context,
                crate::value::input(inputs, name)?,
                path,
                &mut inside,
            )?;
            let inside = inside.finish(&context.cancel).map_err(StepError::input)?;
            layout.add(name, |files| {
                for file in inside.files() {
                    context.check()?;
                    match tree.find(file.path()) {
                        Some(existing) if has_same_bytes(context, &opener, existing, file)? => {}
                        // If two different files have the same path, `into_tree` fails.
                        _ => files.push_file(file.path(), file),
                    }
                }
                Ok::<(), StepError>(())
            })?;
        }
        layout
            .into_tree(write::folds_case(&self.home()), &context.cancel)
            .map_err(StepError::pipeline)
    }

    /// Returns the tree of all outputs. An empty directory stands for an output without files.
    fn layout(&self, context: &Context, inputs: &Inputs) -> Result<Tree, StepError> {
        let mut layout = OutputLayout::default();
        for (name, path) in &self.outputs {
            let value = crate::value::input(inputs, name)?;
            layout.add(path, |files| {
                let before = files.len();
                add_output(context, value, path, files)?;
                if files.len() == before {
                    let path = path.strip_suffix("/./").unwrap_or(path);
                    files.push(path.trim_end_matches('/'), None);
                }
                Ok::<(), StepError>(())
            })?;
        }
        layout
            .into_tree(write::folds_case(&self.home()), &context.cancel)
            .map_err(StepError::pipeline)
    }

    /// Describes each published output for the manifest.
    pub(super) fn summary(
        &self,
        context: &Context,
        inputs: &Inputs,
    ) -> Result<Vec<PublishedOutput>, StepError> {
        let outputs = self.outputs.iter().chain(&self.expanded);
        let outputs = outputs.map(|(name, path)| {
            let value: &Value = crate::value::input(inputs, name)?;
            if let Ok(file) = FileValue::from_value(value) {
                let FileValue {
                    digest,
                    bytes,
                    rows,
                    columns,
                    ..
                } = file;
                return Ok(PublishedOutput {
                    path: path.clone(),
                    files: 1,
                    bytes,
                    digest: Some(digest),
                    rows,
                    columns,
                });
            }
            let tree = Tree::load(context, value)?;
            let (files, bytes) = tree.size();
            Ok(PublishedOutput {
                path: path.clone(),
                files,
                bytes,
                digest: None,
                rows: None,
                columns: Vec::new(),
            })
        });
        outputs.collect()
    }
}

/// Returns whether both files have the same bytes, or both are directories.
fn has_same_bytes(
    context: &Context,
    opener: &Opener,
    one: TreeFile<'_>,
    other: TreeFile<'_>,
) -> Result<bool, StepError> {
    if one.is_directory() != other.is_directory() || one.bytes() != other.bytes() {
        return Ok(false);
    }
    let sum = |file| sums::file_sha256(context, opener, file);
    Ok(one.content() == other.content() || sum(one)? == sum(other)?)
}
