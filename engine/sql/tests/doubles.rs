//! Aggregates of doubles return the double nearest to the exact value, for every row order, memory limit and batch size.

use crate::support;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array, Int64Array};
use arrow::compute::concat_batches;
use arrow::datatypes::Float64Type;
use prep_sql::QueryLimits;
use support::{Tables, table, values};

const MB: u64 = 1 << 20;

fn doubles(values: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

async fn cells(text: &str, tables: &Tables, memory: u64) -> Vec<Option<f64>> {
    let batches = values(text, tables, &QueryLimits::with_memory(memory))
        .await
        .expect(text);
    let schema = batches[0].schema();
    let batch = concat_batches(&schema, &batches).expect("one schema");
    let column = arrow::compute::cast(batch.column(0), &arrow::datatypes::DataType::Float64);
    let column = column.expect("numbers");
    column.as_primitive::<Float64Type>().iter().collect()
}

/// Expected values, computed with Python's `fractions` and rounded once.
const STATISTICS: [(&str, f64); 6] = [
    ("sum(x)", 724999999.0),
    ("avg(x)", 90624999.875),
    ("var(x)", 2.8571428571428635e+31),
    ("var_pop(x)", 2.5000000000000055e+31),
    ("stddev(x)", 5345224838248494.0),
    ("stddev_pop(x)", 5000000000000006.0),
];

#[tokio::test]
async fn statistics_are_exact_values_rounded_once() {
    let x = [0.1, 1e16, -3.7, 1e-300, 2.5, -1e16, 7.25e8, 0.1];
    let y = [1.5, 2.25, -1e5, 0.3, 1e-8, 4.0, 3.0, 0.7];
    let ones = Arc::new(Int64Array::from(vec![1; 8])) as ArrayRef;
    let columns = vec![("x", doubles(&x)), ("y", doubles(&y)), ("g", ones)];
    let tables = BTreeMap::from([("t".to_owned(), table(columns))]);
    for (call, expected) in STATISTICS {
        for text in [
            format!("SELECT {call} AS v FROM t"),
            format!("SELECT {call} AS v FROM t GROUP BY g"),
            format!("SELECT {call} OVER () AS v FROM t LIMIT 1"),
            // A sliding window. Its last frame contains all values of `t`, after other values have left the frame.
            format!(
                "SELECT v FROM (SELECT n, {call} OVER (ORDER BY n ROWS BETWEEN 7 PRECEDING AND CURRENT ROW) AS v FROM \
                 (SELECT 1000 + _row AS n, x, y FROM t UNION ALL SELECT _row AS n, x * 1e300 AS x, y / 0.0 AS y FROM t)) WHERE n = 1007"
            ),
        ] {
            let found = cells(&text, &tables, 64 * MB).await;
            assert_eq!(found, [Some(expected)], "{text}");
        }
    }
}

#[tokio::test]
async fn statistics_of_few_rows_and_of_non_finite_values_are_defined() {
    let none = vec![("x", doubles(&[])), ("y", doubles(&[]))];
    let one = vec![("x", doubles(&[2.5])), ("y", doubles(&[0.5]))];
    let flat = vec![("x", doubles(&[1.0, 2.0])), ("y", doubles(&[3.0, 3.0]))];
    let odd = vec![
        ("x", doubles(&[f64::INFINITY, 1.0])),
        ("y", doubles(&[1.0, 2.0])),
    ];
    let large = vec![
        ("x", doubles(&[f64::MAX, f64::MAX, -f64::MAX, 1.0])),
        ("y", doubles(&[-0.0, -0.0, -0.0, -0.0])),
    ];
    let tables = [none, one, flat, odd, large];
    let tables = tables.map(|columns| BTreeMap::from([("t".to_owned(), table(columns))]));
    let nan = Some(f64::NAN);
    let cases: [(&str, [Option<f64>; 5]); 5] = [
        (
            "sum(x)",
            [
                None,
                Some(2.5),
                Some(3.0),
                Some(f64::INFINITY),
                Some(f64::MAX),
            ],
        ),
        (
            "avg(x)",
            [
                None,
                Some(2.5),
                Some(1.5),
                Some(f64::INFINITY),
                Some(f64::MAX / 4.0),
            ],
        ),
        ("sum(y)", [None, Some(0.5), Some(6.0), Some(3.0), Some(0.0)]),
        ("var(x)", [None, None, Some(0.5), nan, Some(f64::INFINITY)]),
        (
            "var_pop(x)",
            [None, Some(0.0), Some(0.25), nan, Some(f64::INFINITY)],
        ),
    ];
    for (call, expected) in cases {
        for (tables, expected) in tables.iter().zip(expected) {
            let text = format!("SELECT {call} AS v FROM t");
            let found = cells(&text, tables, 64 * MB).await;
            // Values are compared as strings, because NaN differs from NaN, and 0.0 equals -0.0.
            assert_eq!(format!("{found:?}"), format!("{:?}", [expected]), "{text}");
        }
    }
}

/// The sums of 100,000 groups are the same with every memory limit. With the smallest limit, groups use temporary files.
#[tokio::test]
async fn sums_of_groups_do_not_depend_on_memory() {
    let mut state = 1_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state >> 33
    };
    let rows = 300_000;
    let groups = (0..rows)
        .map(|_| (next() % 100_000) as i64)
        .collect::<Vec<_>>();
    let values = (0..rows).map(|_| {
        let magnitude = [1.0, 1e-9, 1e12, 1e290][(next() % 4) as usize];
        (next() as f64 / 7.0 - 1e8) * magnitude
    });
    let values: Vec<f64> = values.collect();
    let columns = vec![
        ("g", Arc::new(Int64Array::from(groups)) as ArrayRef),
        ("v", doubles(&values)),
    ];
    let tables = BTreeMap::from([("t".to_owned(), table(columns))]);
    for call in [
        "sum(v)",
        "avg(v)",
        "sum(DISTINCT v)",
        "max(v)",
        "stddev_pop(v)",
    ] {
        let text = format!("SELECT {call} AS v FROM t GROUP BY g ORDER BY g");
        let expected = cells(&text, &tables, 1024 * MB).await;
        assert!(expected.len() > 90_000 && expected.iter().all(Option::is_some));
        for memory in [30, 16] {
            let found = cells(&text, &tables, memory * MB).await;
            assert!(found == expected, "{text} with {memory} MB");
        }
    }
}

