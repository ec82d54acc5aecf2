//! Returns the first rows of a table of a pipeline, or of a query over its tables.
//!
//! This is a run in which a sink replaces the outputs. The run computes only the tables that the query needs, and reuses
//! tables in the cache. The sink keeps the first rows and counts the cells of all others, so the result needs little memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use prep_core::{Cancel, Failure, NullReporter};
use prep_spec::model::{Pipeline, Query};
use prep_spec::{Reading, alternatives};
use prep_sql::Session;
use prep_steps::{Preview, PreviewRequest};
use serde::Serialize;

use crate::error::Error;
use crate::stages::load::LoadedCompetition;
use crate::stages::loader::Loader;
use crate::stages::run::Run;
use crate::stages::summary::Summary;
use crate::task::{PreparationOptions, Task};

/// The name of the query in errors.
const NAME: &str = "rows";

/// The table or query whose rows a user requests.
#[derive(Debug, Clone)]
pub enum PreviewSource {
    /// A table, by its name.
    Table(String),
    /// A query over tables.
    Query(String),
}

/// A query that replaces the outputs of a pipeline, as part of the options of a task.
#[derive(Debug, Clone)]
pub struct ViewOptions {
    /// The query.
    pub(crate) query: String,
    /// Maximum number of rows that are kept.
    pub(crate) limit: usize,
    /// The result, after the run.
    pub(crate) result: Arc<Mutex<Option<Preview>>>,
}

/// Rows with their columns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rows {
    /// Number of all rows.
    pub rows: u64,
    pub columns: Vec<RowsColumn>,
    /// The first rows. A missing cell is null.
    pub first: Vec<Vec<Option<String>>>,
}

/// A column and its content.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowsColumn {
    pub name: String,
    /// The type in queries; `text` for columns whose type is inferred when they are written.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// False for a column of a file that the pipeline does not declare. Its type is the one that pandas infers. In the
    /// pipeline, a query can only pass it on.
    pub declared: bool,
    /// Number of cells that are not missing.
    pub filled: u64,
    /// Number of different values. `None` if there are too many to count.
    pub distinct: Option<u64>,
}

impl ViewOptions {
    /// Replaces the outputs of a loaded pipeline with the query. Returns the request for the preview.
    ///
    /// # Errors
    /// If the query is not valid for the pipeline's tables.
    pub(crate) fn apply(
        &self,
        loaded: &mut LoadedCompetition,
        engine: &Session,
    ) -> Result<PreviewRequest, Error> {
        let reading = reading(&loaded.pipeline, &self.query)?;
        let source = Arc::clone(&reading.pipeline.source);
        let found = prep_sql::check_before_files(engine, &reading);
        if let Some(found) = prep_spec::Diagnostics::new(Arc::clone(&source), found) {
            return Err(found.into());
        }
        loaded.checksums = None;
        // Errors about tables have positions in the pipeline's file, not in the query.
        let file = Arc::clone(&loaded.pipeline.source);
        let mut pipeline = reading.pipeline;
        let query = pipeline.checks.pop().map(|check| check.query);
        let query = query.ok_or_else(|| Error::new(Failure::Internal, "a view without a query"))?;
        loaded.pipeline = Pipeline {
            source: file,
            ..pipeline
        };
        Ok(PreviewRequest {
            query,
            source,
            limit: self.limit,
            result: Arc::clone(&self.result),
        })
    }
}

fn reading(pipeline: &Pipeline, query: &str) -> Result<Reading, Error> {
    let pipeline = prep_spec::query_pipeline(pipeline, prep_steps::vocabulary(), NAME, query)?;
    Ok(Reading {
        pipeline,
        unread: BTreeSet::new(),
    })
}

/// Returns the first rows of a table or query of a competition.
///
/// # Errors
/// If there is no such table, the query has a mistake, or a step fails.
pub fn rows(
    task: &Task,
    id: &str,
    view: &PreviewSource,
    limit: usize,
    cancel: &Cancel,
) -> Result<Rows, Error> {
    let pipeline = Loader::without_notes().load(task.catalog.get(id)?, &task.options.variant)?;
    let query = match view {
        PreviewSource::Table(name) => of_table(&pipeline, name)?,
        PreviewSource::Query(query) => query.trim().trim_end_matches(';').to_owned(),
    };
    let reading = reading(&pipeline, &query)?;
    let view = ViewOptions {
        query,
        limit,
        result: Arc::default(),
    };
    let preview = run(task, id, view, cancel)?;
    let undeclared = undeclared(&reading, &preview.tables);
    let columns = preview.columns.into_iter().map(|column| RowsColumn {
        declared: !undeclared.contains(&column.name),
        name: column.name,
        kind: column.kind,
        filled: column.filled,
        distinct: column.distinct,
    });
    Ok(Rows {
        rows: preview.rows,
        columns: columns.collect(),
        first: preview.first,
    })
}

fn run(task: &Task, id: &str, view: ViewOptions, cancel: &Cancel) -> Result<Preview, Error> {
    let result = Arc::clone(&view.result);
    let task = Task {
        options: PreparationOptions {
            view: Some(view),
            expand: None,
            locked: false,
            keep_going: false,
            ..task.options.clone()
        },
        ..task.clone()
    };
    let run = Run::begin(&task, &[id.to_owned()], cancel, &|_| {})?;
    let ended = run.run(Arc::new(NullReporter))?;
    if let Some(preview) = result.lock().take() {
        return Ok(preview);
    }
    let mut competitions = ended.competitions.iter();
    let mut failures = competitions.next().map_or(Vec::new(), |competition| {
        Summary::of_finished(&ended, competition).failures
    });
    if failures.is_empty() {
        return Err(Error::new(Failure::Cancelled, "stopped"));
    }
    let failure = failures.remove(0);
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

/// Returns the columns of the tables that the pipeline does not declare.
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

fn of_table(pipeline: &Pipeline, name: &str) -> Result<String, Error> {
    let tables = pipeline.tables.iter().flat_map(|table| &table.names);
    let lists = pipeline.lists.iter().map(|(name, _)| name);
    let names: Vec<&str> = tables.chain(lists).map(|name| &*name.value).collect();
    if names.contains(&name) {
        return Ok(format!("SELECT * FROM \"{name}\""));
    }
    let message = format!("`{}` has no table `{name}`", pipeline.id);
    Err(Error::request(message).help(alternatives(name, "it", names)))
}
