//! Writes random queries, their tables and the engine's rows for `compare_duckdb.py`, which runs the queries in DuckDB.

use std::io::Write as _;
use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use prep_spec::model::Query;
use prep_sql::Session;

use super::database::{Database, kind_name};
use super::evaluate::{Row, row_key};
use super::generate::Generator;
use super::print::{Dialect, Printer};
use super::settings::outcome;
use super::tree::{self, Body, From, Order, OrderBy, Source};
use super::{evaluate, number_from_env};
use crate::random::table::{RequestedRows, cells};
use crate::random::value::Value;

/// Returns a JSON string.
fn text(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted += &format!("\\u{:04x}", c as u32),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// Returns a value as JSON, with `NaN` and `Infinity` as Python writes them.
fn value(value: &Value) -> String {
    match value {
        Value::Missing => "null".to_owned(),
        Value::Number(number) if number.is_nan() => "NaN".to_owned(),
        Value::Number(number) if *number == f64::INFINITY => "Infinity".to_owned(),
        Value::Number(number) if *number == f64::NEG_INFINITY => "-Infinity".to_owned(),
        Value::Text(found) => text(found),
        other => other.to_string(),
    }
}

fn tables(database: &Database) -> String {
    list(database.tables.iter().map(|table| {
        let columns = table.columns.iter();
        let columns =
            columns.map(|(name, kind)| format!("[{}, \"{}\"]", text(name), kind_name(*kind)));
        let rows = table.rows.iter().map(|row| list(row.iter().map(value)));
        format!(
            "{{\"name\": {}, \"columns\": {}, \"rows\": {}}}",
            text(&table.name),
            list(columns),
            list(rows)
        )
    }))
}

/// Returns whether DuckDB must return the rows in the order of `prep`: ORDER BY has no ties, or the query reads only one
/// table, in the order of the table.
fn has_shared_order(query: &tree::Query, rows: &[Row]) -> bool {
    let mut places = Vec::new();
    for key in &query.order_by {
        match &key.by {
            OrderBy::Output { place, .. } => places.push(*place),
            OrderBy::Expr(_) => return false,
        }
    }
    if !places.is_empty() {
        let keys = rows.iter().map(|row| {
            let key: Row = places.iter().map(|place| row[*place].clone()).collect();
            row_key(&key)
        });
        let keys: std::collections::HashSet<String> = keys.collect();
        return keys.len() == rows.len();
    }
    match &query.body {
        Body::Select(select) if query.order == Order::Defined => {
            let mut has_windows = false;
            for expr in select.exprs() {
                expr.walk(&mut |inner| has_windows |= !matches!(inner, tree::Expr::Column(_)));
            }
            let is_single = matches!(
                select.from.as_slice(),
                [From::Source {
                    source: Source::Table(_),
                    ..
                }]
            );
            is_single && !has_windows && select.filter.is_none()
        }
        _ => false,
    }
}

/// Returns whether the rows depend on an order that only `prep` defines: the order of tied rows, or of a table's rows.
fn depends_on_order(query: &tree::Query) -> bool {
    let text = format!("{query:?}");
    let calls = [
        "RowNumber",
        "Lag",
        "Lead",
        "First",
        "Last",
        "Joined",
        "Frame {",
    ];
    let is_limited = text.contains("limit: Some") || text.contains("offset: Some");
    is_limited || calls.iter().any(|call| text.contains(call))
}

#[tokio::test]
#[ignore = "writes the input of compare_duckdb.py to the file QUERIES_JSON"]
async fn queries_for_duckdb() {
    let path = std::env::var("QUERIES_JSON").expect("QUERIES_JSON");
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).expect("a file"));
    let session = Session::new(&std::env::temp_dir());
    let first = number_from_env("SEED", 1);
    for seed in first..first + number_from_env("QUERIES", 4000) {
        let database = Database::random(seed);
        let tree = Generator::new(seed, &database).root();
        let expected = evaluate(&tree, &database);
        let Ok(rows) = expected.rows else { continue };
        let printer = |dialect| {
            Printer {
                dialect,
                database: &database,
            }
            .query(&tree)
        };
        let ours = printer(Dialect::Prep);
        let Ok(query) = Query::parse(&ours) else {
            continue;
        };
        let requested = match expected.is_ordered {
            true => RequestedRows::Values,
            false => RequestedRows::AnyOrder,
        };
        let memories = database.memories();
        let result = cells(&session, &query, &memories, requested, 1 << 30);
        // Skips queries that panic, because the test in `mod.rs` reports them.
        let Ok(result) = AssertUnwindSafe(result).catch_unwind().await else {
            continue;
        };
        let (found, error) = match result {
            Ok((_, rows)) => {
                let rows = rows
                    .iter()
                    .map(|row| list(row.iter().map(|cell| text(cell))));
                (list(rows), String::new())
            }
            Err(error) => ("null".to_owned(), format!("{:?}", outcome(&error))),
        };
        let kinds = tree
            .columns
            .iter()
            .map(|column| text(kind_name(column.kind)));
        let is_exact = expected.is_ordered && has_shared_order(&tree, &rows);
        writeln!(
            file,
            "{{\"seed\": {seed}, \"query\": {}, \"duckdb\": {}, \"tables\": {}, \"kinds\": {}, \"rows\": {found}, \
             \"error\": {}, \"is_exact\": {is_exact}, \"depends_on_order\": {}}}",
            text(&ours),
            text(&printer(Dialect::DuckDb)),
            tables(&database),
            list(kinds),
            text(&error),
            depends_on_order(&tree),
        )
        .expect("a file");
    }
}
