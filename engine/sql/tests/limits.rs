//! Memory limits and cancellation of queries.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod support;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, AsArray, Int64Array, StringArray};
use arrow::datatypes::Int64Type;
use arrow::row::{RowConverter, SortField};
use prep_failure::Failure;
use prep_spec::model::Query;
use prep_sql::{QueryError, QueryLimits, RowForm, Session};
use support::{Tables, table, used, values};

const MB: u64 = 1 << 20;

/// Returns the tables `small` (1,000 rows) and `large` (400,000 rows). The strings are as long as usual file names.
fn tables() -> Tables {
    let rows = |count: i64| {
        let ids = Arc::new(Int64Array::from_iter_values((0..count).rev())) as ArrayRef;
        let names = (0..count).map(|id| format!("images/train/{id:012}.png"));
        let names = Arc::new(StringArray::from_iter_values(names)) as ArrayRef;
        table(vec![("id", ids), ("name", names)])
    };
    BTreeMap::from([
        ("small".to_owned(), rows(1000)),
        ("large".to_owned(), rows(400_000)),
    ])
}

/// Returns the maximum memory in bytes that this process has used so far.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Returns the number of rows of a query, and a checksum of the rows that does not depend on their order.
async fn rows(text: &str, limits: &QueryLimits) -> Result<(usize, u64), QueryError> {
    let query = Query::parse(text).expect(text);
    let session = Session::new(&std::env::temp_dir());
    let tables = used(&query, &tables());
    let mut rows = session.start(&query, tables, RowForm::Unordered, limits)?;
    let (mut count, mut sum) = (0, 0_u64);
    while let Some(batch) = rows.next().await? {
        count += batch.num_rows();
        let fields = batch.schema().fields().clone();
        let types = fields
            .iter()
            .map(|field| SortField::new(field.data_type().clone()));
        let converter = RowConverter::new(types.collect()).expect("types of rows");
        let converted = converter.convert_columns(batch.columns());
        for row in &converted.expect("rows") {
            let mut hasher = DefaultHasher::new();
            hasher.write(row.as_ref());
            sum = sum.wrapping_add(hasher.finish());
        }
    }
    Ok((count, sum))
}

