//! Compares the engine's rows for random queries with an independent evaluation.
//!
//! A grammar generates each query clause by clause. At the same time, its rows are computed row by row, without
//! DataFusion (`grammar`, `value`).
//!
//! - A query with an invalid clause, or with text in place of a number, must be rejected when the pipeline is loaded.
//!   The position of the error must be in the query's text.
//! - A valid query must return the computed rows in order. Parsing the printed query must return the same tree.
//!
//! The rows must be the same for every memory limit and batch size, as values and as origins of cells. If rows are
//! requested in any order, only their order may differ.
//!
//! Every fiftieth query reads a table that exceeds the smallest memory limit, so that sorts, groups and joins use
//! temporary files. Only these queries may fail because they need more memory.
//!
//! The seeds and the number of queries are fixed. `QUERIES=n` changes the number, and `SEED=n` the first seed.

mod aggregates;
mod grammar;
pub mod table;
pub mod value;
mod windows;

use prep_failure::Failure;
use prep_spec::model::Query;
use prep_sql::{QueryError, Session};

use grammar::Generator;
use table::{HEAD, Memories, RequestedRows, memories, rows};

/// Number of queries.
const QUERIES: u64 = 160;
/// A query reads the large table if its seed is a multiple of this number.
const LARGE_TABLE_INTERVAL: u64 = 50;

const MB: u64 = 1 << 20;
/// Memory limits in bytes.
const MEMORIES: [u64; 3] = [8 * MB, 64 * MB, 1024 * MB];
/// Maximum numbers of rows per batch.
const BATCHES: [usize; 3] = [1, 100, 8192];
/// Batch sizes for the large table. DataFusion takes minutes to merge 20,000 batches of one row.
const LARGE_BATCHES: [usize; 3] = [16, 100, 8192];

fn number_from_env(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().expect("a number"))
}

/// Returns the errors that loading a pipeline with this query reports. Their positions must be inside the query.
fn findings(session: &Session, query: &str) -> Vec<String> {
    let text = format!("{HEAD}    {query}\n");
    let start = HEAD.len();
    let draft = prep_spec::read(prep_steps::vocabulary(), "x", "x.yaml", &text);
    let mut found: Vec<prep_spec::Diagnostic> = Vec::new();
    for reading in draft.readings() {
        found.extend(prep_sql::check(session, reading));
    }
    if let Err(rejected) = draft.clone().finish("v1") {
        found.extend(rejected.iter().cloned());
    }
    for one in &found {
        assert!(
            one.span.start >= start - 2 && one.span.start <= text.len(),
            "{query}\n{} is at {}",
            one.message,
            one.span.start
        );
    }
    found.into_iter().map(|one| one.message).collect()
}

/// Counts the runs of queries by their results.
struct Runs {
    session: Session,
    /// Number of runs that returned the expected rows.
    equal: u64,
    short_of_memory: u64,
}

impl Runs {
    /// Runs a query with all memory limits and batch sizes, and compares the rows with `expected`.
    async fn compare(
        &mut self,
        query: &Query,
        memories: &Memories,
        expected: &[String],
        seed: u64,
    ) {
        let is_large = seed.is_multiple_of(LARGE_TABLE_INTERVAL);
        let mut sorted = expected.to_vec();
        sorted[1..].sort();
        let requested = [
            RequestedRows::Values,
            RequestedRows::Origins,
            RequestedRows::AnyOrder,
        ];
        let mut requested = requested.into_iter().cycle().skip(seed as usize % 3);
        for memory in MEMORIES {
            // Shifts the row forms by one. Otherwise, each batch size would be combined with the same row form for
            // every memory limit.
            requested.next();
            for batch in if is_large { LARGE_BATCHES } else { BATCHES } {
                if let Some(requested) = requested.next() {
                    let session = self.session.clone().with_batch_rows(batch);
                    let found = rows(&session, query, memories, requested, memory).await;
                    let expected = match requested {
                        RequestedRows::AnyOrder => &sorted,
                        _ => expected,
                    };
                    if let Err(QueryError::Run { failure, .. }) = &found
                        && *failure == Failure::Machine
                        && is_large
                    {
                        self.short_of_memory += 1;
                        continue;
                    }
                    let setting = format!(
                        "seed {seed}, {requested:?}, {} MB, batches of {batch}",
                        memory / MB
                    );
                    let found = found
                        .unwrap_or_else(|error| panic!("{setting}: {error}\n{}", query.tree()));
                    let pairs = found.iter().zip(expected).enumerate();
                    let differs = pairs
                        .into_iter()
                        .find(|(_, (found, expected))| found != expected);
                    assert!(
                        differs.is_none(),
                        "{setting}\n{}\n{differs:?}",
                        query.tree()
                    );
                    assert_eq!(found.len(), expected.len(), "{setting}\n{}", query.tree());
                    self.equal += 1;
                }
            }
        }
    }
}

/// Prints the query if DataFusion panics.
struct PrintOnPanic<'a>(u64, &'a str);

impl Drop for PrintOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("seed {}\n{}", self.0, self.1);
        }
    }
}

#[tokio::test]
async fn queries_return_the_expected_rows_or_are_rejected() {
    let session = Session::new(&std::env::temp_dir());
    let first = number_from_env("SEED", 1);
    let (mut rejected, mut accepted) = (0, 0);
    let mut runs = Runs {
        session: session.clone(),
        equal: 0,
        short_of_memory: 0,
    };
    let tables = [memories(false), memories(true)];
    for seed in first..first + number_from_env("QUERIES", QUERIES) {
        let is_large = seed.is_multiple_of(LARGE_TABLE_INTERVAL);
        let generated = Generator::new(seed, is_large).query();
        let _print_on_panic = PrintOnPanic(seed, &generated.text);
        let found = findings(&session, &generated.text);
        if generated.foreign.is_empty() {
            assert!(
                found.is_empty(),
                "seed {seed}\n{}\n{found:?}",
                generated.text
            );
            let query = Query::parse(&generated.text).unwrap();
            let printed = query.tree().to_string();
            let again = Query::parse(&printed).expect(&printed);
            assert_eq!(again.tree(), query.tree(), "seed {seed}");
            let expected = generated.printed();
            runs.compare(&query, &tables[usize::from(is_large)], &expected, seed)
                .await;
            accepted += 1;
        } else {
            assert!(
                !found.is_empty(),
                "seed {seed}: {:?} is not rejected\n{}",
                generated.foreign,
                generated.text
            );
            rejected += 1;
        }
    }
    let (equal, short) = (runs.equal, runs.short_of_memory);
    println!("{accepted} queries, {rejected} rejected; {equal} runs, {short} short of memory");
    assert!(
        rejected > 0 && accepted > rejected,
        "{rejected} queries are rejected, {accepted} accepted"
    );
    assert!(
        short * 20 < equal,
        "{short} runs were short of memory, and {equal} were not"
    );
}
