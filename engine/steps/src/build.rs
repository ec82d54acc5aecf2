//! Builds the graph of steps for a pipeline.
//!
//! Names of steps:
//!
//! * `bundle`, and `source/NAME` for each further source;
//! * `unpack` for the bundle, `unpack/train.zip` for an archive inside it, `unpack/NAME:` for a further source;
//! * `table/NAME`, or `table/train,test` for two tables that one step produces;
//! * the path of an output, such as `public/train.csv`;
//! * `check/NAME`, `checksum/PATH`, `description`, `expand/PATH`, `publish`;
//! * `members`, which checks whether the tables have the JSON members that queries name; `trial`, which grades the
//!   sample submission.
//!
//! `publish` depends on all checks and checksums, so nothing is published before they have passed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use prep_cache::LinkMode;
use prep_core::{Action, Graph, GraphError, NodeId, Port, Source, Step};
use prep_spec::model::{Declaration, Output, Query, Setting, SourceLocation, Table, TableOrigin};
use prep_spec::split_source;
use prep_spec::words::{CellContent, KeyType, Produces};
use prep_spec::{Pipeline, Span};
use prep_sql::Session;
use thiserror::Error;

use crate::description::{Description, SubmissionFacts};
use crate::kinds::{
    self, ARCHIVE_INPUT, Checksum, Expand, FunctionStep, GENERATOR_PORT, Publish, SPLIT_OUTPUTS,
    Trial, is_archive, is_container,
};
use crate::located::LocatedStep;
use crate::preview::{PreviewRequest, PreviewSink};
use crate::published::{PublishedChecksums, contains};
use crate::value::{FILES_INPUT, TREE_PREFIX, VALUE_OUTPUT};

/// Name of the step that grades the sample submission.
pub const TRIAL_STEP: &str = "trial";

/// The name of the step that writes `public/description.md`.
pub const DESCRIPTION_STEP: &str = "description";

/// Name of the step that checks whether the tables have the JSON members that queries name.
pub const MEMBERS_STEP: &str = "members";

/// Parameters that are not part of the pipeline.
pub struct BuildOptions<'a> {
    /// Directory that contains `ID/prepared`.
    pub data_dir: &'a Path,
    /// Id of the system's current boot, if available. Published files from an earlier boot are read again, because a
    /// crash may have damaged them.
    pub boot: Option<&'a str>,
    /// The session that runs the queries.
    pub session: &'a Session,
    /// Published checksums to verify, if any.
    pub checksums: Option<&'a PublishedChecksums>,
    /// Text of the competition's description.
    pub description: &'a str,
    /// Description of the metric, for participants.
    pub metric: Option<String>,
    /// Facts about submissions, for participants. `None` for a built-in competition or a pack, whose description must
    /// not change. The description then lists neither rules, values and examples of files nor the fields of JSON lines.
    pub submissions: Option<SubmissionFacts>,
    /// Name of the pipeline's variant, such as `v1`.
    pub variant: &'a str,
    /// How archives in `public` are unpacked.
    pub expand: Expand,
    /// Digests that the lockfile requires of the published trees, if any.
    pub locked: Option<prep_digests::Trees>,
    /// The cheapest allowed way in which published files share bytes with the cache, for example by hard links.
    pub link_mode: LinkMode,
    /// Whether facts from the pipeline are appended to the description.
    pub complete_description: bool,
    /// Whether files in the prepared directory that no run published are deleted.
    pub remove_unpublished: bool,
    /// How the sample submission is graded before publishing. `None` if it is not graded.
    pub trial: Option<Trial>,
    /// Whether a step searches the tables for the JSON members that queries name. It warns of members that no row has.
    pub finds_members: bool,
}

/// The sources of a pipeline's files.
pub struct Sources {
    /// The bundle, if the pipeline has one.
    pub bundle: Option<Box<dyn Source>>,
    /// Further sources by name.
    pub further: BTreeMap<String, Box<dyn Source>>,
}