/// A query stays within its memory limit, or fails with a message that states how much memory it needs.
#[tokio::test]
async fn queries_stay_within_the_memory_limit() {
    let cases = [
        (
            "SELECT unnest(range(0, 1000000000)) AS x FROM small",
            Err(Failure::Pipeline),
        ),
        (
            "SELECT unnest(range(0, 20000000)) AS x FROM small",
            Err(Failure::Machine),
        ),
        (
            "SELECT unnest(range(0, 2000)) AS x FROM small",
            Ok(2_000_000),
        ),
        (
            "SELECT l.name || '/' || x.n AS path FROM (SELECT id, unnest(range(0, 300)) AS n FROM small) x JOIN large l ON l.id = x.id",
            Ok(300_000),
        ),
        (
            "SELECT array_repeat(id, 1000000000) AS x FROM small",
            Err(Failure::Pipeline),
        ),
        (
            "SELECT array_repeat(name, 1000000) AS x FROM small",
            Err(Failure::Machine),
        ),
        (
            "SELECT repeat(name, 200000000) AS x FROM small",
            Err(Failure::Pipeline),
        ),
        (
            "SELECT repeat('x', 3000000000) AS x",
            Err(Failure::Pipeline),
        ),
        (
            "SELECT repeat(name, 1000000) AS x FROM small",
            Err(Failure::Machine),
        ),
        (
            "SELECT length(repeat(name, 1000)) AS x FROM large LIMIT 100000",
            Ok(100_000),
        ),
        (
            "SELECT lpad(name, 1147483647, 'x') AS x FROM small",
            Err(Failure::Machine),
        ),
        (
            "SELECT rpad(name, 2147483647, 'é') AS x FROM small",
            Err(Failure::Pipeline),
        ),
        (
            "SELECT lpad(CAST(id AS VARCHAR), 12, '0') AS x FROM large",
            Ok(400_000),
        ),
        (
            "SELECT replace(repeat(name, 1000), '0', repeat('y', 5000)) AS x FROM small",
            Err(Failure::Machine),
        ),
        (
            "SELECT regexp_replace(repeat(name, 500), '.', repeat('y', 4000), 'g') AS x FROM small",
            Err(Failure::Machine),
        ),
        (
            "SELECT string_agg(repeat(name, 20), ',' ORDER BY id) AS x FROM large",
            Err(Failure::Machine),
        ),
        (
            "SELECT array_agg(repeat(name, 20) ORDER BY id) AS x FROM large",
            Err(Failure::Machine),
        ),
        (
            "SELECT a.name AS name FROM large a JOIN large b ON a.name = b.name",
            Ok(400_000),
        ),
        (
            "SELECT name FROM large INTERSECT SELECT name FROM small",
            Ok(1000),
        ),
        (
            "SELECT name FROM small INTERSECT SELECT name FROM large",
            Ok(1000),
        ),
        (
            "SELECT name FROM large EXCEPT SELECT name FROM small",
            Ok(399_000),
        ),
        (
            "SELECT name FROM large INTERSECT SELECT name FROM large",
            Ok(400_000),
        ),
        (
            "SELECT name FROM large WHERE name IN (SELECT name FROM small)",
            Ok(1000),
        ),
        (
            "SELECT name FROM large l WHERE NOT EXISTS (SELECT 1 AS x FROM small s WHERE s.name = l.name)",
            Ok(399_000),
        ),
        (
            "SELECT name FROM large WHERE name NOT IN (SELECT name FROM small)",
            Ok(399_000),
        ),
        (
            "SELECT name FROM small WHERE name NOT IN (SELECT name FROM large)",
            Ok(0),
        ),
        (
            "SELECT name, count(*) AS n FROM large GROUP BY name",
            Ok(400_000),
        ),
        (
            "SELECT name, row_number() OVER (ORDER BY name) AS n FROM large",
            Ok(400_000),
        ),
        (
            "SELECT name, count(*) OVER (PARTITION BY id % 100) AS n FROM large",
            Ok(400_000),
        ),
        (
            "SELECT name, sum(id) OVER (PARTITION BY name) AS n FROM large",
            Ok(400_000),
        ),
    ];
    let before = peak();
    let mut completed = Vec::new();
    for (text, expected) in cases {
        let found = rows(text, &QueryLimits::with_memory(64 * MB)).await;
        match (&found, &expected) {
            (Ok(found), Ok(expected)) => {
                assert_eq!(found.0, *expected, "{text}");
                completed.push((text, *found));
            }
            (
                Err(QueryError::Run {
                    failure, message, ..
                }),
                Err(expected),
            ) => {
                assert_eq!(failure, expected, "{text}: {message}");
                let explains_memory = *failure != Failure::Machine
                    || message.contains("needs")
                    || message.contains("memory");
                assert!(explains_memory, "{text}: {message}");
            }
            (Err(QueryError::Rejected { .. }), Err(Failure::Pipeline)) => {}
            _ => panic!("{text}: {found:?}, not {expected:?}"),
        }
        let taken = peak().saturating_sub(before) / MB;
        // The memory limit of the query is 64 MB. The tables and the returned rows need up to 150 MB in addition.
        assert!(taken < 64 + 150, "{text} takes {taken} MB");
    }
    // With sufficient memory, and with a smaller limit if the query succeeds, the rows equal those above.
    for (text, expected) in completed {
        for memory in [1024, 8] {
            match rows(text, &QueryLimits::with_memory(memory * MB)).await {
                Err(QueryError::Run { failure, .. }) if memory == 8 => {
                    assert_eq!(failure, Failure::Machine, "{text}");
                }
                found => assert_eq!(found.expect(text), expected, "{text} with {memory} MB"),
            }
        }
    }
}

