//! A pipeline as a graph of steps.
//!
//! Step names: `bundle`, `unpack` (`unpack/train.zip` for an archive inside), `table/NAME`, `split`, the path of an
//! output (`public/train.csv`), `check/NAME`, `checksum/PATH`, `description`, `publish`. Nothing is published before all
//! checks and checksums have passed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use prep_core::{Action, Graph, GraphError, NodeId, Port, Source, Step};
use prep_spec::Pipeline;
use prep_spec::model::{Output, OutputKind, Query, Split, Table, TableKind};
use prep_splits::Role;
use prep_sql::Session;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::description::Description;
use crate::kinds::{
    Check, Checksum, Copy, Empty, Export, Files, Form, LineTable, List, Pack, Pixels, Publish,
    QueryTable, ReadTable, SplitRows, TREE, TfRecordTable, Unpack, VALUE, is_archive,
};

/// What a pipeline does not say itself.
pub struct Surroundings<'a> {
    /// Where `ID/prepared` goes.
    pub data_dir: &'a Path,
    /// The present boot of the machine, where boots can be told apart: what was written in an earlier one is read again.
    pub boot: Option<&'a str>,
    pub session: &'a Session,
    /// Published checksums that must hold; none to skip them.
    pub checksums: Option<&'a Checksums>,
    /// Prose of the description.
    pub description: &'a str,
    /// Sentences about the metric.
    pub metric: Option<String>,
    pub variant: &'a str,
}

/// Published MD5 sums: of the bundle, and of outputs by their path below `public` and `private`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checksums {
    #[serde(default)]
    pub bundle: Option<String>,
    #[serde(default)]
    pub public: BTreeMap<String, String>,
    #[serde(default)]
    pub private: BTreeMap<String, String>,
}

#[derive(Debug, Error)]
pub enum BuildError {
    #[error("{0}")]
    Graph(#[from] GraphError),
    #[error("the table `{0}` is not defined")]
    UnknownTable(String),
    #[error("the published checksum of `{0}` fits no output of the pipeline")]
    UnknownChecksum(String),
}

/// Adds the steps of a pipeline to the graph; returns the step that publishes.
pub fn build(
    graph: &mut Graph,
    pipeline: &Pipeline,
    bundle: Box<dyn Source>,
    around: &Surroundings<'_>,
) -> Result<NodeId, BuildError> {
    let bundle = graph.add(&pipeline.id, "bundle", Action::Source(bundle), Vec::new())?;
    let mut builder = Builder {
        graph,
        pipeline,
        around,
        bundle,
        trees: BTreeMap::new(),
        tables: BTreeMap::new(),
        split: None,
        trees_of: BTreeMap::new(),
    };
    builder.all()
}

struct Builder<'a> {
    graph: &'a mut Graph,
    pipeline: &'a Pipeline,
    around: &'a Surroundings<'a>,
    bundle: NodeId,
    /// Unpacked archives by path; the bundle itself by the empty path.
    trees: BTreeMap<String, NodeId>,
    tables: BTreeMap<String, Port>,
    split: Option<NodeId>,
    /// For each table the archives whose files its rows may name.
    trees_of: BTreeMap<String, BTreeSet<String>>,
}

type Inputs = Vec<(String, Port)>;

