//! The first rows of a table of a pipeline, or of a query over its tables.
//!
//! The pipeline is run with one output, a CSV file of the query, which is published in a temporary directory. So only
//! the tables that the query needs are made, and tables in the cache are reused.

use std::path::Path;
use std::sync::Arc;

use prep_core::{Cancel, Failure, Reporter};
use prep_formats::pandas::{Frame, ReadOptions, read_frame};
use prep_spec::model::{Pipeline, Setting};
use prep_spec::{Reading, alternatives};
use prep_sql::Session;
use serde::Serialize;

use crate::draft::texts;
use crate::error::Error;
use crate::stages::load::LoadedCompetition;
use crate::stages::loader::Loader;
use crate::stages::run::Run;
use crate::stages::summary::Summary;
use crate::task::{PreparationOptions, Task};

/// The name of the only output.
const OUTPUT: &str = "rows.csv";

/// The table or query that a person looks at.
#[derive(Debug, Clone)]
pub enum PreviewSource {
    /// A table, by its name.
    Table(String),
    /// A query over tables.
    Query(String),
}

/// A query in place of the outputs of a pipeline. Part of the options of a task.
#[derive(Debug, Clone)]
pub struct ViewOptions {
    /// The query.
    pub(crate) query: String,
    /// Directory in which the result is published.
    pub(crate) folder: std::path::PathBuf,
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
    /// The type in queries; `text` for columns whose type is inferred when they are written. `None` for a column of a file
    /// that the pipeline does not declare: a query can only pass it on.
    #[serde(rename = "type")]
    pub kind: Option<&'static str>,
    /// Number of cells that are not missing. `None` if the column is not declared.
    pub filled: Option<u64>,
    /// Number of different values. `None` if the column is not declared.
    pub distinct: Option<u64>,
}

impl ViewOptions {
    /// Replaces the outputs of a loaded pipeline by the query.
    ///
    /// # Errors
    /// If the query is not valid for the pipeline's tables.
    pub(crate) fn apply(
        &self,
        loaded: &mut LoadedCompetition,
        engine: &Session,
    ) -> Result<(), Error> {
        let reading = reading(&loaded.pipeline, &self.query)?;
        let source = Arc::clone(&reading.pipeline.source);
        if let Some(found) = prep_spec::Diagnostics::new(source, prep_sql::check(engine, &reading))
        {
            return Err(found.into());
        }
        let source = Arc::clone(&loaded.pipeline.source);
        loaded.pipeline = prep_spec::in_file(reading.pipeline, source);
        loaded.checksums = None;
        Ok(())
    }
}

