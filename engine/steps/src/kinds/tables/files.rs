//! `files`: the files of a tree that match a pattern, as a table.
//!
//! `*` and `?` match within a path segment, `**` across segments. Hidden files are included. Rows are sorted by path in
//! code-point order.
//!
//! A table of files contains their paths and sizes only. Steps that read the content also have the tree as an input.

use prep_core::{Context, Inputs, StepError};
use prep_spec::words::{KeyType, KindSpec, ProducedColumn, Produces, Section, SectionKey};
use prep_spec::{FILE_COLUMNS, FilePattern, path_glob, split_source};

use crate::kinds::StepKind;
use crate::kinds::function_step::FunctionStep;
use crate::relation::listing_schema;
use crate::value::{
    BETWEEN_CHECKS, TableStorage, TableValue, TreeBuilder, memory_of_trees, only_tree,
};

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a table of files",
            doc: "One row per file of the bundle or of a further source, sorted by path in code-point order. Columns: `file`, `path` (the part of `file` below the directories of the pattern that have no wildcards), `dir`, `folder` (last part of `dir`), `name`, `stem`, `ext`, `size`, and a text column for each `{name}` of the pattern.",
            keys: &[SectionKey::required(
                "files",
                KeyType::Sources,
                "Path in the bundle with `*`, `?`, `[...]`, `{a,b}`, `{name}` (none of which match a `/`) or `**`. `{name}` is the shortest possible text and becomes a column. The names of archives can have wildcards, too: `shards/*.zip/*.jpg`.",
                "train.zip/train/{species}/*.jpg",
            )],
        },
        methods: &[],
        makes: Produces::Table(|declaration| {
            let column = |name: &str| match name {
                "size" => ProducedColumn::integer(name),
                _ => ProducedColumn::text(name),
            };
            let pattern = declaration.text("files").map(FilePattern::parse);
            let names = pattern.and_then(Result::ok).map(|pattern| pattern.names);
            let pattern_names = names.unwrap_or_default();
            let pattern_names = pattern_names.iter().map(String::as_str);
            FILE_COLUMNS
                .into_iter()
                .chain(pattern_names)
                .map(column)
                .collect()
        }),
        check: None,
    },
    step: |declaration, _| {
        let pattern = declaration.text("files")?.to_owned();
        let params = serde_json::json!({ "pattern": pattern });
        let function = FunctionStep::new("files", 4, params, move |context, inputs| {
            Ok(table(context, inputs, &pattern)?.into_value())
        });
        function
            .memory(|inputs| (16 << 20) + 2 * memory_of_trees(inputs))
            .step()
    },
};

fn table(context: &Context, inputs: &Inputs, pattern: &str) -> Result<TableValue, StepError> {
    let parsed = FilePattern::parse(pattern);
    let parsed = parsed.map_err(|(message, _)| StepError::pipeline(message))?;
    let glob = path_glob(&parsed.glob).map_err(StepError::pipeline)?;
    let matcher = glob.compile_matcher();
    let tree = only_tree(context, inputs)?;
    let mut chosen = TreeBuilder::default();
    let mut bytes = 0;
    for file in tree.files() {
        if file.index().is_multiple_of(BETWEEN_CHECKS) {
            context.check()?;
        }
        let (_, path) = split_source(file.path());
        if !file.is_directory() && matcher.is_match(path) {
            chosen.push_row(file.path(), file.bytes());
            // The columns are parts of the path, some of them more than once.
            bytes += 4 * path.len() as u64;
        }
    }
    let rows = chosen.len() as u64;
    let listing = chosen
        .finish(&context.cancel)
        .map_err(StepError::internal)?;
    let (object, _) = listing.save_listing(context)?;
    let schema = listing_schema(&parsed, rows);
    let pattern = pattern.to_owned();
    let storage = TableStorage::Listing { object, pattern };
    Ok(TableValue::new(schema, storage, bytes))
}

#[cfg(test)]
mod tests {
    use prep_cache::{Digest, Store};
    use prep_core::{Cancel, RunLimits, Value};

    use super::*;
    use crate::value::{ContentRef, TREE_PREFIX, Tree, TreeEntry};

    #[test]
    fn a_table_of_files_does_not_depend_on_their_content() -> Result<(), Box<dyn std::error::Error>>
    {
        let folder = tempfile::tempdir()?;
        let limits = RunLimits {
            jobs: 1,
            memory: 1 << 30,
        };
        let context = Context::new(Store::open(folder.path())?, limits, Cancel::default());
        let table = |content: &[u8], bytes| -> Result<Value, Box<dyn std::error::Error>> {
            let entries = ["a.txt", "images/1.png", "images/2.png"].map(|path| TreeEntry {
                path: path.to_owned(),
                content: Some(ContentRef::Object {
                    digest: Digest::of_bytes(content),
                    bytes,
                }),
            });
            let tree = Tree::new(entries.into())?.save(&context)?;
            let inputs = Inputs::from([(TREE_PREFIX.to_owned(), tree)]);
            Ok(super::table(&context, &inputs, "images/*.png")?.into_value())
        };
        let found = table(b"abc", 3)?;
        assert_eq!(TableValue::decode(&found)?.len(), 2);
        assert_eq!(found.body, table(b"xyz", 3)?.body);
        assert_ne!(found.body, table(b"abcd", 4)?.body);
        Ok(())
    }
}