/// The reason why no graph can be built for a pipeline.
#[derive(Debug, Error)]
pub enum BuildError {
    /// Two steps have the same name, or an edge is invalid.
    #[error("{0}")]
    Graph(#[from] GraphError),
    /// A query or key names a table that does not exist.
    #[error("the table `{0}` is not defined")]
    UnknownTable(String),
    /// A table or output lacks a required key.
    #[error("the declaration of `{0}` is incomplete")]
    Incomplete(String),
    /// A path names a source that was not passed to [`build`].
    #[error("the source `{0}` is unknown")]
    UnknownSource(String),
    /// A published checksum belongs to no output.
    #[error("the published checksum of `{0}` belongs to no output of the pipeline")]
    UnknownChecksum(String),
}

/// Adds the steps of a pipeline to `graph`. Returns the step `publish`. Fails if the pipeline contradicts itself, its
/// sources or the published checksums.
pub fn build(
    graph: &mut Graph,
    pipeline: &Pipeline,
    sources: Sources,
    options: &BuildOptions<'_>,
) -> Result<NodeId, BuildError> {
    Builder::new(graph, pipeline, sources, options)?.add_all()
}

/// Adds a node that runs a query, and the steps of the tables that the query reads. Returns this node. Fails like
/// [`build`], or if the query reads an unknown table.
pub fn build_preview(
    graph: &mut Graph,
    pipeline: &Pipeline,
    sources: Sources,
    options: &BuildOptions<'_>,
    request: PreviewRequest,
) -> Result<NodeId, BuildError> {
    let mut builder = Builder::new(graph, pipeline, sources, options)?;
    let inputs = builder.query_inputs(&request.query)?;
    let session = options.session.clone();
    let sink = Action::Sink(Box::new(PreviewSink { request, session }));
    Ok(graph.add(&pipeline.id, "rows", sink, inputs)?)
}

/// Returns the tables that an output publishes with all rows and columns (`SELECT * FROM table`).
fn published_tables(pipeline: &Pipeline) -> BTreeSet<&str> {
    let outputs = pipeline.public.iter().chain(&pipeline.private);
    let settings = outputs.flat_map(|output| output.declaration.settings());
    let copied = settings.filter_map(|(_, setting)| match &setting.value {
        Setting::Query(query) => query.copied_table(),
        _ => None,
    });
    copied.collect()
}

struct Builder<'a> {
    graph: &'a mut Graph,
    pipeline: &'a Pipeline,
    options: &'a BuildOptions<'a>,
    bundle: Option<NodeId>,
    sources: BTreeMap<String, NodeId>,
    /// The step that unpacks each archive, by path. The bundle has the empty path, a further source has `NAME:`.
    trees: BTreeMap<String, NodeId>,
    /// The output of a step that contains each table, by name of the table.
    tables: BTreeMap<String, Port>,
    /// For each table, the paths of the archives that contain the files named in its rows.
    table_trees: BTreeMap<String, BTreeSet<String>>,
    published_tables: BTreeSet<&'a str>,
}

/// The name of each input of a step, and the output of another step that is passed to this input.
type StepInputs = Vec<(String, Port)>;
/// Outputs to publish: the name of the input of `publish`, and the path below `prepared`.
type PublishedFiles = Vec<(String, String)>;

impl<'a> Builder<'a> {
    fn new(
        graph: &'a mut Graph,
        pipeline: &'a Pipeline,
        sources: Sources,
        options: &'a BuildOptions<'a>,
    ) -> Result<Builder<'a>, BuildError> {
        let Sources {
            bundle,
            mut further,
        } = sources;
        let id = &pipeline.id;
        let bundle = bundle.map(|one| graph.add(id, "bundle", Action::Source(one), Vec::new()));
        let bundle = bundle.transpose()?;
        let mut nodes = BTreeMap::new();
        for source in &pipeline.sources {
            let name = &source.name.value;
            let source = further.remove(name);
            let source = source.ok_or_else(|| BuildError::UnknownSource(name.clone()))?;
            let step = format!("source/{name}");
            let node = graph.add(&pipeline.id, &step, Action::Source(source), Vec::new())?;
            nodes.insert(name.clone(), node);
        }
        Ok(Builder {
            graph,
            pipeline,
            options,
            bundle,
            sources: nodes,
            trees: BTreeMap::new(),
            tables: BTreeMap::new(),
            table_trees: BTreeMap::new(),
            published_tables: published_tables(pipeline),
        })
    }
}

