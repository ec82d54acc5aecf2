//! All functions, called with arguments of any type and count, return a value or fail with a message of `prep`.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};
use futures::FutureExt as _;
use prep_spec::model::Query;
use prep_sql::{QueryLimits, RowForm, Session};

use crate::oracle::FOREIGN_WORDS;
use crate::support::{Tables, table, used};

/// Lists of arguments with different types, including extreme values. `i`, `d`, `s` and `b` are columns of the table `t`.
const ARGUMENTS: [&[&str]; 14] = [
    &["i", "i", "i", "i"],
    &["d", "d", "d", "d"],
    &["s", "s", "s", "s"],
    &["b", "b", "b", "b"],
    &["[i, 1]", "i", "i", "i"],
    &["s", "i", "i", "s"],
    &["NULL", "NULL", "NULL", "NULL"],
    &["i", "-1", "s", "NULL"],
    &["s", "-i", "s", "s"],
    &["s", "9223372036854775807", "9223372036854775807", "s"],
    &["s", "-9223372036854775808", "-9223372036854775808", "s"],
    &["[i, 1]", "9223372036854775807", "-9223372036854775808", "i"],
    &[
        "9223372036854775807",
        "9223372036854775807",
        "9223372036854775807",
    ],
    &["-9223372036854775808", "9223372036854775807", "-1"],
];

fn tables() -> Tables {
    let arrays: [(&str, ArrayRef); 4] = [
        (
            "i",
            Arc::new(Int64Array::from(vec![Some(2), None, Some(-3)])),
        ),
        (
            "d",
            Arc::new(Float64Array::from(vec![Some(0.5), None, Some(f64::NAN)])),
        ),
        (
            "s",
            Arc::new(StringArray::from(vec![Some("a"), None, Some("")])),
        ),
        (
            "b",
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
        ),
    ];
    Tables::from([("t".to_owned(), table(arrays.to_vec()))])
}

fn calls(kind: &str, name: &str, args: &[&str]) -> Vec<String> {
    let args = args.join(", ");
    let plain = format!("{name}({args})");
    let window = format!("{name}({args}) OVER (ORDER BY i)");
    let ordered = format!("{name}({args} ORDER BY i)");
    match kind {
        "scalar" => vec![plain],
        "window" => vec![window],
        _ if args.is_empty() => vec![plain, window],
        _ => vec![plain, window, ordered],
    }
}

/// Runs a query, and returns the message of its error. Empty if the query succeeds.
async fn run(session: &Session, query: &Query, tables: &Tables) -> String {
    let limits = QueryLimits::with_memory(64 << 20);
    let tables = used(query, tables);
    let mut rows = match session.start(query, tables, RowForm::Unordered, &limits) {
        Ok(rows) => rows,
        Err(error) => return error.to_string(),
    };
    loop {
        match rows.next().await {
            Ok(Some(_)) => {}
            Ok(None) => return String::new(),
            Err(error) => return error.to_string(),
        }
    }
}

#[tokio::test]
async fn calls_with_any_arguments_return_a_value_or_a_message_of_prep() {
    let list = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/functions/list.txt");
    let list = std::fs::read_to_string(list).expect("the list");
    let tables = tables();
    let session = Session::new(&std::env::temp_dir());
    let mut found = BTreeSet::new();
    let mut accepted = 0;
    for line in list.lines() {
        let fields: Vec<&str> = line.split(" | ").collect();
        let [
            kind @ ("scalar" | "aggregate" | "window" | "both"),
            names,
            ..,
        ] = fields.as_slice()
        else {
            continue;
        };
        let name = names.split(" = ").next().unwrap_or(names);
        let lists = ARGUMENTS
            .iter()
            .flat_map(|all| (0..=all.len()).map(|count| &all[..count]));
        for call in lists.flat_map(|args| calls(kind, name, args)) {
            let text = format!("SELECT {call} AS v FROM t");
            let Ok(query) = Query::parse(&text) else {
                continue;
            };
            let outcome = AssertUnwindSafe(run(&session, &query, &tables)).catch_unwind();
            let message = outcome.await.unwrap_or("panic".to_owned());
            accepted += usize::from(message.is_empty());
            if message == "panic" || FOREIGN_WORDS.iter().any(|word| message.contains(word)) {
                found.insert(format!("{call}: {message}"));
            }
        }
    }
    assert!(accepted > 500, "only {accepted} calls are accepted");
    assert!(found.is_empty(), "{found:#?}");
}
