//! `EXCEPT` of tables with the same rows, with almost the same rows, and with different rows.

use crate::support;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;
use prep_sql::{QueryLimits, Relation, RelationBatches, RelationColumn};
use support::{Tables, table, values};

type Row = (Option<String>, Option<i64>);

fn relation(rows: &[Row]) -> Arc<dyn Relation> {
    let names = rows.iter().map(|(name, _)| name.clone());
    let numbers = rows.iter().map(|(_, number)| *number);
    let names = Arc::new(StringArray::from_iter(names)) as ArrayRef;
    let numbers = Arc::new(Int64Array::from_iter(numbers)) as ArrayRef;
    table(vec![("name", names), ("number", numbers)])
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    /// Returns a row with one of `values` names. If `values` is small, rows repeat.
    fn row(&mut self, values: u64) -> Row {
        let name = self.below(values);
        let number = self.below(values);
        (
            (name > 0).then(|| format!("n{name}")),
            (number > 0).then_some(number as i64),
        )
    }

    /// Returns two tables. One of them consists mostly of rows of the other.
    fn tables(&mut self) -> [Vec<Row>; 2] {
        let values = [2, 5, 1 << 40][self.below(3) as usize];
        let count = [0, 1, 7, 9_000][self.below(4) as usize];
        let rows: Vec<Row> = (0..count).map(|_| self.row(values)).collect();
        let mut others = rows.clone();
        match self.below(6) {
            0 | 1 => {}
            2 if count > 0 => {
                let place = self.below(count) as usize;
                others[place] = self.row(values);
            }
            3 => others.reverse(),
            4 => others.push(self.row(values)),
            _ => {
                others.pop();
            }
        }
        [rows, others]
    }
}

fn found(batches: &[RecordBatch]) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in batches {
        let names = batch.column(0).as_string::<i32>();
        let numbers = batch.column(1).as_primitive::<Int64Type>();
        for (name, number) in names.iter().zip(numbers) {
            rows.push((name.map(str::to_owned), number));
        }
    }
    rows
}

#[tokio::test]
async fn except_keeps_the_rows_missing_from_the_other_side() {
    let mut random = Random(88_172_645_463_325_252);
    for turn in 0..120 {
        let sides = random.tables();
        let tables: Tables = ["one", "other"]
            .into_iter()
            .zip(&sides)
            .map(|(name, rows)| (name.to_owned(), relation(rows)))
            .collect();
        let sets = sides.map(|rows| rows.into_iter().collect::<BTreeSet<Row>>());
        // With the first limit, some sides are sorted. With the second limit, all sides are kept in memory.
        let limits = QueryLimits::with_memory([4 << 20, 1 << 30][turn % 2]);
        for (first, second, [kept, dropped]) in [
            ("one", "other", [&sets[0], &sets[1]]),
            ("other", "one", [&sets[1], &sets[0]]),
        ] {
            let text = format!(
                "SELECT name, number FROM {first} EXCEPT SELECT name, number FROM {second}"
            );
            let mut rows = found(&values(&text, &tables, &limits).await.expect(&text));
            rows.sort();
            assert!(
                rows.iter().eq(kept.difference(dropped)),
                "turn {turn}: {text}"
            );
        }
    }
}

#[derive(Debug)]
struct Counted {
    inner: Arc<dyn Relation>,
    scans: AtomicUsize,
}

impl Relation for Counted {
    fn columns(&self) -> &[RelationColumn] {
        self.inner.columns()
    }

    fn rows(&self) -> u64 {
        self.inner.rows()
    }

    fn has_cells(&self, column: usize) -> bool {
        self.inner.has_cells(column)
    }

    fn scan(self: Arc<Self>, columns: Vec<usize>, batch: usize) -> RelationBatches {
        self.scans.fetch_add(1, Ordering::Relaxed);
        self.inner.clone().scan(columns, batch)
    }

    fn origins(&self, first: u64, len: usize) -> Vec<u64> {
        self.inner.origins(first, len)
    }
}

/// Sides with equal rows are read once and not kept in memory. If a row differs, both sides are read again and joined.
/// Sides of different lengths are joined without a comparison.
#[tokio::test]
async fn sides_with_equal_rows_are_not_joined() {
    let row = |number: i64| (Some(format!("images/train/{number:012}.png")), Some(number));
    let rows: Vec<Row> = (0..100_000).map(row).collect();
    let mut swapped = rows.clone();
    swapped.swap(99_998, 99_999);
    let one_row_more: Vec<Row> = (0..100_001).map(row).collect();
    for (others, expected) in [(&rows, [1, 1]), (&swapped, [2, 2]), (&one_row_more, [1, 1])] {
        let tables = [&rows, others].map(|rows| {
            let scans = AtomicUsize::new(0);
            let inner = relation(rows);
            Arc::new(Counted { inner, scans })
        });
        let named = ["one", "other"].into_iter().zip(&tables);
        let named: BTreeMap<String, Arc<dyn Relation>> = named
            .map(|(name, table)| (name.to_owned(), table.clone() as Arc<dyn Relation>))
            .collect();
        let text = "SELECT name FROM one EXCEPT SELECT name FROM other";
        // For equal sides, set a memory limit that their rows exceed.
        let memory = if expected == [1, 1] && others.len() == rows.len() {
            1 << 20
        } else {
            1 << 30
        };
        let left = values(text, &named, &QueryLimits::with_memory(memory))
            .await
            .expect(text);
        assert_eq!(left.iter().map(RecordBatch::num_rows).sum::<usize>(), 0);
        let scans = tables.map(|table| table.scans.load(Ordering::Relaxed));
        assert_eq!(scans, expected, "{} rows", others.len());
    }
}