impl Builder<'_> {
    fn all(&mut self) -> Result<NodeId, BuildError> {
        let mut inputs = Inputs::new();
        let mut outputs = Vec::new();
        for (section, list) in [
            ("public", &self.pipeline.public),
            ("private", &self.pipeline.private),
        ] {
            for output in list {
                let path = join(section, &output.path.value);
                let port = self.output(&path, output)?;
                inputs.push((path.clone(), port));
                outputs.push((path.clone(), path));
            }
        }
        self.describe(&mut inputs, &mut outputs)?;
        for check in &self.pipeline.checks {
            let name = format!("check/{}", check.name.value);
            let step = Check {
                name: check.name.value.clone(),
                query: check.query.clone(),
                session: self.around.session.clone(),
            };
            let tables = self.query_inputs(&check.query)?;
            let port = self.step(&name, step, tables)?;
            inputs.push((name, port));
        }
        self.checksums(&mut inputs)?;
        let publish = Publish {
            competition: self.pipeline.id.clone(),
            variant: self.around.variant.to_owned(),
            data_dir: self.around.data_dir.to_path_buf(),
            boot: self.around.boot.map(str::to_owned),
            outputs,
        };
        Ok(self.graph.add(
            &self.pipeline.id,
            "publish",
            Action::Sink(Box::new(publish)),
            inputs,
        )?)
    }

    fn step(
        &mut self,
        name: &str,
        step: impl Step + 'static,
        inputs: Inputs,
    ) -> Result<Port, BuildError> {
        let node = self.graph.add(
            &self.pipeline.id,
            name,
            Action::Step(Box::new(step)),
            inputs,
        )?;
        Ok(Port {
            node,
            output: VALUE.to_owned(),
        })
    }

    /// The tree of an archive inside the bundle, or of the bundle itself (empty path).
    fn tree(&mut self, archive: &str) -> Result<Port, BuildError> {
        if let Some(node) = self.trees.get(archive) {
            return Ok(Port {
                node: *node,
                output: VALUE.to_owned(),
            });
        }
        let (name, step, input) = if archive.is_empty() {
            let bundle = Port {
                node: self.bundle,
                output: VALUE.to_owned(),
            };
            ("unpack".to_owned(), Unpack { path: None }, bundle)
        } else {
            let outer = self.tree(containing(archive))?;
            (
                format!("unpack/{archive}"),
                Unpack {
                    path: Some(archive.to_owned()),
                },
                outer,
            )
        };
        let port = self.step(&name, step, vec![("archive".to_owned(), input)])?;
        self.trees.insert(archive.to_owned(), port.node);
        Ok(port)
    }

    fn table(&mut self, name: &str) -> Result<Port, BuildError> {
        if let Some(port) = self.tables.get(name) {
            return Ok(port.clone());
        }
        let pipeline = self.pipeline;
        if let Some(split) = pipeline
            .split
            .as_ref()
            .filter(|split| split.into.iter().any(|into| into == name))
        {
            let node = self.split(split)?;
            for into in &split.into {
                self.tables.insert(
                    into.clone(),
                    Port {
                        node,
                        output: into.clone(),
                    },
                );
                self.trees_of.insert(
                    into.clone(),
                    self.trees_of
                        .get(&split.rows.value)
                        .cloned()
                        .unwrap_or_default(),
                );
            }
        } else {
            let table = pipeline
                .tables
                .iter()
                .find(|table| table.name.value == name);
            let table = table.ok_or_else(|| BuildError::UnknownTable(name.to_owned()))?;
            let port = self.defined(table)?;
            self.tables.insert(name.to_owned(), port);
        }
        self.tables
            .get(name)
            .cloned()
            .ok_or_else(|| BuildError::UnknownTable(name.to_owned()))
    }

    fn defined(&mut self, table: &Table) -> Result<Port, BuildError> {
        let name = format!("table/{}", table.name.value);
        let mut trees = BTreeSet::new();
        let port = match &table.kind {
            TableKind::Query(query) => {
                let inputs = self.query_inputs(query)?;
                trees = self.trees_behind(&query.tables);
                self.step(
                    &name,
                    QueryTable {
                        query: query.clone(),
                        session: self.around.session.clone(),
                    },
                    inputs,
                )?
            }
            TableKind::Read(read) => {
                let tree = self.tree(containing(&read.path.value))?;
                self.step(
                    &name,
                    ReadTable { read: read.clone() },
                    vec![("tree".to_owned(), tree)],
                )?
            }
            TableKind::Files(pattern) => {
                let archive = containing(&pattern.value);
                trees.insert(archive.to_owned());
                let tree = self.tree(archive)?;
                self.step(
                    &name,
                    List {
                        pattern: pattern.value.clone(),
                    },
                    vec![("tree".to_owned(), tree)],
                )?
            }
            TableKind::TextLines(files) => {
                let inputs = self.file_inputs(&files.value)?;
                trees = self.trees_behind([&files.value]);
                self.step(&name, LineTable, inputs)?
            }
            TableKind::Pixels(files) => {
                let inputs = self.file_inputs(&files.value)?;
                trees = self.trees_behind([&files.value]);
                self.step(&name, Pixels, inputs)?
            }
            TableKind::TfRecords { files, features } => {
                let inputs = self.file_inputs(&files.value)?;
                trees = self.trees_behind([&files.value]);
                self.step(
                    &name,
                    TfRecordTable {
                        features: features.clone(),
                    },
                    inputs,
                )?
            }
        };
        self.trees_of.insert(table.name.value.clone(), trees);
        Ok(port)
    }

    fn split(&mut self, split: &Split) -> Result<NodeId, BuildError> {
        if let Some(node) = self.split {
            return Ok(node);
        }
        let mut inputs = vec![("rows".to_owned(), self.table(&split.rows.value)?)];
        if let Some(query) = &split.test_size {
            let tables = self.query_inputs(query)?;
            let step = QueryTable {
                query: query.clone(),
                session: self.around.session.clone(),
            };
            inputs.push((
                "test_size".to_owned(),
                self.step("split/test_size", step, tables)?,
            ));
        }
        let step = SplitRows {
            method: split.method.clone(),
            keys: split.group_by.as_ref().map(|column| {
                let role = split.method.roles().first().copied();
                (role.unwrap_or(Role::Groups), column.value.clone())
            }),
            into: split.into.clone(),
        };
        let node = self.graph.add(
            &self.pipeline.id,
            "split",
            Action::Step(Box::new(step)),
            inputs,
        )?;
        self.split = Some(node);
        Ok(node)
    }

    /// The tables of a query, as inputs.
    fn query_inputs(&mut self, query: &Query) -> Result<Inputs, BuildError> {
        query
            .tables
            .iter()
            .map(|name| Ok((name.clone(), self.table(name)?)))
            .collect()
    }

    /// A table of files and the trees in which those lie, as inputs.
    fn file_inputs(&mut self, table: &str) -> Result<Inputs, BuildError> {
        let mut inputs = vec![("files".to_owned(), self.table(table)?)];
        self.tree_inputs(&self.trees_behind([&table.to_owned()]), &mut inputs)?;
        Ok(inputs)
    }

    fn tree_inputs(
        &mut self,
        archives: &BTreeSet<String>,
        inputs: &mut Inputs,
    ) -> Result<(), BuildError> {
        for archive in archives {
            inputs.push((format!("{TREE}{archive}"), self.tree(archive)?));
        }
        Ok(())
    }

    fn trees_behind<'t>(&self, tables: impl IntoIterator<Item = &'t String>) -> BTreeSet<String> {
        tables
            .into_iter()
            .filter_map(|table| self.trees_of.get(table))
            .flatten()
            .cloned()
            .collect()
    }

    /// The step that makes an output, and the steps of what it contains.
    fn output(&mut self, name: &str, output: &Output) -> Result<Port, BuildError> {
        let session = self.around.session.clone();
        let export = |builder: &mut Self, query: &Query, form| {
            let inputs = builder.query_inputs(query)?;
            builder.step(
                name,
                Export {
                    query: query.clone(),
                    form,
                    session: session.clone(),
                },
                inputs,
            )
        };
        match &output.kind {
            OutputKind::Csv {
                query,
                delimiter,
                quoting,
            } => export(
                self,
                query,
                Form::Csv {
                    delimiter: *delimiter,
                    quoting: *quoting,
                },
            ),
            OutputKind::Json { query, indent } => {
                export(self, query, Form::Json { indent: *indent })
            }
            OutputKind::Parquet { query } => export(self, query, Form::Parquet),
            OutputKind::Npy { query } => export(self, query, Form::Npy),
            OutputKind::Lines { query } => export(self, query, Form::Lines),
            OutputKind::Files { query } => {
                let mut inputs = self.query_inputs(query)?;
                self.tree_inputs(&self.trees_behind(&query.tables), &mut inputs)?;
                self.step(
                    name,
                    Files {
                        query: query.clone(),
                        session: self.around.session.clone(),
                    },
                    inputs,
                )
            }
            OutputKind::Copy(from) => {
                let tree = self.tree(containing(&from.value))?;
                self.step(
                    name,
                    Copy {
                        from: from.value.clone(),
                    },
                    vec![("tree".to_owned(), tree)],
                )
            }
            OutputKind::Empty => self.step(name, Empty, Vec::new()),
            OutputKind::Archive { kind, members } => {
                let mut inputs = Inputs::new();
                let mut places = Vec::new();
                for member in members {
                    let inner = join(name, &member.path.value);
                    let port = self.output(&inner, member)?;
                    inputs.push((inner.clone(), port));
                    places.push((inner, member.path.value.clone()));
                }
                self.step(
                    name,
                    Pack {
                        kind: *kind,
                        members: places,
                    },
                    inputs,
                )
            }
        }
    }

    fn describe(
        &mut self,
        inputs: &mut Inputs,
        outputs: &mut Vec<(String, String)>,
    ) -> Result<(), BuildError> {
        let public: Vec<(String, String)> = outputs
            .iter()
            .filter_map(|(name, path)| {
                Some((name.clone(), path.strip_prefix("public/")?.to_owned()))
            })
            .collect();
        let grade = self.pipeline.grade.as_ref();
        let sample = grade
            .map(|grade| grade.value.sample.value.clone())
            .and_then(|path| {
                let inside = path
                    .split_once('/')
                    .map_or(path.as_str(), |(_, inside)| inside)
                    .to_owned();
                inputs
                    .iter()
                    .any(|(name, _)| *name == path)
                    .then_some((path, inside))
            });
        let wanted: BTreeSet<&String> = public
            .iter()
            .map(|(name, _)| name)
            .chain(sample.iter().map(|(name, _)| name))
            .collect();
        let own: Inputs = inputs
            .iter()
            .filter(|(name, _)| wanted.contains(name))
            .cloned()
            .collect();
        let step = Description {
            prose: self.around.description.to_owned(),
            metric: self.around.metric.clone(),
            outputs: public,
            sample,
        };
        let port = self.step("description", step, own)?;
        let path = "public/description.md".to_owned();
        inputs.push((path.clone(), port));
        outputs.push((path.clone(), path));
        Ok(())
    }

    /// A checksum step for each published sum.
    fn checksums(&mut self, inputs: &mut Inputs) -> Result<(), BuildError> {
        let Some(checksums) = self.around.checksums else {
            return Ok(());
        };
        let mut steps = Inputs::new();
        for (section, sums) in [
            ("public", &checksums.public),
            ("private", &checksums.private),
        ] {
            for (path, md5) in sums {
                let path = format!("{section}/{path}");
                let whole = inputs.iter().find(|(name, _)| *name == path);
                let folder = inputs.iter().find(|(name, _)| {
                    let folder = name.strip_suffix("./").unwrap_or(name);
                    folder.ends_with('/') && path.starts_with(folder)
                });
                let (name, port) = whole
                    .or(folder)
                    .ok_or_else(|| BuildError::UnknownChecksum(path.clone()))?;
                let folder = name.strip_suffix("./").unwrap_or(name);
                let inside = path
                    .strip_prefix(folder)
                    .filter(|inside| !inside.is_empty())
                    .map(str::to_owned);
                let step = Checksum {
                    path: path.clone(),
                    inside,
                    md5: md5.clone(),
                };
                let port = port.clone();
                let name = format!("checksum/{path}");
                steps.push((
                    name.clone(),
                    self.step(&name, step, vec![("file".to_owned(), port)])?,
                ));
            }
        }
        inputs.extend(steps);
        Ok(())
    }
}

/// The archive in which a path lies: its longest proper prefix that ends in an archive's name; empty for the bundle.
fn containing(path: &str) -> &str {
    let mut found = "";
    for (index, _) in path.match_indices('/') {
        let segment = path[..index].rsplit('/').next().unwrap_or_default();
        if is_archive(segment) && index + 1 < path.len() {
            found = &path[..index];
        }
    }
    found
}

/// `public` and `train.csv` as `public/train.csv`; `./` stays visible, so that names differ.
fn join(outer: &str, inner: &str) -> String {
    format!("{outer}/{inner}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_archive_contains_a_file() {
        assert_eq!(containing("train.csv"), "");
        assert_eq!(containing("train.zip"), "");
        assert_eq!(containing("train.zip/train/*.jpg"), "train.zip");
        assert_eq!(containing("a/b.zip/c/d.tar.gz/e"), "a/b.zip/c/d.tar.gz");
        assert_eq!(containing("images/1.jpg"), "");
    }
}
