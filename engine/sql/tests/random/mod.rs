//! Compares random queries with an independent evaluation.
//!
//! A query is generated from a grammar, clause by clause. At the same time its rows are computed, row by row and
//! without DataFusion (`grammar`, `value`). There are two cases:
//!
//! - The query has an invalid clause, or text in place of a number. Then it must be rejected when the pipeline is
//!   loaded, at a place in its text.
//! - Otherwise it must be accepted and return these rows in this order, and so must its normal form.
//!
//! The rows must be the same with every memory limit and batch size, as values and as origins of cells, and, apart from
//! their order, if no order is requested. Every fiftieth query reads a table with more rows than fit into the smallest
//! memory limit, so that sorts, groups and joins use temporary files. Only these queries may fail because they need
//! more memory.
//!
//! The seeds and the number of queries are fixed. `QUERIES=n` changes the number, and `SEED=n` the first seed.

mod aggregates;
mod grammar;
mod table;
mod value;
mod windows;

use prep_failure::Failure;
use prep_spec::model::Query;
use prep_sql::{QueryError, Session};

use grammar::Generator;
use table::{HEAD, Memories, Wanted, memories, rows};

const QUERIES: u64 = 160;
/// One query out of this number reads a large table.
const LARGE: u64 = 50;

const MB: u64 = 1 << 20;
const MEMORIES: [u64; 3] = [8 * MB, 64 * MB, 1024 * MB];
const BATCHES: [usize; 3] = [1, 100, 8192];
/// Batch sizes for the large table. DataFusion takes minutes to merge 20,000 batches of one row.
const LARGE_BATCHES: [usize; 3] = [16, 100, 8192];

fn number(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().expect("a number"))
}

/// The errors of a query when its pipeline is loaded. Their places must be within the query.
fn findings(session: &Session, query: &str) -> Vec<String> {
    let text = format!("{HEAD}    {query}\n");
    let start = HEAD.len();
    let draft = prep_spec::read(prep_steps::vocabulary(), "x", "x.yaml", &text);
    let mut found: Vec<prep_spec::Diagnostic> = Vec::new();
    for reading in draft.readings() {
        found.extend(prep_sql::check(session, reading));
    }
    if let Err(refused) = draft.clone().finish("v1") {
        found.extend(refused.iter().cloned());
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

/// How often a query returned the expected rows, and how often it needed more memory.
struct Runs {
    session: Session,
    right: u64,
    short_of_memory: u64,
}

impl Runs {
    /// Runs a query with every memory limit and batch size.
    async fn compare(
        &mut self,
        query: &Query,
        memories: &Memories,
        expected: &[String],
        seed: u64,
    ) {
        let is_large = seed.is_multiple_of(LARGE);
        let mut sorted = expected.to_vec();
        sorted[1..].sort();
        let wanted = [Wanted::Values, Wanted::Origins, Wanted::AnyOrder];
        let mut wanted = wanted.into_iter().cycle().skip(seed as usize % 3);
        for memory in MEMORIES {
            // The requirement differs between batch sizes.
            wanted.next();
            for batch in if is_large { LARGE_BATCHES } else { BATCHES } {
                if let Some(wanted) = wanted.next() {
                    let session = self.session.clone().with_batch_rows(batch);
                    let found = rows(&session, query, memories, wanted, memory).await;
                    let expected = match wanted {
                        Wanted::AnyOrder => &sorted,
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
                        "seed {seed}, {wanted:?}, {} MB, batches of {batch}",
                        memory / MB
                    );
                    let found = found
                        .unwrap_or_else(|error| panic!("{setting}: {error}\n{}", query.normal));
                    let pairs = found.iter().zip(expected).enumerate();
                    let differs = pairs
                        .into_iter()
                        .find(|(_, (found, expected))| found != expected);
                    assert!(
                        differs.is_none(),
                        "{setting}\n{}\n{differs:?}",
                        query.normal
                    );
                    assert_eq!(found.len(), expected.len(), "{setting}\n{}", query.normal);
                    self.right += 1;
                }
            }
        }
    }
}

/// Prints the query for which DataFusion panicked.
struct Shown<'a>(u64, &'a str);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("seed {}\n{}", self.0, self.1);
        }
    }
}

#[tokio::test]
async fn queries_return_the_expected_rows_or_are_rejected() {
    let session = Session::new(&std::env::temp_dir());
    let first = number("SEED", 1);
    let (mut refused, mut accepted) = (0, 0);
    let mut runs = Runs {
        session: session.clone(),
        right: 0,
        short_of_memory: 0,
    };
    let tables = [memories(false), memories(true)];
    for seed in first..first + number("QUERIES", QUERIES) {
        let is_large = seed.is_multiple_of(LARGE);
        let made = Generator::new(seed, is_large).query();
        let _shown = Shown(seed, &made.text);
        let found = findings(&session, &made.text);
        if made.foreign.is_empty() {
            assert!(found.is_empty(), "seed {seed}\n{}\n{found:?}", made.text);
            let query = Query::parse(&made.text).unwrap();
            let again = Query::parse(&query.normal).expect(&query.normal);
            assert_eq!(again.normal, query.normal, "seed {seed}");
            let expected = made.printed();
            runs.compare(&query, &tables[usize::from(is_large)], &expected, seed)
                .await;
            accepted += 1;
        } else {
            assert!(
                !found.is_empty(),
                "seed {seed}: {:?} is not refused\n{}",
                made.foreign,
                made.text
            );
            refused += 1;
        }
    }
    let (right, short) = (runs.right, runs.short_of_memory);
    println!("{accepted} queries, {refused} refused; {right} runs, {short} short of memory");
    assert!(refused > 0 && accepted > refused, "{refused} {accepted}");
    assert!(
        short * 20 < right,
        "{short} of {right} runs were short of memory"
    );
}
