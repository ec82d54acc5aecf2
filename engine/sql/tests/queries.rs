//! Queries and their rows, recorded in `tests/queries/*.txt`. The recorded rows specify the row order.
//!
//! A case consists of a query, a line of dashes, and the rows (cells separated by ` | `) or `rejected: ...`. `UPDATE=1`
//! records the current rows. Review the diff before you commit it.
//!
//! Every query runs three times: for values, for origins of columns that are only copied, and for values in any order.
//!
//! The tables are `t` (id, name, score: integer, text, number; 5 rows), `u` (id, tag; 4 rows, id 2 twice, not sorted),
//! `e` (id, name; no rows) and `j` (key; hidden `record`). The cells of all tables can be copied.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, StringArray};
use arrow::datatypes::{DataType, UInt64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use prep_spec::model::Query;
use prep_sql::{ColumnSource, QueryLimits, Relation, RowForm, Session};

use crate::support::Memory;

/// Creates a table from columns: name, whether the column is hidden, and cells.
fn relation(columns: Vec<(&str, bool, ArrayRef)>) -> Arc<dyn Relation> {
    let memory = Memory::new(columns).in_batches_of(2);
    Arc::new(memory.with_origins_down_from(100))
}

fn tables() -> BTreeMap<String, Arc<dyn Relation>> {
    let texts = |texts: Vec<Option<&str>>| Arc::new(StringArray::from(texts)) as ArrayRef;
    let numbers = |numbers: Vec<i64>| Arc::new(Int64Array::from(numbers)) as ArrayRef;
    let t = relation(vec![
        ("id", false, numbers(vec![3, 1, 2, 5, 4])),
        (
            "name",
            false,
            texts(vec![Some("c"), Some("a"), None, Some("a"), Some("B")]),
        ),
        (
            "score",
            false,
            Arc::new(Float64Array::from(vec![
                Some(0.5),
                Some(0.5),
                Some(2.0),
                None,
                Some(-1.0),
            ])),
        ),
    ]);
    let u = relation(vec![
        ("id", false, numbers(vec![2, 3, 2, 9])),
        (
            "tag",
            false,
            texts(vec![Some("x"), Some("y"), Some("z"), Some("w")]),
        ),
    ]);
    let e = relation(vec![
        ("id", false, numbers(vec![])),
        ("name", false, texts(vec![])),
    ]);
    let j = relation(vec![
        ("key", false, texts(vec![Some("k1"), Some("k2")])),
        (
            "record",
            true,
            texts(vec![
                Some(r#"{"a": 1, "b": [2], "c": "é"}"#),
                Some(r#"{"c": null, "b": 1e3, "a": 0}"#),
            ]),
        ),
    ]);
    [("t", t), ("u", u), ("e", e), ("j", j)]
        .into_iter()
        .map(|(name, table)| (name.to_owned(), table))
        .collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RequestedRows {
    Values,
    Origins,
    AnyOrder,
}

async fn rows(session: &Session, text: &str, requested: RequestedRows) -> Result<String, String> {
    let query = Query::parse(text)?;
    let all = tables();
    let used: BTreeMap<String, Arc<dyn Relation>> = query
        .tables
        .iter()
        .filter_map(|name| Some((name.clone(), all.get(name)?.clone())))
        .collect();
    let limits = QueryLimits::with_memory(64 << 20);
    let form = match requested {
        RequestedRows::Values => RowForm::Values,
        RequestedRows::Origins => RowForm::Cells,
        RequestedRows::AnyOrder => RowForm::Unordered,
    };
    let result = session.start(&query, used, form, &limits);
    let mut result = result.map_err(|error| error.to_string())?;
    let columns = result.columns().to_vec();
    let mut text = columns
        .iter()
        .map(|column| column.name.as_str())
        .collect::<Vec<_>>()
        .join(" | ");
    text.push('\n');
    while let Some(batch) = result.next().await.map_err(|error| error.to_string())? {
        for row in 0..batch.num_rows() {
            let cells =
                columns
                    .iter()
                    .zip(batch.columns())
                    .map(|(column, array)| match &column.source {
                        ColumnSource::Cells { table, column } => {
                            let origins = array.as_primitive::<UInt64Type>();
                            let table = tables()[table].clone();
                            let values = table
                                .clone()
                                .scan(vec![*column], 0)
                                .map(|values| values.unwrap().columns[0].clone());
                            let values: Vec<ArrayRef> = values.collect();
                            let values: Vec<&dyn Array> =
                                values.iter().map(AsRef::as_ref).collect();
                            let whole = arrow::compute::concat(&values).unwrap();
                            if origins.is_null(row) {
                                String::new()
                            } else {
                                cell(&whole, 100 - origins.value(row) as usize)
                            }
                        }
                        ColumnSource::Values(_) => cell(array, row),
                    });
            let cells: Vec<String> = cells.collect();
            let _ = writeln!(text, "{}", cells.join(" | "));
        }
    }
    Ok(text)
}

fn sorted(rows: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = rows.lines().collect();
    lines.sort_unstable();
    lines
}

fn cell(array: &ArrayRef, row: usize) -> String {
    if array.data_type() == &DataType::Null {
        return String::new();
    }
    ArrayFormatter::try_new(array, &FormatOptions::default())
        .unwrap()
        .value(row)
        .to_string()
}

async fn outcome(session: &Session, query: &str) -> String {
    let values = rows(session, query, RequestedRows::Values).await;
    let origins = rows(session, query, RequestedRows::Origins).await;
    assert_eq!(values, origins, "values and origins differ for:\n{query}");
    if let Ok(rows_in_order) = &values {
        let any_order = rows(session, query, RequestedRows::AnyOrder).await;
        let any_order = any_order.as_ref().map(|rows| sorted(rows));
        assert_eq!(
            any_order,
            Ok(sorted(rows_in_order)),
            "in any order:\n{query}"
        );
    }
    match values {
        Ok(rows) => rows,
        Err(message) => format!("rejected: {}\n", message.lines().next().unwrap_or_default()),
    }
}

#[tokio::test]
async fn queries_return_the_recorded_rows() {
    let temp = std::env::temp_dir();
    let session = Session::new(&temp);
    let update = std::env::var_os("UPDATE").is_some();
    let mut failed = Vec::new();
    let mut count = 0;
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/queries");
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut found = String::new();
        for case in text
            .split("\n\n")
            .map(str::trim)
            .filter(|case| !case.is_empty())
        {
            let (head, _) = case.split_once("\n----").unwrap_or((case, ""));
            let query: String = head
                .lines()
                .filter(|line| !line.starts_with('#'))
                .collect::<Vec<_>>()
                .join("\n");
            let _ = write!(found, "{head}\n----\n{}\n", outcome(&session, &query).await);
            count += 1;
        }
        if update {
            std::fs::write(&path, &found).unwrap();
        } else if found.trim() != text.trim() {
            failed.push(format!("{}:\n{found}", path.display()));
        }
    }
    assert!(count > 40, "only {count} queries were found");
    assert!(
        failed.is_empty(),
        "the rows differ from those recorded in\n{}",
        failed.join("\n")
    );
}
