//! No call of a function uses much more memory than the query may use, whatever its arguments are.
//!
//! Each scalar function of `list.txt` is called with arguments that make its values large: long strings, empty patterns,
//! replacements that repeat the match, and large numbers. The names of the arguments in the list determine their types.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that panics has failed"
)]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use prep_sql::QueryLimits;
use support::{Tables, table, values};

const MB: u64 = 1 << 20;
const MEMORY: u64 = 64 * MB;
/// Additional memory in bytes, for the table and for strings that a call reads or returns.
const MARGIN: u64 = 150 * MB;
/// Number of calls of each function.
const CALLS: usize = 12;

/// Returns SQL expressions for an argument that has this name in `list.txt`.
fn candidates(argument: &str) -> &'static [&'static str] {
    match argument {
        "text" | "a" => &["long", "s", "repeat(s, 100)", "''"],
        "b" | "part" | "characters" | "fill" | "from" | "missing" | "path" => {
            &["''", "'a'", "long", "'é'"]
        }
        "to" | "separator" | "value" => &["long", "''", "repeat('é', 50000)", "s"],
        "pattern" => &[
            "''",
            "'.'",
            "'x*'",
            "concat(repeat('(', 90), '.*', repeat(')', 90))",
        ],
        "replacement" => &["long", "repeat('\\0', 3000)", "repeat('\\1', 3000)", "'$1'"],
        "flags" => &["'g'", "'gi'", "'g'", "'g'"],
        "format" => &["repeat('%1000s', 1)", "'%-1000d'", "'%.1000f'", "long"],
        "n" | "length" | "end" | "last" => &["2147483647", "1000000000", "30000000", "id"],
        "start" | "first" | "digits" | "step" => &["1", "-1000000000", "id", "1"],
        "list" => &[
            "string_to_array(long, '')",
            "range(0, 100000)",
            "array_repeat('', 100000)",
            "[long, long, NULL]",
        ],
        "record" | "template" => &[
            "concat('{\"a\": \"', long, '\"}')",
            "'{\"a\": 1}'",
            "concat('{\"a\": [', repeat('0,', 50000), '0]}')",
            "'{}'",
        ],
        _ => &["1.5", "id", "s", "long"],
    }
}

/// Returns calls of a function with different arguments. `call` shows the names of the arguments.
fn calls(call: &str) -> Vec<String> {
    let call = call
        .split("), ")
        .next()
        .expect("a call")
        .trim_end_matches(')');
    let (name, arguments) = call.split_once('(').expect("a call");
    let arguments: Vec<&str> = arguments
        .split(", ")
        .map(|argument| argument.trim_matches('\''))
        .filter(|argument| !argument.is_empty() && *argument != "...")
        .collect();
    let each = |round: usize| {
        let chosen = arguments.iter().enumerate().map(|(place, argument)| {
            let all = candidates(argument);
            all[(round * (place + 1) + round / all.len()) % all.len()]
        });
        format!("{name}({})", chosen.collect::<Vec<_>>().join(", "))
    };
    let mut calls: Vec<String> = (0..CALLS).map(each).collect();
    calls.dedup();
    calls
}

/// Returns the maximum memory in bytes that this process has used so far.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

fn tables() -> Tables {
    const ROWS: i64 = 100;
    let ids = Arc::new(Int64Array::from_iter_values(0..ROWS)) as ArrayRef;
    let short = (0..ROWS).map(|id| format!("images/{id:04}.png"));
    let short = Arc::new(StringArray::from_iter_values(short)) as ArrayRef;
    let long = (0..ROWS).map(|id| "ab é".repeat(3000 + id as usize));
    let long = Arc::new(StringArray::from_iter_values(long)) as ArrayRef;
    let columns = vec![("id", ids), ("s", short), ("long", long)];
    BTreeMap::from([("t".to_owned(), table(columns))])
}

#[tokio::test]
async fn function_calls_stay_near_the_memory_limit() {
    let tables = tables();
    let list = include_str!("../src/functions/list.txt");
    let before = peak();
    let (mut completed, mut failed) = (0, 0);
    for line in list.lines() {
        let fields: Vec<&str> = line.split(" | ").collect();
        let ["scalar", name, call, ..] = fields.as_slice() else {
            continue;
        };
        // Skip `levenshtein`: its time is proportional to the product of the lengths, and its value is only a number.
        if name.starts_with("levenshtein") {
            continue;
        }
        for call in calls(call) {
            let text = format!("SELECT {call} AS v FROM t");
            match values(&text, &tables, &QueryLimits::with_memory(MEMORY)).await {
                Ok(_) => completed += 1,
                Err(_) => failed += 1,
            }
            let taken = peak().saturating_sub(before);
            assert!(taken < MEMORY + MARGIN, "{text} takes {} MB", taken / MB);
        }
    }
    assert!(
        completed > 300,
        "{completed} calls completed, {failed} failed"
    );
}
