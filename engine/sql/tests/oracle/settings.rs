//! Runs a query with combinations of memory limit, batch size and row form. With one memory limit, joins sort both sides.

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use prep_failure::Failure;
use prep_spec::model::Query;
use prep_sql::{QueryError, Session};

use super::database::Database;
use crate::random::table::{Memories, RequestedRows, rows};

const MB: u64 = 1 << 20;
/// Memory limits in bytes.
const MEMORIES: [u64; 3] = [8 * MB, 64 * MB, 1024 * MB];
/// Maximum numbers of rows per batch.
const BATCHES: [usize; 3] = [1, 100, 8192];

#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The column names and the rows, one line each.
    Rows(Vec<String>),
    /// The query was rejected before it ran.
    Rejected(String),
    /// A value could not be computed.
    Failed(String),
    /// The system failed, for example because the memory limit is too low.
    Memory(String),
    Panicked(String),
}

#[derive(Debug, Clone)]
pub struct Setting {
    pub requested: RequestedRows,
    memory: u64,
    batch: usize,
}

impl Setting {
    /// Returns whether joins sort both sides, although the small tables fit into memory.
    pub fn sorts_joins(&self) -> bool {
        self.memory == MEMORIES[1]
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let memory = self.memory / MB;
        let joins = if self.sorts_joins() {
            ", sorted joins"
        } else {
            ""
        };
        write!(
            f,
            "{:?}, {memory} MB, batches of {}{joins}",
            self.requested, self.batch
        )
    }
}

/// Returns nine settings. If the order is undefined, rows are requested in any order. `turn` shifts the row forms, so that
/// different queries combine them differently with memory limits and batch sizes.
pub fn settings(is_ordered: bool, turn: u64) -> Vec<Setting> {
    let requested = match is_ordered {
        true => [
            RequestedRows::Values,
            RequestedRows::Origins,
            RequestedRows::AnyOrder,
        ],
        false => [RequestedRows::AnyOrder; 3],
    };
    let mut requested = requested.into_iter().cycle().skip(turn as usize % 3);
    let mut settings = Vec::new();
    for memory in MEMORIES {
        // Skips a row form, so that each batch size is combined with a different row form for each memory limit.
        requested.next();
        for batch in BATCHES {
            settings.push(Setting {
                requested: requested.next().expect("an endless iterator"),
                memory,
                batch,
            });
        }
    }
    settings
}

pub async fn run(
    session: &Session,
    query: &Query,
    memories: &Memories,
    setting: &Setting,
) -> Outcome {
    let mut session = session.clone().with_batch_rows(setting.batch);
    if setting.sorts_joins() {
        session = session.with_sorted_joins();
    }
    let found = rows(&session, query, memories, setting.requested, setting.memory);
    match AssertUnwindSafe(found).catch_unwind().await {
        Ok(Ok(lines)) => Outcome::Rows(lines),
        Ok(Err(error)) => outcome(&error),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or(panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Outcome::Panicked(text.unwrap_or_default())
        }
    }
}

pub fn outcome(error: &QueryError) -> Outcome {
    let message = error.to_string();
    match error {
        QueryError::Run { failure, .. } if *failure == Failure::Machine => Outcome::Memory(message),
        QueryError::Run { .. } => Outcome::Failed(message),
        _ => Outcome::Rejected(message),
    }
}

/// Returns the errors that loading a pipeline with this query reports.
pub fn findings(session: &Session, database: &Database, query: &str) -> Vec<String> {
    let text = format!("{}    {query}\n", database.pipeline());
    let draft = prep_spec::read(prep_steps::vocabulary(), "x", "x.yaml", &text);
    let mut found: Vec<prep_spec::Diagnostic> = Vec::new();
    for reading in draft.readings() {
        found.extend(prep_sql::check(session, reading));
    }
    if let Err(rejected) = draft.clone().finish("v1") {
        found.extend(rejected.iter().cloned());
    }
    found.into_iter().map(|one| one.message).collect()
}