impl Builder<'_> {
    fn add_all(&mut self) -> Result<NodeId, BuildError> {
        let mut inputs = StepInputs::new();
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
            let step = kinds::check(&check.name.value, &check.query, self.options.session);
            let tables = self.query_inputs(&check.query)?;
            let port = self.step(&name, step, tables)?;
            inputs.push((name, port));
        }
        self.checksums(&mut inputs)?;
        self.members(&mut inputs)?;
        self.trial(&mut inputs)?;
        let mut expanded = Vec::new();
        if self.options.expand != Expand::No {
            (outputs, expanded) =
                self.expand_archives(self.options.expand, &mut inputs, outputs)?;
        }
        let publish = Publish {
            competition: self.pipeline.id.clone(),
            variant: self.options.variant.to_owned(),
            data_dir: self.options.data_dir.to_path_buf(),
            boot: self.options.boot.map(str::to_owned),
            outputs,
            expanded,
            locked: self.options.locked,
            remove_unpublished: self.options.remove_unpublished,
            link_mode: self.options.link_mode,
        };
        Ok(self.graph.add(
            &self.pipeline.id,
            "publish",
            Action::Sink(Box::new(publish)),
            inputs,
        )?)
    }

    /// Adds the steps that unpack archives in `public`: outputs that are archives, and archives in output directories.
    ///
    /// The first returned list contains the outputs that are published at their path in the pipeline. They include
    /// the sample submission, and with [`Expand::Beside`] all archives.
    ///
    /// The second list contains the unpacked archives. Their files are published below the directory that contains the
    /// archive.
    fn expand_archives(
        &mut self,
        expand: Expand,
        inputs: &mut StepInputs,
        outputs: PublishedFiles,
    ) -> Result<(PublishedFiles, PublishedFiles), BuildError> {
        let grade = self.pipeline.grade.as_ref();
        let sample = grade.map(|grade| grade.value.sample.value.clone());
        let (mut published, mut unpacked) = (Vec::new(), Vec::new());
        for (name, path) in outputs {
            let is_directory = path.ends_with('/');
            let is_public = path.starts_with("public/");
            let port = inputs.iter().find(|(input, _)| *input == name);
            let port = port.map(|(_, port)| port.clone());
            let port = port.filter(|_| is_public && (is_directory || is_archive(&path)));
            let Some(port) = port else {
                published.push((name, path));
                continue;
            };
            let (parent, file_name) = path.rsplit_once('/').unwrap_or_default();
            let archive = (!is_directory).then(|| file_name.to_owned());
            let step = kinds::expand_archives(archive, expand);
            let step_name = format!("expand/{path}");
            let expanded = self.step(&step_name, step, vec![(ARCHIVE_INPUT.to_owned(), port)])?;
            inputs.push((step_name.clone(), expanded));
            if is_directory {
                published.push((step_name, path));
                continue;
            }
            unpacked.push((step_name, format!("{parent}/./")));
            // The pipeline names the path of the sample submission, so the file stays there.
            if expand == Expand::Beside || sample.as_ref() == Some(&path) {
                published.push((name, path));
            }
        }
        Ok((published, unpacked))
    }

    fn step(
        &mut self,
        name: &str,
        step: FunctionStep,
        inputs: StepInputs,
    ) -> Result<Port, BuildError> {
        let step = self.located(Box::new(step));
        self.add(name, step, inputs).map(value_of)
    }

    fn located(&self, step: Box<dyn Step>) -> LocatedStep {
        LocatedStep::new(step, self.pipeline.source.clone())
    }

    fn add(
        &mut self,
        name: &str,
        step: LocatedStep,
        inputs: StepInputs,
    ) -> Result<NodeId, BuildError> {
        let competition = &self.pipeline.id;
        let step = Action::Step(Box::new(step));
        Ok(self.graph.add(competition, name, step, inputs)?)
    }

    /// Returns the tree of an archive, or of the bundle if `archive` is empty. If no step unpacks the archive yet,
    /// adds this step. `place` is the position of the path that names the archive.
    fn tree(&mut self, archive: &str, place: Option<Span>) -> Result<Port, BuildError> {
        if let Some(node) = self.trees.get(archive) {
            return Ok(value_of(*node));
        }
        let port = match split_source(archive) {
            (None, "") => {
                let unknown = || BuildError::UnknownSource("bundle".to_owned());
                let bundle = self.bundle.ok_or_else(unknown)?;
                let inputs = vec![("archive".to_owned(), value_of(bundle))];
                self.step("unpack", kinds::unpack(None), inputs)?
            }
            (Some(source), "") => self.source_tree(source)?,
            _ => {
                let outer = self.tree(containing_archive(archive), place)?;
                let step = kinds::unpack(Some(archive.to_owned()));
                let step = self.located(Box::new(step)).at(place);
                let inputs = vec![("archive".to_owned(), outer)];
                value_of(self.add(&format!("unpack/{archive}"), step, inputs)?)
            }
        };
        self.trees.insert(archive.to_owned(), port.node);
        Ok(port)
    }

    fn source_tree(&mut self, name: &str) -> Result<Port, BuildError> {
        let mut sources = self.pipeline.sources.iter();
        let unknown = || BuildError::UnknownSource(name.to_owned());
        let source = sources.find(|source| source.name.value == name);
        let file = match &source.ok_or_else(unknown)?.place {
            SourceLocation::Url(remote) => Some(remote.file.clone()),
            SourceLocation::Folder(_) => None,
        };
        let node = self.sources.get(name).copied().ok_or_else(unknown)?;
        let name = name.to_owned();
        let step_name = format!("unpack/{name}:");
        let inputs = vec![("source".to_owned(), value_of(node))];
        self.step(&step_name, kinds::source_tree(name, file), inputs)
    }

    fn table(&mut self, name: &str) -> Result<Port, BuildError> {
        if let Some(port) = self.tables.get(name) {
            return Ok(port.clone());
        }
        let tables = &self.pipeline.tables;
        let table = tables.iter().find(|table| table.has(name));
        let unknown = || BuildError::UnknownTable(name.to_owned());
        self.add_table(table.ok_or_else(unknown)?)?;
        self.tables.get(name).cloned().ok_or_else(unknown)
    }

    fn add_table(&mut self, table: &Table) -> Result<(), BuildError> {
        let names: Vec<&str> = table.names.iter().map(|name| &*name.value).collect();
        let step_name = format!("table/{}", names.join(","));
        let (node, trees) = match &table.made {
            TableOrigin::Query(query) => {
                let inputs = self.query_inputs(query)?;
                let step = kinds::query_table(query, self.options.session);
                let trees = self.source_trees_of(&query.tables);
                let step = self.located(Box::new(step));
                (self.add(&step_name, step, inputs)?, trees)
            }
            TableOrigin::List(texts) => {
                let step = self.located(Box::new(kinds::list(texts.clone())));
                let node = self.add(&step_name, step, StepInputs::new())?;
                (node, BTreeSet::new())
            }
            TableOrigin::Declared(declaration) => {
                let is_published =
                    matches!(*names.as_slice(), [name] if self.published_tables.contains(name));
                self.add_declared(&step_name, declaration, is_published)?
            }
        };
        // A split has two outputs, one for each of its tables.
        let parts = match names.as_slice() {
            [_] => vec![VALUE_OUTPUT],
            _ => SPLIT_OUTPUTS.to_vec(),
        };
        for (name, part) in names.into_iter().zip(parts) {
            let output = part.to_owned();
            self.tables.insert(name.to_owned(), Port { node, output });
            self.table_trees.insert(name.to_owned(), trees.clone());
        }
        Ok(())
    }

    /// Adds the step of a table or an output. Also returns the archives that contain the files named in rows of the table.
    ///
    /// The [`KeyType`] of each YAML key of `declaration` determines inputs of the step. For example, a query adds the
    /// tables that it reads. If `is_published` is true, the step also computes the SHA-256 of the bytes that it writes.
    fn add_declared(
        &mut self,
        name: &str,
        declaration: &Declaration,
        is_published: bool,
    ) -> Result<(NodeId, BTreeSet<String>), BuildError> {
        let mut inputs = StepInputs::new();
        let mut trees = BTreeSet::new();
        let mut archives = BTreeSet::new();
        // The key that names the table from which this table copies cells. A copied cell that names a file refers to the
        // same archives as the original cell.
        let copied_key = match declaration.form.makes {
            Produces::Same(key) | Produces::Parts(key) | Produces::Unpivoted(key) => key,
            _ => "",
        };
        for (key, setting) in declaration.settings() {
            match (&key.value, &setting.value) {
                (KeyType::Source | KeyType::Copied, Setting::Text(path)) => {
                    archives.insert(containing_archive(path).to_owned());
                    if has_document_columns(declaration) {
                        trees.insert(containing_archive(path).to_owned());
                    }
                }
                (KeyType::Sources, Setting::Text(pattern)) => {
                    archives.insert(containing_archive(pattern).to_owned());
                    trees.insert(containing_archive(pattern).to_owned());
                }
                (KeyType::Table, Setting::Text(table)) => {
                    inputs.push((key.name.to_owned(), self.table(table)?));
                    if key.name == copied_key {
                        trees.append(&mut self.source_trees_of([table]));
                    }
                }
                (KeyType::Files, Setting::Text(table)) => {
                    inputs.push((FILES_INPUT.to_owned(), self.table(table)?));
                    let table_trees = self.source_trees_of([table]);
                    archives.extend(table_trees.iter().cloned());
                    trees.extend(table_trees);
                }
                (KeyType::Drawn, Setting::Text(table)) => {
                    let node = self.table(table)?.node;
                    let output = GENERATOR_PORT.to_owned();
                    inputs.push((GENERATOR_PORT.to_owned(), Port { node, output }));
                }
                (KeyType::Size | KeyType::Value, Setting::Query(query)) => {
                    let tables = self.query_inputs(query)?;
                    let step = kinds::query_table(query, self.options.session);
                    let step_name = format!("{name}/{}", key.name);
                    inputs.push((key.name.to_owned(), self.step(&step_name, step, tables)?));
                }
                (kind, Setting::Query(query)) => {
                    inputs.extend(self.query_inputs(query)?);
                    if matches!(kind, KeyType::Placed | KeyType::Documents) {
                        archives.append(&mut self.source_trees_of(&query.tables));
                    }
                }
                (_, Setting::Queries(queries)) => {
                    for (_, query) in queries {
                        inputs.extend(self.query_inputs(query)?);
                    }
                }
                (_, Setting::Outputs(members)) => {
                    for member in members {
                        let inner = join(name, &member.path.value);
                        let port = self.output(&inner, member)?;
                        inputs.push((member.path.value.clone(), port));
                    }
                }
                _ => {}
            }
        }
        for archive in &archives {
            let mut settings = declaration.settings();
            let names_it = |setting: &Setting| matches!(setting, Setting::Text(path) if path.starts_with(archive));
            let place = settings.find(|(_, setting)| names_it(&setting.value));
            let tree = self.tree(archive, place.map(|(_, setting)| setting.span))?;
            inputs.push((format!("{TREE_PREFIX}{archive}"), tree));
        }
        inputs.sort_by(|one, other| one.0.cmp(&other.0));
        inputs.dedup_by(|one, other| one.0 == other.0);
        let step = kinds::step(declaration, self.options.session);
        let step = step.ok_or_else(|| BuildError::Incomplete(name.to_owned()))?;
        let mut step = self.located(step).declared(declaration);
        if is_published {
            step = step.with_sha256();
        }
        Ok((self.add(name, step, inputs)?, trees))
    }

    fn query_inputs(&mut self, query: &Query) -> Result<StepInputs, BuildError> {
        query
            .tables
            .iter()
            .map(|name| Ok((name.clone(), self.table(name)?)))
            .collect()
    }

    /// Returns the archives that contain the files named in rows of `tables`.
    fn source_trees_of<'t>(
        &self,
        tables: impl IntoIterator<Item = &'t String>,
    ) -> BTreeSet<String> {
        tables
            .into_iter()
            .filter_map(|table| self.table_trees.get(table))
            .flatten()
            .cloned()
            .collect()
    }

    fn output(&mut self, name: &str, output: &Output) -> Result<Port, BuildError> {
        let (node, _) = self.add_declared(name, &output.declaration, true)?;
        Ok(value_of(node))
    }

    /// Adds the step that writes `public/description.md`.
    fn describe(
        &mut self,
        inputs: &mut StepInputs,
        outputs: &mut Vec<(String, String)>,
    ) -> Result<(), BuildError> {
        let public: Vec<(String, String)> = outputs
            .iter()
            .filter_map(|(name, path)| {
                Some((name.clone(), path.strip_prefix("public/")?.to_owned()))
            })
            .collect();
        let grade = self.pipeline.grade.as_ref();
        // The name of the output with the sample submission, and its path below `public` or `private`.
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
        let facts = self.options.submissions.as_ref();
        let answers = grade
            .filter(|_| facts.is_some_and(SubmissionFacts::needs_answers))
            .map(|grade| grade.value.answers.value.clone())
            .filter(|path| inputs.iter().any(|(name, _)| name == path))
            .map(|path| (path.clone(), path));
        let described: BTreeSet<&String> = public
            .iter()
            .chain(&sample)
            .chain(&answers)
            .map(|(name, _)| name)
            .collect();
        let step_inputs: StepInputs = inputs
            .iter()
            .filter(|(name, _)| described.contains(name))
            .cloned()
            .collect();
        let is_complete = !self.options.complete_description;
        let prose = match self.options.description.trim().is_empty() && !is_complete {
            true => format!("# {}", self.pipeline.name),
            false => self.options.description.to_owned(),
        };
        let step = Description {
            prose,
            is_complete,
            metric: self.options.metric.clone(),
            submissions: self.options.submissions.clone(),
            outputs: public,
            sample,
            answers,
        };
        let port = self.step(DESCRIPTION_STEP, step.step(), step_inputs)?;
        let path = "public/description.md".to_owned();
        inputs.push((path.clone(), port));
        outputs.push((path.clone(), path));
        Ok(())
    }

    /// Returns whether the bytes of this output depend on the version of the library that writes it.
    fn is_writer_dependent(&self, path: &str) -> bool {
        let (section, inner) = path.split_once('/').unwrap_or_default();
        let outputs = match section {
            "public" => &self.pipeline.public,
            _ => &self.pipeline.private,
        };
        let output = outputs.iter().find(|output| output.path.value == inner);
        output.is_some_and(|output| kinds::depends_on_writer(&output.declaration))
    }

    /// Adds the step that searches the tables for JSON members, if a query names such members.
    fn members(&mut self, inputs: &mut StepInputs) -> Result<(), BuildError> {
        let queries = self.pipeline.queries().into_iter();
        let queries = queries.filter(|query| query.text.to_ascii_lowercase().contains("json_"));
        let queries: Vec<Query> = queries.cloned().collect();
        if !self.options.finds_members || queries.is_empty() {
            return Ok(());
        }
        let names: BTreeSet<&String> = queries.iter().flat_map(|query| &query.tables).collect();
        let tables = names
            .into_iter()
            .map(|name| Ok((name.clone(), self.table(name)?)));
        let tables = tables.collect::<Result<_, BuildError>>()?;
        let port = self.step(MEMBERS_STEP, kinds::members(queries), tables)?;
        inputs.push((MEMBERS_STEP.to_owned(), port));
        Ok(())
    }

    /// Adds the step that grades the sample submission, if the options request it and the pipeline has outputs with the
    /// answers and the sample submission.
    fn trial(&mut self, inputs: &mut StepInputs) -> Result<(), BuildError> {
        let Some(trial) = &self.options.trial else {
            return Ok(());
        };
        let answers = containing_output(inputs, &trial.answers);
        let sample = containing_output(inputs, &trial.sample);
        if let (Some((answers, inside)), Some((sample, inside_sample))) = (answers, sample) {
            let step = kinds::trial(trial.clone(), [inside, inside_sample]);
            let mut files = vec![
                ("answers".to_owned(), answers),
                ("sample".to_owned(), sample),
            ];
            let test = trial
                .test
                .as_ref()
                .and_then(|path| inputs.iter().find(|(name, _)| name == path));
            files.extend(test.map(|(_, port)| ("test".to_owned(), port.clone())));
            let port = self.step(TRIAL_STEP, step, files)?;
            inputs.push((TRIAL_STEP.to_owned(), port));
        }
        Ok(())
    }

    /// Adds a step for each published checksum.
    fn checksums(&mut self, inputs: &mut StepInputs) -> Result<(), BuildError> {
        let Some(checksums) = self.options.checksums else {
            return Ok(());
        };
        let mut steps = StepInputs::new();
        for (path, md5) in checksums.outputs() {
            let found = containing_output(inputs, &path);
            let (port, inside) = found.ok_or_else(|| BuildError::UnknownChecksum(path.clone()))?;
            let step = Checksum {
                id: self.pipeline.id.clone(),
                is_writer_dependent: self.is_writer_dependent(&path),
                path: path.clone(),
                inside,
                md5: md5.to_owned(),
            };
            let name = format!("checksum/{path}");
            steps.push((
                name.clone(),
                self.step(&name, step.step(), vec![("file".to_owned(), port)])?,
            ));
        }
        inputs.extend(steps);
        Ok(())
    }
}

