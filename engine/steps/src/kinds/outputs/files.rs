//! `files`: which files go where, by a query with the columns `file` (a path in the bundle) and `path` (below the output's
//! folder).
//!
//! Only references move here. Two files for one path are refused, the same file twice is not.

use prep_core::{Context, Inputs, Outputs, Step, StepError};
use prep_formats::paths;
use prep_spec::model::Query;
use prep_spec::words::{Form, Key, Makes, Section, Value};
use prep_sql::Session;
use thiserror::Error;

use crate::kinds::{Kind, one};
use crate::relation::query_values;
use crate::value::{Content, Tree, TreeEntry, below_a_file, trees};

#[derive(Debug, Error)]
enum FilesError {
    #[error(
        "the bundle has no file `{0}`; the query's column `file` must hold paths of a `files` table"
    )]
    UnknownFile(String),
    #[error("the path `{path}` is not usable: {cause}")]
    Path {
        path: String,
        #[source]
        cause: paths::PathError,
    },
    #[error("`{path}` would be made of two files: `{first}` and `{second}`")]
    TwoFiles {
        path: String,
        first: String,
        second: String,
    },
    #[error("`{path}` would lie below `{file}`, which the query makes a file")]
    Below { path: String, file: String },
    #[error("row {row} of the query has no `{column}`")]
    Missing { row: u64, column: &'static str },
}

pub(crate) static KIND: Kind = Kind {
    form: Form {
        section: Section {
            name: "a folder of files",
            doc: "Files of the bundle, under new paths.",
            keys: &[Key::required(
                "files",
                Value::Placed,
                "Which files go where: `file` names a file of the bundle, `path` its place below the folder.",
                "SELECT file, name AS path FROM photos",
            )],
        },
        methods: &[],
        makes: Makes::Folder,
        check: None,
    },
    step: |declaration, session| {
        Some(Box::new(Files {
            query: declaration.query("files")?.clone(),
            session: session.clone(),
        }))
    },
};

struct Files {
    query: Query,
    session: Session,
}

impl Step for Files {
    fn kind(&self) -> &'static str {
        "files"
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        serde_json::json!({ "sql": self.query.normal })
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let trees = trees(context, inputs)?;
        let mut rows: Vec<(String, String)> = Vec::new();
        let mut read = 0;
        query_values(
            &self.session,
            &self.query,
            context,
            inputs,
            ["file", "path"],
            &mut |[file, path]| {
                read += 1;
                let (Some(file), Some(path)) = (file, path) else {
                    let column = if file.is_none() { "file" } else { "path" };
                    return Err(StepError::input(FilesError::Missing { row: read, column }));
                };
                let normal = paths::normalize(path);
                let path = normal.map_err(|cause| {
                    StepError::input(FilesError::Path {
                        path: path.to_owned(),
                        cause,
                    })
                })?;
                rows.push((path, file.to_owned()));
                Ok(())
            },
        )?;
        rows.sort();
        rows.dedup();
        if let Some(pair) = rows.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let [(path, first), (_, second)] = [pair[0].clone(), pair[1].clone()];
            return Err(StepError::pipeline(FilesError::TwoFiles {
                path,
                first,
                second,
            }));
        }
        if let Some((file, below)) = below_a_file(&rows, |row| row.0.as_str(), |_| true) {
            return Err(StepError::pipeline(FilesError::Below {
                path: below.0.clone(),
                file: file.0.clone(),
            }));
        }
        let find = |file: &str| -> Option<Content> {
            trees.iter().find_map(|tree| tree.get(file)).cloned()
        };
        let mut entries = Vec::with_capacity(rows.len());
        for (path, file) in rows {
            let content =
                find(&file).ok_or_else(|| StepError::input(FilesError::UnknownFile(file)))?;
            entries.push(TreeEntry {
                path,
                content: Some(content),
            });
        }
        Ok(one(Tree::new(entries)
            .map_err(StepError::internal)?
            .save(context)?))
    }
}