#[tokio::test]
async fn joins_keep_the_small_side_in_memory() {
    for text in [
        "SELECT name FROM large INTERSECT SELECT name FROM small",
        "SELECT name FROM small INTERSECT SELECT name FROM large",
        "SELECT name FROM large EXCEPT SELECT name FROM small",
        "SELECT name FROM large WHERE name IN (SELECT name FROM small)",
        "SELECT name FROM large WHERE name NOT IN (SELECT name FROM small)",
        "SELECT l.name AS name FROM large l JOIN small s ON s.name = l.name",
        "SELECT l.name AS name FROM small l JOIN large s ON s.name = l.name",
    ] {
        let query = Query::parse(text).expect(text);
        let session = Session::new(&std::env::temp_dir());
        let tables = used(&query, &tables());
        let limits = QueryLimits::with_memory(1 << 30);
        let plan = session
            .explain(&query, tables, RowForm::Unordered, &limits)
            .expect(text);
        let join = plan.find("HashJoinExec").expect("a hash join");
        let scans: Vec<_> = plan[join..].match_indices("Scan: rows=").collect();
        let memory_side = &plan[join + scans[0].0..];
        assert!(
            memory_side.starts_with("Scan: rows=1000,"),
            "{text}:\n{plan}"
        );
    }
}

/// Queries that would run for minutes stop shortly after they are cancelled.
#[tokio::test]
async fn a_cancelled_query_stops_soon() {
    let cross: Vec<String> = (0..30).map(|number| format!("small t{number}")).collect();
    let cases = [
        format!("SELECT count(*) AS n FROM {}", cross.join(", ")),
        "SELECT count(*) AS n FROM large a, large b WHERE a.id + b.id = -1".to_owned(),
        "SELECT count(*) AS n FROM large a JOIN large b ON a.id % 3 = b.id % 3".to_owned(),
        "SELECT count(*) AS n FROM large a JOIN large b ON a.id % 3 = b.id % 3 AND a.id + b.id < 0".to_owned(),
        "SELECT count(*) AS n FROM large a LEFT JOIN large b ON a.id % 3 = b.id % 3 AND a.id + b.id < 0".to_owned(),
        "SELECT count(*) AS n FROM large a FULL JOIN large b ON a.id % 3 = b.id % 3 AND a.id + b.id < 0".to_owned(),
        "SELECT count(*) AS n FROM large a LEFT JOIN large b ON a.id + b.id < 0".to_owned(),
        "SELECT count(*) AS n FROM large a WHERE EXISTS (SELECT 1 FROM large b WHERE a.id % 3 = b.id % 3 AND a.id + b.id < 0)".to_owned(),
        "SELECT sum(x) AS n FROM (SELECT unnest(range(0, 100000)) AS x FROM large)".to_owned(),
    ];
    for text in cases {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = stop.clone();
        let limits = QueryLimits {
            memory: 4096 * MB,
            stop: Arc::new(move || flag.load(Ordering::Relaxed)),
        };
        let timer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            stop.store(true, Ordering::Relaxed);
            Instant::now()
        });
        let ended = values(&text, &tables(), &limits).await.expect_err(&text);
        let elapsed = timer.join().expect("the timer").elapsed();
        let QueryError::Run { failure, .. } = &ended else {
            panic!("{text}: {ended:?}");
        };
        assert_eq!(*failure, Failure::Cancelled, "{text}: {ended}");
        // A cancelled query stops after about 20 ms, or after two seconds on a busy machine. Without cancellation, it
        // would run for minutes.
        assert!(elapsed < Duration::from_secs(20), "{text}: {elapsed:?}");
    }
}

#[tokio::test]
async fn not_in_handles_missing_values() {
    let numbers = |cells: &[Option<i64>]| {
        let cells = Arc::new(Int64Array::from(cells.to_vec())) as ArrayRef;
        table(vec![("a", cells)])
    };
    let sides: [&[Option<i64>]; 6] = [
        &[],
        &[None],
        &[Some(1), Some(2), Some(2)],
        &[Some(1), None],
        &[Some(3)],
        &[None, Some(2), Some(3), None],
    ];
    for left in sides {
        for right in sides {
            let tables = BTreeMap::from([
                ("l".to_owned(), numbers(left)),
                ("r".to_owned(), numbers(right)),
            ]);
            let expected: Vec<Option<i64>> = left
                .iter()
                .filter(|x| match x {
                    _ if right.is_empty() => true,
                    None => false,
                    Some(_) => !right.contains(&None) && !right.contains(x),
                })
                .copied()
                .collect();
            for text in [
                "SELECT a FROM l WHERE a NOT IN (SELECT a FROM r)",
                "SELECT a FROM l WHERE NOT a IN (SELECT a FROM r) ORDER BY a",
                "SELECT a FROM l WHERE a NOT IN (SELECT a FROM r) AND a NOT IN (SELECT a FROM r)",
            ] {
                let limits = QueryLimits::with_memory(64 * MB);
                let batches = values(text, &tables, &limits).await.expect(text);
                let mut found: Vec<Option<i64>> = Vec::new();
                for batch in &batches {
                    found.extend(batch.column(0).as_primitive::<Int64Type>());
                }
                let (mut found, mut expected) = (found, expected.clone());
                found.sort();
                expected.sort();
                assert_eq!(found, expected, "{text} of {left:?} and {right:?}");
            }
        }
    }
}

