//! Compares unpivoted tables (columns as rows) with the query that defines them.

use crate::support;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::util::display::array_value_to_string;
use prep_sql::{
    QueryError, QueryLimits, Relation, RelationBatch, RelationBatches, RelationColumn, RowForm,
    Session, Unpivot,
};
use support::{Tables, table, used};

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    /// Returns a column of strings, integers or doubles, in which about every fourth cell is NULL.
    fn column(&mut self, kind: usize, rows: usize) -> ArrayRef {
        let cells = (0..rows).map(|_| (self.below(4) > 0).then(|| self.below(1000)));
        let cells: Vec<Option<usize>> = cells.collect();
        let cells = cells.into_iter();
        match kind {
            0 => Arc::new(StringArray::from_iter(
                cells.map(|cell| Some(format!("'{}\"", "é".repeat(cell? % 9)))),
            )),
            1 => Arc::new(Int64Array::from_iter(
                cells.map(|cell| Some(cell? as i64 - 500)),
            )),
            _ => {
                Arc::new(Float64Array::from_iter(cells.map(|cell| {
                    Some([-0.0, f64::NAN, f64::INFINITY, 0.1][cell? % 4])
                })))
            }
        }
    }
}

fn shown(batches: &[RecordBatch]) -> Vec<String> {
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let cells = batch
                .columns()
                .iter()
                .map(|column| match column.is_null(row) {
                    true => format!("{}: missing", column.data_type()),
                    false => format!(
                        "{}: {:?}",
                        column.data_type(),
                        array_value_to_string(column, row).unwrap()
                    ),
                });
            rows.push(cells.collect::<Vec<_>>().join(", "));
        }
    }
    rows
}

async fn defined(tables: &Tables, values: &[String]) -> Vec<RecordBatch> {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let all: Vec<String> = values.iter().map(|name| quoted(name)).collect();
    let selects = values.iter().map(|name| {
        format!(
            "SELECT * EXCLUDE ({}), '{}' AS variable, {} AS value FROM t",
            all.join(", "),
            name.replace('\'', "''"),
            quoted(name)
        )
    });
    let text = selects.collect::<Vec<_>>().join(" UNION ALL ");
    let query = prep_spec::model::Query::parse(&text).expect(&text);
    let session = Session::new(&std::env::temp_dir());
    let limits = QueryLimits::with_memory(1 << 30);
    let rows = session.start(&query, used(&query, tables), RowForm::Values, &limits);
    let mut rows = rows.expect(&text);
    let mut batches = Vec::new();
    while let Some(batch) = rows.next().await.expect(&text) {
        batches.push(batch);
    }
    batches
}

#[tokio::test]
async fn unpivoted_rows_are_those_of_the_defining_query() {
    let mut random = Random(29);
    for case in 0..200 {
        let count = 1 + random.below(6);
        let rows = [0, 1, 13, 60][random.below(4)];
        let is_text = random.below(2) == 0;
        let names: Vec<String> = (0..count).map(|index| format!("c'{index} \"x")).collect();
        let mut columns = Vec::new();
        for name in &names {
            let kind = if is_text { 0 } else { 1 + random.below(2) };
            columns.push((name.as_str(), random.column(kind, rows)));
        }
        for name in ["id", "other", "third"].iter().take(random.below(4)) {
            let (kind, at) = (random.below(3), random.below(columns.len() + 1));
            columns.insert(at, (name, random.column(kind, rows)));
        }
        let mut values: Vec<String> = names.clone();
        values.truncate(1 + random.below(count));
        let first = random.below(values.len());
        values.rotate_left(first);
        let relation = table(columns);
        let tables = BTreeMap::from([("t".to_owned(), Arc::clone(&relation))]);
        let expected = shown(&defined(&tables, &values).await);
        for (max_bytes, batch) in [(0, 7), (200, 5), (2000, 1), (1 << 30, 8192)] {
            let names = ["variable", "value"];
            let unpivot = Unpivot::new(relation.columns(), &values, names).unwrap();
            let found = unpivot.rows(Arc::clone(&relation), max_bytes, batch);
            let found: Vec<RecordBatch> = found.collect::<Result<_, _>>().unwrap();
            assert_eq!(
                shown(&found),
                expected,
                "case {case}, {max_bytes} bytes, {values:?}"
            );
        }
    }
}

/// A table of numbers. It counts how many of its cells are read.
#[derive(Debug)]
struct Counted {
    columns: Vec<RelationColumn>,
    rows: usize,
    read: AtomicUsize,
}

impl Relation for Counted {
    fn columns(&self) -> &[RelationColumn] {
        &self.columns
    }

    fn rows(&self) -> u64 {
        self.rows as u64
    }

    fn has_cells(&self, _column: usize) -> bool {
        true
    }

    fn scan(self: Arc<Self>, columns: Vec<usize>, batch: usize) -> RelationBatches {
        let batches = (0..self.rows).step_by(batch);
        Box::new(batches.map(move |first| {
            let rows = batch.min(self.rows - first);
            self.read.fetch_add(rows * columns.len(), Ordering::Relaxed);
            let cells = Int64Array::from_iter_values(first as i64..(first + rows) as i64);
            let cells = Arc::new(cells) as ArrayRef;
            let columns = columns.iter().map(|_| cells.clone()).collect();
            Ok(RelationBatch { rows, columns })
        }))
    }

    fn origins(&self, first: u64, len: usize) -> Vec<u64> {
        (first..first + len as u64).collect()
    }
}

/// With memory for a tenth of 4,000 columns, all cells are read about 16 times, not 4,000 times.
#[test]
fn many_columns_are_read_in_few_passes() {
    let columns = (0..4001).map(|index| RelationColumn {
        name: format!("c{index}"),
        data_type: arrow::datatypes::DataType::Int64,
        hidden: false,
    });
    let values: Vec<String> = (1..4001).map(|index| format!("c{index}")).collect();
    let relation = Arc::new(Counted {
        columns: columns.collect(),
        rows: 300,
        read: AtomicUsize::new(0),
    });
    let cells = 300 * 4001;
    for (max_bytes, passes) in [(cells * 10, 1), (cells * 8 / 10, 17)] {
        relation.read.store(0, Ordering::Relaxed);
        let unpivot = Unpivot::new(relation.columns(), &values, ["name", "value"]).unwrap();
        let mut rows = 0;
        for batch in unpivot.rows(relation.clone(), max_bytes, 100) {
            rows += batch.unwrap().num_rows();
        }
        assert_eq!(rows, 300 * 4000);
        let read = relation.read.load(Ordering::Relaxed);
        assert!(read <= cells * passes, "{read} reads of {cells} cells");
    }
}

#[test]
fn missing_columns_and_mixed_types_are_errors() {
    let texts = Arc::new(StringArray::from(vec!["x"])) as ArrayRef;
    let numbers = Arc::new(Int64Array::from(vec![1])) as ArrayRef;
    let relation = table(vec![("a", texts), ("b", numbers)]);
    let error = |values: &[&str]| {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        Unpivot::new(relation.columns(), &values, ["name", "value"]).unwrap_err()
    };
    assert_eq!(error(&["a", "c"]).to_string(), "there is no column `c`");
    let mixed = error(&["a", "b"]);
    assert_eq!(
        mixed.to_string(),
        "`a` is text and `b` is a number: they cannot be one column"
    );
    assert!(matches!(mixed, QueryError::Rejected { help: Some(_), .. }));
}
