//! Regression tests: queries in `defects.txt`, and properties of similar queries.
//!
//! `CASES=path` runs the cases of another file, for example those that `REPORT=path` collected.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, StringArray};
use arrow::datatypes::Int64Type;
use prep_spec::model::Query;
use prep_sql::{QueryError, QueryLimits, Relation, RowForm, Session};

use super::cases;
use super::database::{self, Database};
use super::settings::{Outcome, findings, run, settings};
use crate::support::{Tables, table, used};

const MB: u64 = 1 << 20;

#[tokio::test]
async fn queries_of_former_defects_return_the_expected_rows() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/defects.txt");
    let path = std::env::var("CASES").unwrap_or(path.to_owned());
    let cases = cases::parse(&std::fs::read_to_string(path).expect("a file of cases"));
    let mut found = Vec::new();
    for case in &cases {
        if let Some(difference) = case.difference().await {
            found.push(format!("{}\n{difference}", case.comment));
        }
    }
    assert!(!cases.is_empty(), "no cases were found");
    let count = found.len();
    let found = found.join("\n\n");
    assert!(
        found.is_empty(),
        "{count} of {} cases differ:\n\n{found}",
        cases.len()
    );
}

/// Words that only messages of DataFusion contain.
pub const FOREIGN_WORDS: [&str; 19] = [
    "ScalarSubquery",
    "Subquery(",
    "InSubquery",
    "null_aware",
    "DataFusion",
    "Physical plan",
    "physical plan",
    "logical plan",
    "Schema error",
    "Schema contains",
    "This feature is not implemented",
    "Internal error",
    "Correlated scalar subquery must be aggregated",
    "optimizer",
    "Assertion failed",
    "Execution error",
    "Error during planning",
    "Arrow error",
    "Literal types",
];

/// If a subquery can fail, the plan joins it with a copy of the outer query, to remove rows that the outer query does not
/// need. The copy must not contain the other subqueries, or the plan would grow exponentially.
#[tokio::test]
async fn the_plan_of_many_subqueries_that_can_fail_is_small() {
    let database = Database {
        tables: vec![
            database::parse("t", &["id integer", "1"]),
            database::parse("u", &["key integer | n integer", "1 | 2"]),
        ],
    };
    let value = |n: usize| format!("(SELECT max(8 / u.n + {n}) FROM u WHERE u.key = t.id)");
    let values = |join: &str, suffix: &str| {
        let values: Vec<String> = (0..20).map(|n| value(n) + suffix).collect();
        values.join(join)
    };
    let mut nested = "SELECT id FROM t".to_owned();
    for n in 0..12 {
        nested = format!(
            "SELECT t.id + {} - {n} - 4 AS id FROM ({nested}) AS t",
            value(n)
        );
    }
    for text in [
        format!("SELECT id + {} AS v FROM t", values(" + ", "")),
        format!("SELECT id FROM t WHERE {}", values(" AND ", " > 0")),
        format!(
            "SELECT id FROM t WHERE 3 NOT IN {}",
            values(" AND 3 NOT IN ", "")
        ),
        nested,
    ] {
        let started = std::time::Instant::now();
        let query = Query::parse(&text).expect(&text);
        let setting = settings(true, 0).remove(0);
        let session = Session::new(&std::env::temp_dir());
        let found = run(&session, &query, &database.memories(), &setting).await;
        assert!(matches!(found, Outcome::Rows(_)), "{text}: {found:?}");
        assert!(started.elapsed().as_secs() < 20, "{text}");
    }
}

