//! Compares random arithmetic with exact evaluation in 128 bits.
//!
//! A query must return the exact value, or fail if a step exceeds 64 bits.

use crate::support;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array, Int64Array};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use prep_failure::Failure;
use prep_sql::{QueryError, QueryLimits};
use support::{Tables, table, values};

/// Number of random expressions. The test takes a few seconds.
const EXPRESSIONS: usize = 600;
const ROWS: usize = 6;

/// A xorshift generator with a fixed seed, so that a failure is reproducible.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn integer(&mut self) -> i64 {
        let small = self.below(21) as i64 - 10;
        match self.below(8) {
            0 => i64::MAX - small.abs(),
            1 => i64::MIN + small.abs(),
            2 => self.next() as i64,
            3 => (1 << 31) + small,
            _ => small,
        }
    }
}

#[derive(Debug)]
enum Expression {
    A,
    B,
    Literal(i64),
    Negative(Box<Expression>),
    Absolute(Box<Expression>),
    Binary(char, Box<Expression>, Box<Expression>),
}

use Expression::{A, Absolute, B, Binary, Literal, Negative};

impl Expression {
    fn random(random: &mut Random, depth: u32) -> Expression {
        let inner = |random: &mut Random| Box::new(Expression::random(random, depth - 1));
        match random.below(if depth == 0 { 3 } else { 10 }) {
            0 => A,
            1 => B,
            2 => Literal(random.integer()),
            3 => Negative(inner(random)),
            4 => Absolute(inner(random)),
            _ => {
                let operator = ['+', '-', '*', '/', '%'][random.below(5) as usize];
                Binary(operator, inner(random), inner(random))
            }
        }
    }

    fn sql(&self) -> String {
        match self {
            A => "a".to_owned(),
            B => "b".to_owned(),
            Literal(value) => format!("({value})"),
            Negative(inner) => format!("(- {})", inner.sql()),
            Absolute(inner) => format!("abs({})", inner.sql()),
            Binary(operator, left, right) => format!("({} {operator} {})", left.sql(), right.sql()),
        }
    }

    /// Returns the exact value. `None` if a step exceeds 64 bits or divides by zero.
    fn exact(&self, a: i64, b: i64) -> Option<i64> {
        let wide = |inner: &Expression| inner.exact(a, b).map(i128::from);
        let value = match self {
            A => a.into(),
            B => b.into(),
            Literal(value) => (*value).into(),
            Negative(inner) => -wide(inner)?,
            Absolute(inner) => wide(inner)?.abs(),
            Binary(operator, left, right) => {
                let (left, right) = (wide(left)?, wide(right)?);
                match operator {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    '/' => left.checked_div(right)?,
                    _ => left.checked_rem(right)?,
                }
            }
        };
        i64::try_from(value).ok()
    }

    fn double(&self, a: f64, b: f64) -> f64 {
        match self {
            A => a,
            B => b,
            Literal(value) => *value as f64,
            Negative(inner) => -inner.double(a, b),
            Absolute(inner) => inner.double(a, b).abs(),
            Binary(operator, left, right) => {
                let (left, right) = (left.double(a, b), right.double(a, b));
                match operator {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    '/' => left / right,
                    _ => left % right,
                }
            }
        }
    }

    fn has_column(&self) -> bool {
        match self {
            A | B => true,
            Literal(_) => false,
            Negative(inner) | Absolute(inner) => inner.has_column(),
            Binary(_, left, right) => left.has_column() || right.has_column(),
        }
    }

    /// Returns whether every operation has an operand with a column. SQL computes an operation on literals alone with
    /// integers, even if the columns contain doubles.
    fn is_of_columns(&self) -> bool {
        match self {
            A | B | Literal(_) => true,
            Negative(inner) | Absolute(inner) => inner.has_column() && inner.is_of_columns(),
            Binary(_, left, right) => {
                (left.has_column() || right.has_column())
                    && left.is_of_columns()
                    && right.is_of_columns()
            }
        }
    }
}

fn tables(a: &[i64], b: &[i64]) -> Tables {
    let whole = |values: &[i64]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
    let double = |values: &[i64]| {
        let values = values.iter().map(|value| *value as f64);
        Arc::new(Float64Array::from_iter_values(values)) as ArrayRef
    };
    BTreeMap::from([
        (
            "whole".to_owned(),
            table(vec![("a", whole(a)), ("b", whole(b))]),
        ),
        (
            "double".to_owned(),
            table(vec![("a", double(a)), ("b", double(b))]),
        ),
    ])
}

async fn column(text: &str, tables: &Tables) -> Result<ArrayRef, QueryError> {
    let batches = values(text, tables, &QueryLimits::with_memory(64 << 20)).await?;
    let schema = batches[0].schema();
    Ok(concat_batches(&schema, &batches)
        .expect("one schema")
        .column(0)
        .clone())
}

fn assert_overflow_error(text: &str, error: &QueryError) {
    let message = match error {
        // Constants are computed before the query runs.
        QueryError::Rejected { message, .. } => message,
        QueryError::Run {
            failure, message, ..
        } => {
            assert_eq!(*failure, Failure::Pipeline, "{text}: {message}");
            message
        }
        _ => panic!("{text}: {error:?}"),
    };
    let expected_words = [
        "64-bit",
        "division by zero",
        "divides by zero",
        "overflow",
        "Overflow",
        "Cannot compute absolute",
    ];
    assert!(
        expected_words.iter().any(|word| message.contains(word)),
        "{text}: {message}"
    );
}