/// Window functions that are evaluated on a few partitions at a time return the same values as on all rows
/// together.
///
/// Partitions contain 3 rows, 400 rows, a third of the rows, or most rows.
#[tokio::test]
async fn windows_are_computed_partition_by_partition() {
    let tables = tables();
    let limits = QueryLimits::with_memory(256 * MB);
    for (key, groups) in [
        ("id % 3", 3),
        ("id % 1000", 1000),
        ("id / 3", 133_334),
        ("id / 250000", 2),
    ] {
        let text = format!(
            "SELECT count(*) AS rows, sum(CASE WHEN w.n = g.n AND w.s = g.s AND w.m = g.m THEN 0 ELSE 1 END) AS bad, count(DISTINCT w.k) AS groups FROM \
             (SELECT {key} AS k, count(*) OVER (PARTITION BY {key}) AS n, sum(id) OVER (PARTITION BY {key}) AS s, last_value(name) OVER (PARTITION BY {key} ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS m FROM large) w \
             JOIN (SELECT {key} AS k, count(*) AS n, sum(id) AS s, min(name) AS m FROM large GROUP BY {key}) g ON g.k = w.k"
        );
        let batches = values(&text, &tables, &limits).await.expect(&text);
        let cell = |column| {
            batches[0]
                .column(column)
                .as_primitive::<Int64Type>()
                .value(0)
        };
        assert_eq!((cell(0), cell(1), cell(2)), (400_000, 0, groups), "{text}");
    }
}

/// If both sides of a lookup repeat one value, the time is proportional to the number of rows, not to the number of
/// pairs.
#[tokio::test]
async fn repeated_values_are_looked_up_once() {
    const ROWS: i64 = 300_000;
    let repeated = |last: i64| {
        let ids = (0..ROWS).map(|row| if row + 1 == ROWS { last } else { 7 });
        let ids = Arc::new(Int64Array::from_iter_values(ids)) as ArrayRef;
        table(vec![("id", ids)])
    };
    let tables: Tables = BTreeMap::from([
        ("one".to_owned(), repeated(8)),
        ("other".to_owned(), repeated(9)),
    ]);
    let all = ROWS as usize;
    for (text, expected) in [
        ("SELECT id FROM one INTERSECT SELECT id FROM other", 1),
        ("SELECT id FROM one EXCEPT SELECT id FROM other", 1),
        (
            "SELECT id FROM one WHERE id IN (SELECT id FROM other)",
            all - 1,
        ),
        (
            "SELECT id FROM one WHERE id NOT IN (SELECT id FROM other)",
            1,
        ),
        (
            "SELECT id FROM one a WHERE EXISTS (SELECT 1 AS x FROM other b WHERE b.id = a.id)",
            all - 1,
        ),
        (
            "SELECT id FROM one LEFT SEMI JOIN other USING (id)",
            all - 1,
        ),
    ] {
        let query = Query::parse(text).expect(text);
        let session = Session::new(&std::env::temp_dir());
        let start = Instant::now();
        let limits = QueryLimits {
            memory: 1 << 30,
            stop: Arc::new(move || start.elapsed() > Duration::from_secs(20)),
        };
        let rows = session.start(&query, used(&query, &tables), RowForm::Unordered, &limits);
        let mut rows = rows.expect(text);
        let mut count = 0;
        while let Some(batch) = rows.next().await.expect(text) {
            count += batch.num_rows();
        }
        assert_eq!(count, expected, "{text}");
    }
}