/// Returns the output that contains the file `path`. For an output directory, also returns the path within the
/// directory.
fn containing_output(inputs: &StepInputs, path: &str) -> Option<(Port, Option<String>)> {
    let exact = inputs.iter().find(|(name, _)| *name == path);
    let containing = inputs.iter().find(|(name, _)| contains(name, path));
    let (name, port) = exact.or(containing)?;
    let directory = name.strip_suffix("./").unwrap_or(name);
    let inside = path.strip_prefix(directory)?;
    let inside = Some(inside.to_owned()).filter(|inside| !inside.is_empty());
    Some((port.clone(), inside))
}

/// Returns whether a column of the declared table contains documents. Steps that write such a column copy parts of the
/// documents from the file from which the table was read.
fn has_document_columns(declaration: &Declaration) -> bool {
    match declaration.form.makes {
        Produces::Table(columns) => {
            let columns = columns(declaration);
            columns
                .iter()
                .any(|column| column.holds == CellContent::Documents)
        }
        _ => false,
    }
}

/// Returns the output of a step that has a single output.
fn value_of(node: NodeId) -> Port {
    Port {
        node,
        output: VALUE_OUTPUT.to_owned(),
    }
}

/// Returns the path of the innermost archive that contains the file `path`. If `path` is not in an archive, returns `NAME:`
/// for a file of the further source `NAME`. Returns an empty string for a file of the bundle.
fn containing_archive(path: &str) -> &str {
    let (_, inner) = split_source(path);
    let mut found = path.strip_suffix(inner).unwrap_or_default();
    for (index, _) in path.match_indices('/') {
        let segment = path[..index].rsplit('/').next().unwrap_or_default();
        if is_container(segment) && index + 1 < path.len() {
            found = &path[..index];
        }
    }
    found
}

/// Joins the path `inner` to `outer`. `outer` is the section of an output, or the archive of a member. Keeps `./`, as
/// in `public/./`, because without it two inputs of the step `publish` could get the same name.
fn join(outer: &str, inner: &str) -> String {
    format!("{outer}/{inner}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containing_archive_is_the_innermost_one() {
        assert_eq!(containing_archive("train.csv"), "");
        assert_eq!(containing_archive("train.zip"), "");
        assert_eq!(containing_archive("train.zip/train/*.jpg"), "train.zip");
        assert_eq!(
            containing_archive("a/b.zip/c/d.tar.gz/e"),
            "a/b.zip/c/d.tar.gz"
        );
        assert_eq!(containing_archive("a/b.csv.gz/b.csv"), "a/b.csv.gz");
        assert_eq!(containing_archive("a/b.csv.gz"), "");
        assert_eq!(containing_archive("s/*.zip/*/{x}.png"), "s/*.zip");
        assert_eq!(containing_archive("images/1.jpg"), "");
        assert_eq!(containing_archive("more:a.csv"), "more:");
        assert_eq!(containing_archive("more:a.zip"), "more:");
        assert_eq!(containing_archive("more:a.zip/b.csv"), "more:a.zip");
    }
}
