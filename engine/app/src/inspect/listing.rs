//! The files of a bundle, and rows of a pipeline's tables.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use prep_core::{Action, Cancel, Failure, NullReporter};
use prep_fetch::Members;
use prep_formats::zip::ZipEntry;
use prep_spec::model::{Pipeline, Query};
use prep_spec::{BASE_VARIANT, Reading, alternatives};
use prep_sql::Session;
use prep_steps::{Expand, Preview, RememberedOptions};
use serde::Serialize;

use crate::bundles;
use crate::error::Error;
use crate::run_log::{RunEnd, RunLog};
use crate::stages::assemble::further_sources;
use crate::stages::contents::StatedContents;
use crate::stages::load::{FurtherSource, Loader, reading};
use crate::stages::run::Run;
use crate::stages::summary::failures;
use crate::stages::with_last_bundle_options;
use crate::task::{PreparationOptions, Task, ViewOptions};

/// The files of a bundle.
#[derive(Debug, Default, Serialize)]
pub struct BundleListing {
    pub id: String,
    /// The path of the local bundle. `None` if there is no local bundle. The list of files then comes from Kaggle.
    pub bundle: Option<PathBuf>,
    pub bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub md5: Option<String>,
    /// Number of bytes to download if only the files that the pipeline reads are downloaded. `None` if the competition has
    /// no pipeline.
    pub used_bytes: Option<u64>,
    pub files: Vec<ListedFile>,
    /// Sources in addition to the bundle.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<ListedSource>,
}

/// A file of a bundle.
#[derive(Debug, Serialize)]
pub struct ListedFile {
    pub path: String,
    pub bytes: u64,
    pub compressed_bytes: u64,
    /// Whether the pipeline reads the file.
    pub used: bool,
}

/// A source in addition to the bundle.
#[derive(Debug, Serialize)]
pub struct ListedSource {
    #[serde(flatten)]
    pub source: FurtherSource,
    /// The length of the source's file, if it is known.
    pub bytes: Option<u64>,
}

/// Lists the bundle of `id`, and the further sources of its pipeline. The competition need not have a pipeline.
///
/// # Errors
/// Returns an error if the local bundle cannot be read, or if there is no local bundle and Kaggle does not list it.
pub fn listing(task: &Task, id: &str) -> Result<BundleListing, Error> {
    task.options.require_source()?;
    let entry = task.catalog.find(id);
    let task = &match entry {
        Some(entry) => with_last_bundle_options(task, &entry.id)?.0,
        None => task.clone(),
    };
    let pipeline = entry.and_then(|entry| entry.load(BASE_VARIANT).ok());
    let members = match &pipeline {
        Some(pipeline) => Some(Members::new(prep_steps::members(pipeline))?),
        None => None,
    };
    let sources = match (entry, &pipeline) {
        (Some(entry), Some(pipeline)) => {
            further_sources(entry, pipeline, task, &mut StatedContents::default())?.1
        }
        _ => Vec::new(),
    };
    let sources = sources.into_iter();
    let sources = sources.map(|source| ListedSource {
        bytes: source_length(task, &source),
        source,
    });
    let sources = sources.collect();
    let local = bundles::local(&task.settings, id, &task.options.source_dirs());
    let (bundle, bytes, md5, entries) = match local.path() {
        Some(path) => {
            let limits = task.settings.content_limits(1);
            let (_, bytes, entries) = bundles::list(path, &limits)?;
            (Some(path.to_owned()), bytes, None, entries)
        }
        None => {
            let near = || task.catalog.suggestion(id).map(str::to_owned);
            let near =
                || bundles::similar(task.options.remembered.source.as_deref(), id).or_else(near);
            let near = entry.is_none().then(near).flatten();
            let network = task.network.get();
            let network = network
                .map_err(|cause| Error::from(local.not_fetched(cause)).suggest(near.as_deref()))?;
            let kaggle = entry.map_or_else(|| id.to_owned(), |entry| entry.kaggle());
            let listed = network.list(&kaggle, &Cancel::default())?;
            (None, listed.bytes, listed.md5, listed.entries)
        }
    };
    let used_bytes = members.as_ref().map(|members| members.bytes(&entries));
    let files = entries.into_iter();
    let files = files.filter(|entry| !entry.is_directory);
    let file = |entry: ZipEntry| ListedFile {
        used: members
            .as_ref()
            .is_some_and(|members| members.selects(&entry)),
        bytes: entry.size,
        compressed_bytes: entry.compressed_size,
        path: entry.path,
    };
    Ok(BundleListing {
        id: id.to_owned(),
        bundle,
        bytes,
        md5,
        used_bytes,
        files: files.map(file).collect(),
        sources,
    })
}

