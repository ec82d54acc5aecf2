//! `files`: the files of a tree that match a pattern, as a table.
//!
//! `*` and `?` match within a path segment, `**` across segments. Hidden files are included. Rows are sorted by path.
//!
//! The table contains only paths and sizes. Steps that read the files also have the tree as an input.

use prep_core::{Context, Failure, Inputs, StepError};
use prep_spec::words::{KeyType, KindSpec, ProducedColumn, Produces, Section, SectionKey};
use prep_spec::{FILE_COLUMNS, FilePattern, path_glob, split_source};
use thiserror::Error;

use crate::kinds::function_step::FunctionStep;
use crate::kinds::{StepKind, is_archive};
use crate::located::{Subject, error_at_with_help};
use crate::relation::listing_schema;
use crate::value::{
    BETWEEN_CHECKS, TableStorage, TableValue, Tree, TreeBuilder, memory_of_trees, nearest_pattern,
    only_tree, source_and_path,
};

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a table of files",
            doc: "Lists the files of the bundle or of a further source that match a pattern, one row per file, sorted \
            by path in code-point order.\n\nColumns: `file` (the path), `path` (`file` without the leading \
            directories that have no wildcards in the pattern), `dir`, `folder` (last part of `dir`), `name`, `stem`, \
            `ext`, `size`, and a text column for each `{name}` of the pattern.\n\nFor `photos/s001.jpg`, `dir` and \
            `folder` are `photos`, `name` is `s001.jpg`, `stem` is `s001`, and `ext` is `jpg`, without the dot.",
            keys: &[
                SectionKey::required(
                    "files",
                    KeyType::Sources,
                    "Path in the bundle with the wildcards `*`, `?`, `[...]`, `{a,b}`, `{name}` and `**`. Only `**` matches a `/`. `{name}` matches the shortest possible text, which becomes a column. The names of archives can have wildcards, too: `shards/*.zip/*.jpg`.",
                    "train.zip/train/{species}/*.jpg",
                ),
                SectionKey::optional(
                    "may_be_empty",
                    KeyType::True,
                    "Allows a pattern that no file matches. Without this key, such a pattern is an error.",
                    "true",
                ),
            ],
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
        let may_be_empty = declaration.has("may_be_empty");
        // `may_be_empty: false` is left out, because cached results have keys without this member.
        let params = match may_be_empty {
            true => serde_json::json!({ "pattern": pattern, "may_be_empty": true }),
            false => serde_json::json!({ "pattern": pattern }),
        };
        let function = FunctionStep::new("files", 4, params, move |context, inputs| {
            Ok(table(context, inputs, &pattern, may_be_empty)?.into_value())
        });
        function
            .memory(|inputs| (16 << 20) + 2 * memory_of_trees(inputs))
            .step()
    },
};

fn table(
    context: &Context,
    inputs: &Inputs,
    pattern: &str,
    may_be_empty: bool,
) -> Result<TableValue, StepError> {
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
            // An estimate: the cells of the row are parts of the path, and overlap.
            bytes += 4 * path.len() as u64;
        }
    }
    let rows = chosen.len() as u64;
    if rows == 0 && !may_be_empty {
        return Err(no_match(&tree, pattern));
    }
    let listing = chosen
        .finish(&context.cancel)
        .map_err(StepError::internal)?;
    let (object, _) = listing.save_listing(context)?;
    let schema = listing_schema(&parsed, rows);
    let pattern = pattern.to_owned();
    let storage = TableStorage::Listing { object, pattern };
    Ok(TableValue::new(schema, storage, bytes))
}

#[derive(Debug, Error)]
#[error("{} has no file that matches `{}`", source_and_path(.0).0, source_and_path(.0).1)]
struct NoMatch(String);

/// Returns the error for a pattern that no file matches. Suggests a similar pattern.
fn no_match(tree: &Tree, pattern: &str) -> StepError {
    let help = match nearest_pattern(tree, pattern) {
        Some(found) => format!("did you mean `{found}`?"),
        None => match tree.files().find(|file| !file.is_directory()) {
            Some(file) if is_archive(file.path()) => format!(
                "the bundle contains the archive `{0}`; patterns of its files begin with `{0}/`, for example `{0}/{pattern}`",
                file.path()
            ),
            Some(file) => format!(
                "an existing path is `{}`; if there may be no files, add `may_be_empty: true`",
                file.path()
            ),
            None => "if there may be no files, add `may_be_empty: true`".to_owned(),
        },
    };
    let subject = Subject::Key("files");
    let error = NoMatch(pattern.to_owned());
    error_at_with_help(Failure::Pipeline, subject, error, Some(help))
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
            Ok(super::table(&context, &inputs, "images/*.png", false)?.into_value())
        };
        let found = table(b"abc", 3)?;
        assert_eq!(TableValue::decode(&found)?.len(), 2);
        assert_eq!(found.body, table(b"xyz", 3)?.body);
        assert_ne!(found.body, table(b"abcd", 4)?.body);
        Ok(())
    }
}