#[tokio::test]
async fn random_expressions_are_exact_or_rejected() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut exact, mut rejected) = (0, 0);
    for _ in 0..EXPRESSIONS {
        let expression = Expression::random(&mut random, 3);
        let draw = |random: &mut Random| (0..ROWS).map(|_| random.integer()).collect::<Vec<_>>();
        let (a, b) = (draw(&mut random), draw(&mut random));
        let tables = tables(&a, &b);
        let text = format!("SELECT {} AS x FROM whole", expression.sql());
        let rows = a.iter().zip(&b);
        let expected: Option<Vec<i64>> = rows.map(|(a, b)| expression.exact(*a, *b)).collect();
        match (column(&text, &tables).await, expected) {
            (Ok(found), Some(expected)) => {
                let found: Vec<i64> = found.as_primitive::<Int64Type>().values().to_vec();
                assert_eq!(found, expected, "{text} of {a:?}, {b:?}");
                exact += 1;
            }
            (Err(error), None) => {
                assert_overflow_error(&text, &error);
                rejected += 1;
            }
            (found, expected) => panic!("{text} of {a:?}, {b:?}: {found:?}, not {expected:?}"),
        }
        if !expression.has_column() || !expression.is_of_columns() {
            continue;
        }
        let text = format!("SELECT {} AS x FROM double", expression.sql());
        let found = column(&text, &tables).await.expect(&text);
        assert_eq!(found.data_type(), &DataType::Float64, "{text}");
        for ((a, b), found) in a
            .iter()
            .zip(&b)
            .zip(found.as_primitive::<Float64Type>().iter())
        {
            let expected = expression.double(*a as f64, *b as f64);
            let found = found.unwrap();
            let same = found == expected || (found.is_nan() && expected.is_nan());
            assert!(same, "{text} of {a}, {b}: {found}, not {expected}");
        }
    }
    assert!(
        exact > EXPRESSIONS / 4 && rejected > EXPRESSIONS / 10,
        "{exact} exact results, {rejected} rejected expressions"
    );
}

/// Tests sums of all rows, of groups, with DISTINCT, in a sliding window, and merged from temporary files.
#[tokio::test]
async fn random_sums_are_exact_or_rejected() {
    let mut random = Random(77);
    for round in 0..120 {
        let rows = 1 + random.below(12) as usize;
        let a: Vec<i64> = (0..rows).map(|_| random.integer()).collect();
        let b: Vec<i64> = (0..rows).map(|_| random.below(3) as i64).collect();
        let tables = tables(&a, &b);
        let fits = |sum: i128| i64::try_from(sum).ok();
        let wide = |values: &[i64]| values.iter().map(|value| i128::from(*value)).sum::<i128>();
        let distinct: std::collections::BTreeSet<i64> = a.iter().copied().collect();
        let once: Vec<i64> = distinct.into_iter().collect();
        let groups: Option<Vec<i64>> = (0..3)
            .filter(|group| b.contains(group))
            .map(|group| {
                let members = a.iter().zip(&b).filter(|(_, b)| **b == group);
                fits(members.map(|(a, _)| i128::from(*a)).sum())
            })
            .collect();
        let windows: Option<Vec<i64>> = (0..rows)
            .map(|row| fits(wide(&a[row.saturating_sub(2)..=row])))
            .collect();
        let cases = [
            (
                "SELECT sum(a) AS x FROM whole",
                fits(wide(&a)).map(|sum| vec![sum]),
            ),
            (
                "SELECT sum(DISTINCT a) AS x FROM whole",
                fits(wide(&once)).map(|sum| vec![sum]),
            ),
            (
                "SELECT sum(a) AS x FROM whole GROUP BY b ORDER BY b",
                groups,
            ),
            (
                "SELECT sum(a) OVER (ORDER BY _row ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS x FROM whole",
                windows,
            ),
        ];
        for (text, expected) in cases {
            match (column(text, &tables).await, expected) {
                (Ok(found), Some(expected)) => {
                    let found = found.as_primitive::<Int64Type>().values().to_vec();
                    assert_eq!(found, expected, "{round}: {text} of {a:?}, {b:?}");
                }
                (Err(error), None) => assert_overflow_error(text, &error),
                (found, expected) => panic!("{text} of {a:?}, {b:?}: {found:?}, not {expected:?}"),
            }
        }
    }
}

#[tokio::test]
async fn casts_beyond_64_bits_are_rejected() {
    let tables = tables(&[1 << 62, 3], &[0, 1]);
    for (text, expected) in [
        (
            "SELECT CAST(a * 4.0 AS BIGINT) AS x FROM whole",
            Failure::Pipeline,
        ),
        (
            "SELECT CAST(CAST(a AS VARCHAR) || '00' AS BIGINT) AS x FROM whole",
            Failure::Input,
        ),
    ] {
        let error = column(text, &tables).await.expect_err(text);
        let QueryError::Run { failure, .. } = &error else {
            panic!("{text}: {error:?}");
        };
        assert_eq!(*failure, expected, "{text}: {error}");
    }
}