/// `min` and `max` distinguish -0.0, 0.0 and NaN for every order of the rows.
#[tokio::test]
async fn extremes_follow_the_total_order() {
    let odd = [f64::NEG_INFINITY, -0.0, 0.0, 1.5, f64::INFINITY, f64::NAN];
    for (place, low) in odd.into_iter().enumerate() {
        for high in odd.into_iter().skip(place) {
            for pair in [[low, high], [high, low]] {
                let ones = Arc::new(Int64Array::from(vec![1, 1])) as ArrayRef;
                let columns = vec![("x", doubles(&pair)), ("g", ones)];
                let tables = BTreeMap::from([("t".to_owned(), table(columns))]);
                for (call, expected) in [("min(x)", low), ("max(x)", high)] {
                    for over in ["FROM t", "FROM t GROUP BY g", "FROM t GROUP BY g, g % 2"] {
                        let text = format!("SELECT {call} AS v {over}");
                        let found = cells(&text, &tables, 64 * MB).await;
                        assert_eq!(found.len(), 1);
                        let bits = found[0].map(f64::to_bits);
                        assert_eq!(bits, Some(expected.to_bits()), "{text} of {pair:?}");
                    }
                }
            }
        }
    }
}

/// The expected values are those of NumPy.
#[tokio::test]
async fn rounding_keeps_the_sign_of_zero() {
    let columns = vec![("x", doubles(&[-0.0, -0.3, 0.0, -1.5]))];
    let tables = BTreeMap::from([("t".to_owned(), table(columns))]);
    for (call, expected) in [
        (
            "trunc(x)",
            "[Some(-0.0), Some(-0.0), Some(0.0), Some(-1.0)]",
        ),
        ("ceil(x)", "[Some(-0.0), Some(-0.0), Some(0.0), Some(-1.0)]"),
        (
            "floor(x)",
            "[Some(-0.0), Some(-1.0), Some(0.0), Some(-2.0)]",
        ),
    ] {
        let found = cells(&format!("SELECT {call} AS v FROM t"), &tables, 64 * MB).await;
        assert_eq!(format!("{found:?}"), expected, "{call}");
    }
}

/// A join finds the same keys, whether it keeps one side in memory or sorts both sides.
#[tokio::test]
async fn join_keys_do_not_depend_on_memory() {
    let odd = [f64::NEG_INFINITY, -0.0, 0.0, 1.5, f64::INFINITY, f64::NAN];
    let side = |factor: u32| {
        let values = (0..120_000_u32).map(|row| match row % 20_000 {
            0 => odd[(row / 20_000) as usize],
            _ => f64::from(row * factor),
        });
        table(vec![("x", doubles(&values.collect::<Vec<f64>>()))])
    };
    let tables = BTreeMap::from([("a".to_owned(), side(1)), ("b".to_owned(), side(3))]);
    for text in [
        "SELECT a.x AS v FROM a JOIN b ON a.x = b.x",
        "SELECT a.x AS v FROM a LEFT JOIN b ON a.x = b.x WHERE b.x IS NULL",
        "SELECT x AS v FROM a WHERE x IN (SELECT x FROM b)",
        "SELECT x AS v FROM a WHERE x NOT IN (SELECT x FROM b)",
        "SELECT x AS v FROM a INTERSECT SELECT x FROM b",
        "SELECT x AS v FROM a EXCEPT SELECT x FROM b",
        "SELECT DISTINCT x AS v FROM (SELECT x FROM a UNION ALL SELECT x FROM b) c",
    ] {
        let mut all = Vec::new();
        for memory in [1024, 8, 6] {
            let mut found = cells(text, &tables, memory * MB).await;
            found.sort_by(|a, b| a.unwrap().total_cmp(&b.unwrap()));
            let bits = found.into_iter().map(|value| value.unwrap().to_bits());
            all.push(bits.collect::<Vec<u64>>());
        }
        assert!(!all[0].is_empty(), "{text}");
        for (found, memory) in all.iter().zip([1024, 8, 6]) {
            let differs = found.iter().find(|bits| {
                all[0]
                    .binary_search_by(|other| {
                        f64::from_bits(*other).total_cmp(&f64::from_bits(**bits))
                    })
                    .is_err()
            });
            let differs = differs.map(|bits| f64::from_bits(*bits));
            assert!(
                *found == all[0],
                "{text} with {memory} MB: {} and {} rows, {differs:?}",
                found.len(),
                all[0].len()
            );
        }
    }
}
