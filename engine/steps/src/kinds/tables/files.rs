//! `files`: the files of a tree that a pattern names, as a table.
//!
//! `*` and `?` stay within a path segment, `**` does not. Hidden files count. Rows are sorted by path in code-point order.
//!
//! A table of files knows their paths and lengths. Who reads what is in them has the tree as an input, too.

use globset::GlobBuilder;
use prep_core::{Context, Inputs, Outputs, Step, StepError};
use prep_spec::split_source;
use prep_spec::words::{Form, Key, MadeColumn, Makes, Section, Value};

use crate::kinds::{Kind, one};
use crate::relation::listing_schema;
use crate::value::{BETWEEN_CHECKS, Storage, TableValue, TreeBuilder, memory_of_trees, only_tree};

pub(crate) static KIND: Kind = Kind {
    form: Form {
        section: Section {
            name: "a table of files",
            doc: "A row per file of the bundle or of a further source, sorted by path (code points). Columns: `file`, `dir`, `folder` (last part of `dir`), `name`, `stem`, `ext`, `size`.",
            keys: &[Key::required(
                "files",
                Value::Sources,
                "Path in the bundle with `*`, `?`, `[...]`, `{a,b}` (none of which match a `/`) or `**`.",
                "train.zip/train/*.jpg",
            )],
        },
        methods: &[],
        makes: Makes::Table(|_| {
            let texts = ["file", "dir", "folder", "name", "stem", "ext"];
            let mut columns: Vec<_> = texts.map(MadeColumn::text).into();
            columns.push(MadeColumn::integer("size"));
            columns
        }),
        check: None,
    },
    step: |declaration, _| {
        let pattern = declaration.text("files")?.to_owned();
        Some(Box::new(FileTable { pattern }))
    },
};

struct FileTable {
    pattern: String,
}

impl Step for FileTable {
    fn kind(&self) -> &'static str {
        "files"
    }

    fn version(&self) -> u32 {
        3
    }

    fn params(&self) -> serde_json::Value {
        serde_json::json!({ "pattern": self.pattern })
    }

    fn memory(&self, inputs: &Inputs) -> u64 {
        (16 << 20) + 2 * memory_of_trees(inputs)
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let (_, pattern) = split_source(&self.pattern);
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .backslash_escape(false)
            .build();
        let matcher = glob.map_err(StepError::pipeline)?.compile_matcher();
        let tree = only_tree(context, inputs)?;
        let mut chosen = TreeBuilder::default();
        for file in tree.files() {
            if file.index().is_multiple_of(BETWEEN_CHECKS) {
                context.check()?;
            }
            let (_, path) = split_source(file.path());
            if !file.is_folder() && matcher.is_match(path) {
                chosen.push_row(file.path(), file.bytes());
            }
        }
        let rows = chosen.len() as u64;
        let listing = chosen
            .finish(&context.cancel)
            .map_err(StepError::internal)?;
        let (object, _) = listing.save_listing(context)?;
        let storage = Storage::Listing { object };
        Ok(one(
            TableValue::new(listing_schema(rows), storage).into_value()
        ))
    }
}

#[cfg(test)]
mod tests {
    use prep_cache::{Digest, Store};
    use prep_core::{Cancel, Limits, Value};

    use super::*;
    use crate::kinds::{TREE, VALUE};
    use crate::value::{Content, Tree, TreeEntry};

    #[test]
    fn a_table_of_files_is_the_same_whatever_is_in_them() -> Result<(), Box<dyn std::error::Error>>
    {
        let folder = tempfile::tempdir()?;
        let limits = Limits {
            jobs: 1,
            memory: 1 << 30,
        };
        let context = Context::new(Store::open(folder.path())?, limits, Cancel::default());
        let table = |content: &[u8], bytes| -> Result<Value, Box<dyn std::error::Error>> {
            let entries = ["a.txt", "images/1.png", "images/2.png"].map(|path| TreeEntry {
                path: path.to_owned(),
                content: Some(Content::Object {
                    digest: Digest::of(content),
                    bytes,
                }),
            });
            let tree = Tree::new(entries.into())?.save(&context)?;
            let step = FileTable {
                pattern: "images/*.png".to_owned(),
            };
            let inputs = Inputs::from([(TREE.to_owned(), tree)]);
            let made = step.run(&context, &inputs)?.remove(VALUE);
            Ok(made.ok_or("no table")?)
        };
        let found = table(b"abc", 3)?;
        assert_eq!(TableValue::of(&found)?.len(), 2);
        assert_eq!(found.body, table(b"xyz", 3)?.body);
        assert_ne!(found.body, table(b"abcd", 4)?.body);
        Ok(())
    }
}