fn reading(pipeline: &Pipeline, query: &str) -> Result<Reading, Error> {
    let pipeline = prep_spec::view(pipeline, prep_steps::vocabulary(), OUTPUT, query)?;
    Ok(Reading {
        pipeline,
        unread: std::collections::BTreeSet::new(),
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
    reporter: &Arc<dyn Reporter>,
) -> Result<Rows, Error> {
    let pipeline = Loader::without_notes().load(task.catalog.get(id)?, &task.options.variant)?;
    let query = match view {
        PreviewSource::Table(name) => of_table(&pipeline, name)?,
        PreviewSource::Query(query) => query.trim().trim_end_matches(';').to_owned(),
    };
    let call = Call {
        task,
        id,
        cancel,
        reporter,
    };
    // Two runs, because the second query names the columns that the first one finds.
    let limited = match view {
        PreviewSource::Table(_) => format!("{query} LIMIT {limit}"),
        PreviewSource::Query(_) => query.clone(),
    };
    let mut first = call.frame(&limited)?;
    let names: Vec<String> = first.columns.iter().map(|one| one.name.clone()).collect();
    let reading = reading(&pipeline, &query)?;
    let known = known(&reading);
    let kind = |name: &str| {
        let mut columns = known.iter();
        Some(columns.find(|(own, _)| own == name)?.1)
    };
    let mut facts = "SELECT count(*) AS n".to_owned();
    let declared = names.iter().filter(|name| kind(name).is_some());
    for (number, name) in declared.enumerate() {
        let name = name.replace('"', "\"\"");
        facts += &format!(
            ", count(\"{name}\") AS filled_{number}, count(DISTINCT \"{name}\") AS distinct_{number}"
        );
    }
    let facts = call.frame(&format!("{facts} FROM ({query}) AS shown"))?;
    let mut numbers = facts.columns.iter().map(|column| {
        let text = texts(column).into_iter().next().flatten();
        text.and_then(|text| text.parse().ok()).unwrap_or(0)
    });
    let rows = numbers.next().unwrap_or(0);
    let columns = names.into_iter().map(|name| {
        let kind = kind(&name);
        RowsColumn {
            kind,
            filled: kind.and_then(|_| numbers.next()),
            distinct: kind.and_then(|_| numbers.next()),
            name,
        }
    });
    let columns: Vec<RowsColumn> = columns.collect();
    let cells: Vec<_> = first.columns.drain(..).map(|one| texts(&one)).collect();
    let count = cells.first().map_or(0, Vec::len).min(limit);
    let row = |row: usize| {
        let cells = cells.iter();
        cells
            .map(|column| column.get(row).cloned().flatten())
            .collect()
    };
    Ok(Rows {
        rows,
        columns,
        first: (0..count).map(row).collect(),
    })
}

/// Returns the columns of the query with their types, as far as they are known without data.
fn known(reading: &Reading) -> Vec<(String, &'static str)> {
    let output = reading.pipeline.public.first();
    let settings = output
        .into_iter()
        .flat_map(|one| one.declaration.settings());
    let mut queries = settings.filter_map(|(_, setting)| match &setting.value {
        Setting::Query(query) => Some(query),
        _ => None,
    });
    let session = Session::planner();
    let known = queries
        .next()
        .map(|query| prep_sql::known_columns(&session, reading, query));
    known.unwrap_or_default()
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

struct Call<'a> {
    task: &'a Task,
    id: &'a str,
    cancel: &'a Cancel,
    reporter: &'a Arc<dyn Reporter>,
}

impl Call<'_> {
    /// Returns the result of a query. All cells are texts.
    fn frame(&self, query: &str) -> Result<Frame, Error> {
        let parent = self.task.settings.temp_dir();
        std::fs::create_dir_all(&parent)
            .map_err(|error| Error::writing("make the directory", &parent, &error))?;
        let folder = tempfile::Builder::new().prefix("rows-").tempdir_in(&parent);
        let folder =
            folder.map_err(|error| Error::writing("make a directory in", &parent, &error))?;
        let task = Task {
            options: PreparationOptions {
                view: Some(ViewOptions {
                    query: query.to_owned(),
                    folder: folder.path().to_owned(),
                }),
                expand: None,
                locked: false,
                keep_going: false,
                ..self.task.options.clone()
            },
            ..self.task.clone()
        };
        let ids = [self.id.to_owned()];
        let run = Run::begin(&task, &ids, self.cancel, &|_| {})?;
        let ended = run.run(Arc::clone(self.reporter))?;
        let competition = ended.competitions.first();
        let summary = competition.map(|one| Summary::of_finished(&ended, one));
        let Some(summary) = summary.filter(|summary| !summary.is_complete()) else {
            let path = folder
                .path()
                .join(self.id)
                .join("prepared/public")
                .join(OUTPUT);
            return read(&path);
        };
        match summary.failures.into_iter().next() {
            Some(failure) => {
                let step = failure
                    .step
                    .map_or(String::new(), |step| format!("{step}: "));
                let error = Error::new(failure.failure, format!("{step}{}", failure.message));
                Err(match failure.help {
                    Some(help) => error.help(help),
                    None => error,
                })
            }
            None => Err(Error::new(Failure::Cancelled, "stopped")),
        }
    }
}

/// Reads a CSV file with all cells as texts.
fn read(path: &Path) -> Result<Frame, Error> {
    let bytes = std::fs::read(path).map_err(|error| Error::reading("read", path, &error))?;
    let failed = |error: &dyn std::fmt::Display| {
        Error::new(Failure::Internal, format!("{}: {error}", path.display()))
    };
    let options = ReadOptions::default();
    let frame = read_frame(&bytes, &options).map_err(|error| failed(&error))?;
    let text = frame.columns.iter().map(|column| column.name.clone());
    let options = ReadOptions {
        text: text.collect(),
        ..options
    };
    read_frame(&bytes, &options).map_err(|error| failed(&error))
}
