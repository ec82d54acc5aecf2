//! Directories of files: `files`, `copy` and `empty`.
//!
//! A query of `files` returns a path in the bundle (`file`), and a path in the output directory (`path`). The step reads no
//! file: the new tree refers to the content in the bundle.
//!
//! Two rows with the same `path` are an error. The usual cause is a join that matches a row several times.

use std::sync::Arc;

use prep_core::{Context, Failure, Inputs, Quoted, StepError, Value};
use prep_formats::paths;
use prep_spec::joined;
use prep_spec::model::Query;
use prep_spec::words::{KeyType, KindSpec, Produces, Section, SectionKey};
use serde_json::Value::Null;
use thiserror::Error;

use crate::kinds::StepKind;
use crate::kinds::function_step::FunctionStep;
use crate::located::{Subject, error_at_with_help};
use crate::relation::{QueryRun, query_values};
use crate::value::{
    TextList, Tree, TreeBuilder, TreeEntry, below_a_file, memory_of_trees, missing_file, only_tree,
    sorted, trees,
};

#[derive(Debug, Error)]
enum FilesError {
    #[error(
        "the bundle has no file `{0}`; the query's column `file` must contain paths of a `files` table"
    )]
    UnknownFile(String),
    #[error("the path `{path}` is not usable")]
    Path {
        path: String,
        #[source]
        cause: paths::PathError,
    },
    #[error("two files have the path `{path}`: `{first}` and `{second}`")]
    TwoFiles {
        path: String,
        first: String,
        second: String,
    },
    #[error("{rows} rows of the query place `{file}` at the path `{path}`")]
    Repeated {
        path: String,
        file: String,
        rows: usize,
    },
    #[error("`{path}` cannot be below `{file}`, which is a file of the same query")]
    Below { path: String, file: String },
    #[error("the query has a row with NULL in `{column}`{of}")]
    Missing { column: &'static str, of: String },
}

pub(crate) const FILES: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a directory of files",
            doc: "Copies files of the bundle to new paths.",
            keys: &[SectionKey::required(
                "files",
                KeyType::Placed,
                "The files and their new paths: `file` is the path in the bundle, `path` the path in the directory. `SELECT file` is short for `SELECT file, name AS path`, which keeps the name of each file.",
                "SELECT file, path FROM photos",
            )],
        },
        methods: &[],
        makes: Produces::Folder,
        check: None,
    },
    step: |declaration, session| {
        let (query, params) = (declaration.query("files")?, serde_json::json!({}));
        FunctionStep::of_query("files", query, params, session, place_files).step()
    },
};

/// Stores the tree of the files that the query names, at the paths that the query returns.
fn place_files(run: QueryRun<'_>) -> Result<Value, StepError> {
    let (trees, query) = (trees(run.context, run.inputs)?, run.query);
    let context = run.context;
    let mut rows = PlacedFiles::default();
    query_values(run, ["file", "path"], &mut |values| {
        let [Some(file), Some(path)] = values else {
            let (column, of) = match values {
                [Some(file), _] => ("path", format!(", for the file {}", Quoted(file))),
                [None, Some(path)] => ("file", format!(", for the path {}", Quoted(path))),
                [None, None] => ("file", String::new()),
            };
            let error = FilesError::Missing { column, of };
            return Err(located(query, Failure::Input, error));
        };
        let normal = paths::normalize(path);
        let path = normal.map_err(|cause| {
            let path = path.to_owned();
            located(query, Failure::Pipeline, FilesError::Path { path, cause })
        })?;
        rows.push(&path, &trees, (file, query))
    })?;
    rows.save(context, &trees, query)
}

/// Adds the location of the query and a help to an error.
fn located(query: &Query, failure: Failure, error: FilesError) -> StepError {
    let help = match &error {
        FilesError::Path { .. } => {
            Some("select a `path` without `..`, relative to the directory of the output".to_owned())
        }
        FilesError::TwoFiles { .. } => {
            let help = "select a different `path` for each file, for example `printf('%05d.%s', _row, ext) AS path`";
            Some(help.to_owned())
        }
        FilesError::Repeated { .. } => Some(repeated_help(query)),
        _ => None,
    };
    let subject = Subject::Query(Box::new(query.clone()), None);
    error_at_with_help(failure, subject, error, help)
}

/// Returns the help for a query that writes several files to the same path. If the query reads several tables, its own join
/// probably repeats rows. If it reads one table, a join in the definition of that table may repeat rows.
fn repeated_help(query: &Query) -> String {
    let tables = query.tables.iter().map(|table| format!("`{table}`"));
    match query.tables.len() {
        0 | 1 => format!(
            "if a join in {} matches several rows, join on columns that identify one row, or write SELECT DISTINCT file, path FROM ...",
            joined(tables, MAX_TABLES)
        ),
        _ => format!(
            "join {} on columns that identify one row of each, or write SELECT DISTINCT file, path FROM ...",
            joined(tables, MAX_TABLES)
        ),
    }
}

/// The help names at most this number of tables, and counts the others.
const MAX_TABLES: usize = 5;

