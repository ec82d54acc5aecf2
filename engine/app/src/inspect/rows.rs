//! Returns the first rows of a table of a pipeline, or of a query over its tables.
//!
//! This is a run in which a sink replaces the outputs. The run computes only the tables that the query needs, and reuses
//! tables in the cache. The sink keeps the first rows and counts the cells of all others, so the result needs little memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prep_core::{Action, Cancel, Failure, NullReporter};
use prep_spec::model::{Pipeline, Query};
use prep_spec::{Reading, alternatives};
use prep_sql::Session;
use prep_steps::{Expand, Preview, RememberedOptions};
use serde::Serialize;

use crate::error::Error;
use crate::run_log::{RunEnd, RunLog};
use crate::stages::loader::Loader;
use crate::stages::run::Run;
use crate::stages::summary::failures;
use crate::stages::view::reading;
use crate::task::{PreparationOptions, Task, ViewOptions};

/// The table or query whose rows a user requests.
#[derive(Debug, Clone)]
pub enum PreviewSource {
    /// A table, by its name.
    Table(String),
    /// A query over tables.
    Query(String),
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
    let mut steps = run.plan.resolution.work.keys();
    let is_logged = steps.any(|id| !matches!(run.plan.graph.node(*id).action, Action::Sink(_)));
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