/// Each query in `subqueries.txt` runs, or is rejected when it is loaded, with a message of `prep` and not of DataFusion.
#[tokio::test]
async fn subqueries_run_or_are_rejected_when_they_are_loaded() {
    let filled = [
        database::parse(
            "t",
            &[
                "id integer | n integer | score number | name text",
                "3 | 1 | 0.5 | 'c'",
                "1 | NULL | 1.5 | 'a'",
                "2 | 1 | NULL | NULL",
            ],
        ),
        database::parse(
            "u",
            &[
                "key integer | more integer | tag text",
                "2 | 9 | 'x'",
                "3 | 1 | 'y'",
            ],
        ),
        database::parse("w", &["k integer | v integer", "2 | 3", "9 | 1"]),
    ];
    let planner = Session::planner();
    let session = Session::new(&std::env::temp_dir());
    let mut found = Vec::new();
    let mut accepted = 0;
    for text in include_str!("subqueries.txt").lines() {
        let database = Database {
            tables: filled.to_vec(),
        };
        let mut errors = findings(&planner, &database, text);
        if errors.is_empty() {
            accepted += 1;
            let query = Query::parse(text).expect(text);
            for is_empty in [false, true] {
                let mut database = Database {
                    tables: filled.to_vec(),
                };
                if is_empty {
                    for table in &mut database.tables {
                        table.rows.clear();
                    }
                }
                for setting in settings(true, 0) {
                    match run(&session, &query, &database.memories(), &setting).await {
                        Outcome::Rows(_) | Outcome::Failed(_) => {}
                        other => errors.push(format!("rejected in the run, {setting}: {other:?}")),
                    }
                }
            }
            errors.truncate(1);
            found.extend(errors.iter().map(|error| format!("{text}\n  {error}")));
        }
        let is_foreign = |error: &String| FOREIGN_WORDS.iter().any(|word| error.contains(word));
        let foreign = errors.iter().filter(|error| is_foreign(error));
        found.extend(foreign.map(|error| format!("{text}\n  {error}")));
    }
    println!("{accepted} queries are accepted");
    found.dedup();
    assert!(
        found.is_empty(),
        "{} errors:\n{}",
        found.len(),
        found.join("\n")
    );
}

const ROWS: i64 = 30_000;

type Pairs = Vec<(i64, i64)>;

/// Returns `count` rows with two numbers, the second below `keys`. The rows are sorted by neither number.
fn shuffled(count: i64, keys: i64) -> Pairs {
    let rows = (0..count).map(|row| ((row * 7919) % count, (row * 104_729) % keys));
    rows.collect()
}

