//! Random queries, held against an independent evaluation.
//!
//! A query is made from a grammar, clause by clause, and its rows are worked out at the same time, row by row and without
//! the engine (`grammar`, `value`). Then one of three things must be:
//!
//! - The query has a foreign clause, or text where a number is wanted: it is refused when the pipeline is loaded, at a
//!   place in its text.
//! - Else it is accepted, gives these rows in this order, and its normal form gives them too.
//!
//! The seeds are fixed, and so is the number of queries. `QUERIES=n` tries more; `SEED=n` begins with another seed.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod grammar;
mod table;
mod value;

use prep_spec::model::Query;
use prep_sql::Session;

use grammar::Generator;
use table::{HEAD, rows};

const QUERIES: u64 = 800;

fn number(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().expect("a number"))
}

/// What is found in a query when its pipeline is loaded; places are held to lie in the query.
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

#[tokio::test]
async fn queries_give_what_they_say_or_are_refused() {
    let session = Session::new(&std::env::temp_dir());
    let first = number("SEED", 1);
    let (mut refused, mut accepted) = (0, 0);
    for seed in first..first + number("QUERIES", QUERIES) {
        let made = Generator::new(seed).query();
        let found = findings(&session, &made.text);
        if made.foreign.is_empty() {
            assert!(found.is_empty(), "seed {seed}\n{}\n{found:?}", made.text);
            let query = Query::parse(&made.text).unwrap();
            let again = Query::parse(&query.normal).expect(&query.normal);
            assert_eq!(again.normal, query.normal, "seed {seed}");
            let expected = made.printed();
            for query in [query, again] {
                for with_origins in [false, true] {
                    let rows = rows(&session, &query, with_origins).await;
                    assert_eq!(
                        rows.as_ref(),
                        Ok(&expected),
                        "seed {seed}, origins {with_origins}\n{}",
                        query.normal
                    );
                }
            }
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
    assert!(refused > 0 && accepted > refused, "{refused} {accepted}");
}