#[derive(Default)]
struct PlacedFiles {
    paths: TextList,
    /// For each path, the index of a tree, and of a file in it.
    files: Vec<(u32, u32)>,
}

impl PlacedFiles {
    /// Adds a file at `path`. Fails if no tree contains the file.
    fn push(
        &mut self,
        path: &str,
        trees: &[Arc<Tree>],
        (file, query): (&str, &Query),
    ) -> Result<(), StepError> {
        let location = trees.iter().enumerate().find_map(|(number, tree)| {
            let found = tree.find(file).filter(|found| !found.is_directory())?;
            Some((
                u32::try_from(number).ok()?,
                u32::try_from(found.index()).ok()?,
            ))
        });
        let location = location.ok_or_else(|| {
            let error = FilesError::UnknownFile(file.to_owned());
            located(query, Failure::Input, error)
        })?;
        self.paths.push(path);
        self.files.push(location);
        Ok(())
    }

    /// Stores the tree of all rows. Fails if two rows have the same path.
    fn save(
        self,
        context: &Context,
        trees: &[Arc<Tree>],
        query: &Query,
    ) -> Result<Value, StepError> {
        let row = |number: u32| {
            let (tree, index) = self.files.get(number as usize).copied()?;
            let file = trees.get(tree as usize)?.file(index as usize)?;
            Some((self.paths.get(number as usize), file))
        };
        let key = |number| row(number).map(|(path, file)| (path, file.path()));
        let count = u32::try_from(self.files.len()).map_err(StepError::internal)?;
        let by_path = |a: u32, b: u32| key(a).cmp(&key(b));
        let order = sorted(count, &context.cancel, by_path)?;
        let mut pairs = order.iter().zip(order.iter().skip(1));
        let twice = pairs.find_map(|(a, b)| {
            let (path, first) = key(*a)?;
            let (other, second) = key(*b)?;
            (path == other).then_some((path, first, second))
        });
        if let Some((path, first, second)) = twice {
            let (path, file) = (path.to_owned(), first.to_owned());
            if first != second {
                let (first, second) = (file, second.to_owned());
                let error = FilesError::TwoFiles {
                    path,
                    first,
                    second,
                };
                return Err(located(query, Failure::Pipeline, error));
            }
            let same = Some((path.as_str(), first));
            let rows = order.iter().filter(|number| key(**number) == same).count();
            let error = FilesError::Repeated { path, file, rows };
            return Err(located(query, Failure::Pipeline, error));
        }
        let at = |index: usize| row(order.get(index).copied()?);
        let path = |index| at(index).map_or("", |(path, _)| path);
        if let Some((above, below)) = below_a_file(order.len(), path, |_| true) {
            let (path, file) = (path(below).to_owned(), path(above).to_owned());
            let error = FilesError::Below { path, file };
            return Err(located(query, Failure::Pipeline, error));
        }
        Tree::save_picked(context, order.len(), at)
    }
}

pub(crate) const COPY: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a copy",
            doc: "Copies a file of the bundle unchanged. If the path of the output and the path in the bundle end in `/`, copies a directory.",
            keys: &[SectionKey::required(
                "copy",
                KeyType::Copied,
                "Path in the bundle. For an output directory, a list of paths is also valid. Each file or directory in the list is copied under its own name.",
                "images/",
            )],
        },
        methods: &[],
        makes: Produces::Like("copy"),
        check: None,
    },
    step: |declaration, _| {
        let from = declaration.text("copy")?.to_owned();
        let params = serde_json::json!({ "from": from });
        let function = FunctionStep::new("copy", 3, params, move |context, inputs| {
            copied(context, inputs, &from)
        });
        function
            .memory(|inputs| (16 << 20) + 2 * memory_of_trees(inputs))
            .step()
    },
};

/// Stores the tree of a file, or of all files of a directory if `from` ends in `/`.
fn copied(context: &Context, inputs: &Inputs, from: &str) -> Result<Value, StepError> {
    let tree = only_tree(context, inputs)?;
    let mut files = TreeBuilder::default();
    if from.ends_with('/') {
        for file in tree.with_prefix(from) {
            let path = file.path().get(from.len()..).unwrap_or_default();
            files.push_file(path, file);
        }
    } else if let Some(file) = tree.find(from).filter(|file| !file.is_directory()) {
        files.push_file("", file);
    }
    if files.is_empty() {
        return Err(missing_file(&tree, from, "copy"));
    }
    let files = files.finish(&context.cancel).map_err(StepError::internal)?;
    files.save(context)
}

pub(crate) const EMPTY: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "an empty directory",
            doc: "A directory without files.",
            keys: &[SectionKey::required(
                "empty",
                KeyType::True,
                "Always `true`.",
                "true",
            )],
        },
        methods: &[],
        makes: Produces::Empty,
        check: None,
    },
    step: |_, _| {
        let function = FunctionStep::new("empty", 3, Null, |context, _| {
            let directory = TreeEntry {
                path: String::new(),
                content: None,
            };
            let tree = Tree::new(vec![directory]).map_err(StepError::internal)?;
            tree.save(context)
        });
        function.step()
    },
};
