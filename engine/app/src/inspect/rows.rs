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

use crate::error::Error;
use crate::run_log::{RunEnd, RunLog};
use crate::stages::load::reading;
use crate::stages::loader::Loader;
use crate::stages::run::Run;
use crate::stages::summary::failures;
use crate::task::{PreparationOptions, Task, ViewOptions};

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
/// If there is no such table, the query has a mistake, or a step fails.
pub fn rows(
    task: &Task,
    id: &str,
    view: &PreviewSource,
    limit: usize,
    cancel: &Cancel,
) -> Result<Preview, Error> {
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
    let mut preview = run(task, id, view, cancel)?;
    let undeclared = undeclared(&reading, &preview.tables);
    for column in &mut preview.columns {
        column.declared = !undeclared.contains(&column.name);
    }
    Ok(preview)
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
