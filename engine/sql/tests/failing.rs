//! Error messages name the row for which a query fails. The queries are random, and the table contains one bad cell.

use crate::support;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use prep_failure::Failure;
use prep_sql::{QueryError, QueryLimits};
use support::{Tables, table, values};

const ROWS: i64 = 20_000;

/// Returns the tables `t` and `u`. The keys `k` of `u` are the keys `a` of `t` in reverse order.
///
/// In row `bad` (from 1) of `t`, the string `b` is not a number, and the divisor `d` is 0.
fn tables(bad: i64) -> Tables {
    let rows = |of: fn(i64, i64) -> i64| {
        Arc::new(Int64Array::from_iter_values(
            (1..=ROWS).map(|row| of(row, 0)),
        )) as ArrayRef
    };
    let texts = (1..=ROWS).map(|row| match row == bad {
        true => "x".to_owned(),
        false => row.to_string(),
    });
    let texts = Arc::new(StringArray::from_iter_values(texts)) as ArrayRef;
    let divisors = (1..=ROWS).map(|row| i64::from(row != bad));
    let divisors = Arc::new(Int64Array::from_iter_values(divisors)) as ArrayRef;
    let key = || rows(|row, _| row);
    let reversed = Arc::new(Int64Array::from_iter_values((1..=ROWS).rev())) as ArrayRef;
    let t = table(vec![
        ("a", key()),
        ("b", texts),
        ("c", rows(|row, _| row % 7)),
        ("d", divisors),
    ]);
    let u = table(vec![("k", reversed), ("e", key())]);
    BTreeMap::from([("t".to_owned(), t), ("u".to_owned(), u)])
}

/// Queries with a placeholder for an expression that fails. The placeholder is in a different clause of each query, or
/// below a different operator.
const QUERIES: [&str; 12] = [
    "SELECT {} AS x FROM t",
    "SELECT a FROM t WHERE {} > 0",
    "SELECT c, sum({}) AS x FROM t GROUP BY c",
    "SELECT a FROM t ORDER BY {}",
    "SELECT a, row_number() OVER (PARTITION BY c ORDER BY {}) AS n FROM t",
    "SELECT sum({}) OVER (ORDER BY a) AS n FROM t",
    "SELECT a FROM (SELECT a, {} AS x FROM t WHERE a > 0) s WHERE x > 0",
    "WITH w AS (SELECT * FROM t ORDER BY c) SELECT {} AS x FROM w",
    "SELECT u.e AS e FROM u JOIN t ON u.k = {}",
    "SELECT a FROM t WHERE a IN (SELECT {} AS x FROM t)",
    "SELECT k AS a FROM u UNION ALL SELECT {} AS a FROM t",
    "SELECT CASE WHEN c >= 0 THEN {} ELSE 0 END AS x FROM t",
];

#[tokio::test]
async fn an_error_names_the_row_that_failed() {
    let limits = QueryLimits::with_memory(256 << 20);
    for (number, query) in QUERIES.iter().enumerate() {
        let bad = 1 + (number as i64 * 7919 + 4242) % ROWS;
        let tables = tables(bad);
        for (expression, failure, value) in [
            ("CAST(b AS BIGINT)", Failure::Input, "`b` is 'x'"),
            ("(a / d)", Failure::Pipeline, "`d` is 0"),
            ("(a + CAST(b AS BIGINT) * 2)", Failure::Input, "`b` is 'x'"),
        ] {
            let text = query.replace("{}", expression);
            let Err(QueryError::Run {
                failure: found,
                message,
                ..
            }) = values(&text, &tables, &limits).await
            else {
                panic!("{text} does not fail");
            };
            assert_eq!(found, failure, "{text}: {message}");
            let row = format!("in row {bad} of `t`");
            assert!(message.contains(&row), "{text}: {message}, not {row}");
            assert!(message.contains(value), "{text}: {message}");
        }
    }
}

/// After a join, the message names a row of each table. After GROUP BY, it contains only the values of the group.
#[tokio::test]
async fn an_error_after_a_join_names_both_rows_and_after_group_by_the_values() {
    let tables = tables(100);
    let limits = QueryLimits::with_memory(256 << 20);
    for (text, parts) in [
        (
            "SELECT u.e / t.d AS x FROM u JOIN t ON t.a = u.k",
            &[
                "row 19901 of `u`",
                "row 100 of `t`",
                "division by zero: 19901 / 0",
            ][..],
        ),
        (
            "SELECT n / (c - 3) AS x FROM (SELECT c, count(*) AS n FROM t GROUP BY c)",
            &["division by zero", "`c` is 3"],
        ),
    ] {
        let Err(QueryError::Run {
            message,
            place,
            help,
            ..
        }) = values(text, &tables, &limits).await
        else {
            panic!("{text} does not fail");
        };
        for part in parts {
            assert!(message.contains(part), "{text}: {message}");
        }
        assert!(!message.contains("Int64"), "{text}: {message}");
        // The planner does not record positions of group columns. Errors in them have the position of the query.
        assert!(place.is_none_or(|(line, _)| line == 1), "{text}: {place:?}");
        assert!(help.is_some_and(|help| help.contains("NULLIF")), "{text}");
    }
}

/// A condition can protect a cast from bad rows.
#[tokio::test]
async fn expressions_that_are_not_evaluated_raise_no_error() {
    let tables = tables(100);
    let limits = QueryLimits::with_memory(256 << 20);
    let text = "SELECT CASE WHEN b <> 'x' THEN CAST(b AS BIGINT) ELSE a / (d * 2) END AS x FROM t";
    let Err(QueryError::Run { message, .. }) = values(text, &tables, &limits).await else {
        panic!("{text} does not fail");
    };
    assert!(
        message.starts_with("division by zero: 100 / 0, in row 100"),
        "{message}"
    );
}