fn relation(rows: &[(i64, i64)], names: [&'static str; 2]) -> Arc<dyn Relation> {
    let first = Int64Array::from_iter_values(rows.iter().map(|row| row.0));
    let second = Int64Array::from_iter_values(rows.iter().map(|row| row.1));
    let [first, second]: [ArrayRef; 2] = [Arc::new(first), Arc::new(second)];
    table(vec![(names[0], first), (names[1], second)])
}

async fn integers(
    session: &Session,
    text: &str,
    tables: &Tables,
    memory: u64,
) -> Result<Pairs, QueryError> {
    let query = Query::parse(text).expect(text);
    let limits = QueryLimits::with_memory(memory);
    let tables = used(&query, tables);
    let mut result = session.start(&query, tables, RowForm::Values, &limits)?;
    let mut rows = Vec::new();
    while let Some(batch) = result.next().await? {
        let [ids, values] = [0, 1].map(|column| batch.column(column).as_primitive::<Int64Type>());
        let pairs = ids.iter().zip(values);
        rows.extend(pairs.map(|(id, value)| (id.unwrap_or(-1), value.unwrap_or(-1))));
    }
    Ok(rows)
}

/// The row order of a query is the same for each memory limit and batch size.
///
/// Tests one inner table that is smaller than the outer table, and one that is larger, because a join reads the smaller
/// table first.
#[tokio::test]
async fn correlated_subqueries_keep_the_order_with_any_memory_and_batch_size() {
    let mut found = Vec::new();
    for (inner_rows, keys) in [(2_000, 1_000), (50_000, 29_000)] {
        let outer = shuffled(ROWS, keys);
        let inner = shuffled(inner_rows, keys);
        let tables = Tables::from([
            ("a".to_owned(), relation(&outer, ["id", "k"])),
            ("b".to_owned(), relation(&inner, ["v", "k"])),
        ]);
        let mut sums: HashMap<i64, i64> = HashMap::new();
        for (value, key) in &inner {
            *sums.entry(*key).or_default() += value;
        }
        let with_sum = |(id, k): &(i64, i64)| (*id, sums.get(k).copied().unwrap_or(-1));
        let all: Pairs = outer.iter().map(with_sum).collect();
        let mut large = all.clone();
        large.retain(|row| row.1 > 20_000);
        let limited = large[..large.len() / 2].to_vec();
        let inner = "(SELECT sum(v) FROM b WHERE b.k = a.k)";
        let limit = limited.len();
        let queries = [
            (format!("SELECT id, {inner} AS s FROM a"), &all),
            (
                format!("SELECT id, coalesce({inner}, -1) AS s FROM a"),
                &all,
            ),
            (
                format!("SELECT id, s FROM (SELECT id, {inner} AS s FROM a) AS q WHERE s > 20000"),
                &large,
            ),
            (
                format!(
                    "SELECT id, s FROM (SELECT id, {inner} AS s FROM a) AS q WHERE s > 20000 LIMIT {limit}"
                ),
                &limited,
            ),
            (
                format!("SELECT id, {inner} AS s FROM a WHERE {inner} > 20000"),
                &large,
            ),
        ];
        for (text, expected) in &queries {
            found.extend(differences(text, &tables, expected).await);
        }
    }
    assert!(
        found.is_empty(),
        "{} differences:\n{}",
        found.len(),
        found.join("\n")
    );
}

async fn differences(text: &str, tables: &Tables, expected: &Pairs) -> Vec<String> {
    let mut found = Vec::new();
    for memory in [2048 * MB, 300 * MB, 40 * MB, 25 * MB] {
        for batch in [1, 7, 8192] {
            let session = Session::new(&std::env::temp_dir()).with_batch_rows(batch);
            let setting = format!("{text}, {} MB, batches of {batch}", memory / MB);
            match integers(&session, text, tables, memory).await {
                Ok(rows) if rows == *expected => {}
                Ok(rows) => {
                    let mut sorted = [rows, expected.clone()];
                    for rows in &mut sorted {
                        rows.sort_unstable();
                    }
                    let what = if sorted[0] == sorted[1] {
                        "order"
                    } else {
                        "rows"
                    };
                    found.push(format!("other {what}: {setting}"));
                }
                Err(error) => found.push(format!("{error}: {setting}")),
            }
        }
    }
    found
}

/// Returns 270 for "not enough memory: 270 MB are probably enough" and "the query needs 270 MB or more".
fn needed_memory(message: &str) -> Option<u64> {
    let mut parts = ["not enough memory: ", "the query needs "].iter();
    let after = parts.find_map(|before| Some(message.split_once(before)?.1))?;
    let mut words = after.split_whitespace();
    let number: f64 = words.next()?.parse().ok()?;
    let unit = words.next()?;
    let megabytes = if unit.starts_with("GB") {
        number * 1024.0
    } else {
        number
    };
    Some(megabytes.ceil() as u64)
}

#[tokio::test]
async fn queries_run_with_the_memory_that_their_error_names() {
    let long = |row: i64| format!("{:05} {}", (row * 7919) % 300, "words ".repeat(50_000));
    let texts = Arc::new(StringArray::from_iter_values((0..100).map(long))) as ArrayRef;
    let ids = Arc::new(Int64Array::from_iter_values(0..100)) as ArrayRef;
    let short = (0..240_000).map(|row: i64| format!("{:06}", (row * 7919) % 240_000));
    let short = Arc::new(StringArray::from_iter_values(short)) as ArrayRef;
    let numbers = Arc::new(Int64Array::from_iter_values(
        (0..240_000).map(|row| row % 7),
    )) as ArrayRef;
    let tables = Tables::from([
        ("long".to_owned(), table(vec![("id", ids), ("s", texts)])),
        (
            "short".to_owned(),
            table(vec![("x", numbers), ("s", short)]),
        ),
    ]);
    let mut found = Vec::new();
    for text in [
        "SELECT s FROM long ORDER BY s",
        "SELECT DISTINCT s FROM long ORDER BY s",
        "SELECT id, lag(s) OVER (ORDER BY s) AS s FROM long",
        "SELECT id, upper(concat(s, s)) AS s FROM long",
        "SELECT string_agg(s, ',' ORDER BY x, s) AS s FROM short",
        "SELECT x, string_agg(s, ',' ORDER BY s) AS s FROM short GROUP BY x ORDER BY x",
    ] {
        let query = Query::parse(text).expect(text);
        let mut memory = 10;
        for tries in 1.. {
            let session = Session::new(&std::env::temp_dir());
            let limits = QueryLimits::with_memory(memory * MB);
            let result = async {
                let tables = used(&query, &tables);
                let mut rows = session.start(&query, tables, RowForm::Values, &limits)?;
                while rows.next().await?.is_some() {}
                Ok::<(), QueryError>(())
            };
            let Err(error) = result.await else { break };
            let message = error.to_string();
            match needed_memory(&message) {
                Some(needed) if needed > memory && tries < 6 => memory = needed,
                _ => {
                    found.push(format!("{text}: with {memory} MB, {message}"));
                    break;
                }
            }
        }
    }
    assert!(
        found.is_empty(),
        "{} errors:\n{}",
        found.len(),
        found.join("\n")
    );
}