/// Returns the length of the file of a source: the length of the local file, otherwise the length that its server
/// reports, otherwise the published length.
fn source_length(task: &Task, source: &FurtherSource) -> Option<u64> {
    match (&source.path, source.remote()) {
        (Some(path), Some(_)) => path.metadata().map(|file| file.len()).ok(),
        (None, Some((url, file))) => {
            let network = task.network.any().ok();
            let length =
                network.and_then(|network| network.file_length(file, url, &Cancel::default()).ok());
            length.or(source.published_bytes)
        }
        _ => None,
    }
}

/// The table or query whose rows a user requests.
#[derive(Debug, Clone)]
pub enum PreviewSource {
    /// A table, by its name.
    Table(String),
    /// A query over tables.
    Query(String),
}

/// Returns the first rows of a table or query of a competition.
///
/// # Errors
/// Returns an error if there is no such table, the query has a mistake, or a step fails.
pub fn rows(
    task: &Task,
    id: &str,
    view: &PreviewSource,
    limit: usize,
    cancel: &Cancel,
) -> Result<Preview, Error> {
    let pipeline = Loader::without_notes().load(task.catalog.get(id)?, &task.options.variant)?;
    let query = match view {
        PreviewSource::Table(name) => table_query(&pipeline, name)?,
        PreviewSource::Query(query) => query.trim().trim_end_matches(';').to_owned(),
    };
    let reading = reading(&pipeline, &query)?;
    let view = ViewOptions {
        query,
        limit,
        result: Arc::default(),
    };
    let mut preview = run_view(task, id, view, cancel)?;
    let undeclared = undeclared(&reading, &preview.tables);
    for column in &mut preview.columns {
        column.declared = !undeclared.contains(&column.name);
    }
    Ok(preview)
}

/// Runs a query in place of the outputs of a competition, and returns its rows.
fn run_view(task: &Task, id: &str, view: ViewOptions, cancel: &Cancel) -> Result<Preview, Error> {
    let result = Arc::clone(&view.result);
    let task = Task {
        options: PreparationOptions {
            view: Some(view),
            remembered: RememberedOptions {
                expand_archives: Some(Expand::No),
                ..task.options.remembered.clone()
            },
            locked: false,
            keep_going: false,
            ..task.options.clone()
        },
        ..task.clone()
    };
    let ids = [id.to_owned()];
    let run = Run::begin(&task, &ids, cancel, &|_| {})?;
    // A run that only reads results from the cache is not logged.
    let mut steps = run.plan.resolution.work.keys();
    let is_logged = steps.any(|id| !matches!(run.plan.all.graph.node(*id).action, Action::Sink(_)));
    let ended = match is_logged {
        true => {
            let log = RunLog::start(&task, &ids, &[], Arc::new(NullReporter));
            let ended = run.run(log.clone());
            log.finish(ended.as_ref().map(|ended| RunEnd::of_report(&ended.report)));
            ended?
        }
        false => run.run(Arc::new(NullReporter))?,
    };
    if let Some(preview) = result.lock().take() {
        return Ok(preview);
    }
    let Some(failure) = failures(&ended, id).into_iter().next() else {
        return Err(Error::new(Failure::Cancelled, "stopped"));
    };
    if let Some(place) = failure.place {
        return Err(place.into());
    }
    let step = failure
        .step
        .map_or(String::new(), |step| format!("{step}: "));
    Err(Error {
        help: failure.help,
        ..Error::new(failure.failure, format!("{step}{}", failure.message))
    })
}

/// Returns the names of those columns of `tables` that the pipeline does not declare.
fn undeclared(reading: &Reading, tables: &[(String, Vec<String>)]) -> BTreeSet<String> {
    let session = Session::planner();
    let declared = |table: &str| -> BTreeMap<String, &'static str> {
        let query = Query::parse(&format!("SELECT * FROM \"{table}\""));
        let columns = query.map(|query| prep_sql::known_columns(&session, reading, &query));
        columns.unwrap_or_default().into_iter().collect()
    };
    let mut undeclared = BTreeSet::new();
    for (table, columns) in tables {
        let declared = declared(table);
        let names = columns.iter().filter(|name| !declared.contains_key(*name));
        undeclared.extend(names.cloned());
    }
    undeclared
}

/// Returns a query for all rows of the table or list `name`.
fn table_query(pipeline: &Pipeline, name: &str) -> Result<String, Error> {
    let tables = pipeline.tables.iter().flat_map(|table| &table.names);
    let lists = pipeline.lists.iter().map(|(name, _)| name);
    let names: Vec<&str> = tables.chain(lists).map(|name| &*name.value).collect();
    if names.contains(&name) {
        return Ok(format!("SELECT * FROM \"{name}\""));
    }
    let message = format!("`{}` has no table `{name}`", pipeline.id);
    Err(Error::request(message).help(alternatives(name, "it", names)))
}
