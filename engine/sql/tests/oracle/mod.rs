//! Compares the engine's rows for random queries with a simple evaluation that follows the definition of each clause.
//!
//! `generate` and `expressions` generate a query as a tree (`tree`), `print` prints it, and `evaluate` computes its rows
//! and their order with nested loops. The engine must return the same rows with nine settings of memory, batch size and
//! row form.
//!
//! Unlike in `random`, subqueries and set operations are nested anywhere. The tables (`database`) are small, and full of
//! ties, duplicates, NULL, NaN, zeros of both signs, and names and strings with quotes.
//!
//! - The engine may reject a query only when the query is loaded, and only for one of the reasons in [`DOCUMENTED`].
//! - If the evaluation of a query fails, for example with an overflow, the engine may fail, too, but with all settings.
//! - If the documented order is undefined, the rows are compared in any order. If a test requests the rows of such a
//!   query in order, the engine must reject the query, or return the same order with all settings.
//!
//! A difference is printed as a case for `cases`. Environment variables:
//!
//! - `QUERIES=n`: the number of queries;
//! - `SEED=n`: the first seed;
//! - `REPORT=path`: appends each difference to a file as soon as it is found;
//! - `WHOLE=1`: prints a query as it was generated, without shrinking.

mod cases;
mod database;
mod defects;
mod duckdb;
mod evaluate;
mod expressions;
mod generate;
mod pipelines;
mod print;
mod settings;
mod shrink;
mod tree;
mod windows;

pub use defects::FOREIGN_WORDS;

use std::collections::{BTreeMap, HashSet};
use std::io::Write as _;

use prep_spec::model::Query;
use prep_sql::Session;

use crate::random::table::RequestedRows;
use crate::random::value::Value;
use database::Database;
use evaluate::{Evaluator, Fault, Row};
use generate::Generator;
use print::{Dialect, Printer};
use settings::{Outcome, findings, run, settings};

/// Number of queries.
const QUERIES: u64 = 400;

/// Parts of the messages with which a generated query may be rejected.
const DOCUMENTED: [&str; 6] = [
    // docs/reference/functions.md, "Order"
    "the order of the rows is not determined",
    "of one SELECT need the same ORDER BY",
    // The parser does not read `((SELECT ...) EXCEPT SELECT ...)` in an expression.
    "expected ), found",
    // Correlated subqueries
    "can refer to columns of the outer query only in conditions such as",
    "a subquery with LIMIT cannot refer to columns of the outer query",
    "a subquery can refer to columns of the outer query only in its WHERE",
];

/// The result of comparing a query with its evaluation.
enum Verdict {
    Equal,
    Rejected(String),
    /// The evaluation fails. The engine fails, too, or does not need the failing value.
    Faulty {
        engine_fails: bool,
    },
    /// The engine had too little memory with some settings, and returned equal rows with the others.
    Memory,
    Different(Difference),
}

struct Difference {
    kind: &'static str,
    detail: String,
}

struct Expected {
    rows: Result<Vec<Row>, Fault>,
    /// Whether the documented order of the rows is defined.
    is_ordered: bool,
}

fn number_from_env(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().expect("a number"))
}

fn evaluate(query: &tree::Query, database: &Database) -> Expected {
    let evaluator = Evaluator::new(database);
    let rows = evaluator.query(query, None);
    Expected {
        rows,
        is_ordered: query.order.is_defined(),
    }
}

fn lines(query: &tree::Query, rows: &[Row]) -> Vec<String> {
    let names: Vec<&str> = query.columns.iter().map(|column| &*column.name).collect();
    let rows = rows.iter().map(|row| {
        let cells: Vec<String> = row.iter().map(Value::literal).collect();
        cells.join(" | ")
    });
    std::iter::once(names.join(" | ")).chain(rows).collect()
}

async fn compare(session: &Session, tree: &tree::Query, database: &Database, turn: u64) -> Verdict {
    let different = |kind, detail: String| Verdict::Different(Difference { kind, detail });
    let printer = Printer {
        dialect: Dialect::Prep,
        database,
    };
    let text = printer.query(tree);
    let expected = evaluate(tree, database);
    let query = match Query::parse(&text) {
        Ok(query) => query,
        Err(error) => return Verdict::Rejected(error.to_string()),
    };
    let planner = Session::planner();
    let rejected = match expected.is_ordered {
        true => findings(&planner, database, &text),
        false => Vec::new(),
    };
    if let Some(message) = rejected.into_iter().next() {
        return Verdict::Rejected(message);
    }
    let memories = database.memories();
    let mut is_ordered = expected.is_ordered;
    if !is_ordered {
        let mut setting = settings(true, 0).remove(0);
        setting.requested = RequestedRows::Values;
        match run(session, &query, &memories, &setting).await {
            // The engine finds an order that is not documented, for example by keys of a group that are not selected.
            Outcome::Rows(_) => is_ordered = true,
            Outcome::Rejected(_) | Outcome::Memory(_) => {}
            Outcome::Failed(_) if expected.rows.is_err() => {}
            other => return different("failed in the run", format!("{other:?}")),
        }
    }
    let sorted = |mut lines: Vec<String>| {
        lines[1..].sort();
        lines
    };
    let rows = expected.rows.as_ref().map(|rows| lines(tree, rows));
    let mut verdict = Verdict::Equal;
    // The engine's rows with the first setting, if the engine defines an order, but the documentation does not.
    let mut first: Option<Vec<String>> = None;
    for (index, setting) in settings(is_ordered, turn).into_iter().enumerate() {
        let found = run(session, &query, &memories, &setting).await;
        let detail = |found: &Outcome| match found {
            Outcome::Rows(lines) => format!("{setting}\n{}", lines.join("\n")),
            other => format!("{setting}\n{other:?}"),
        };
        match (&found, &rows) {
            (Outcome::Memory(_), _) => {
                verdict = Verdict::Memory;
                continue;
            }
            (Outcome::Rejected(message), _) if !is_ordered && index == 0 => {
                return Verdict::Rejected(message.clone());
            }
            (Outcome::Rejected(_), _) => return different("rejected in the run", detail(&found)),
            (Outcome::Panicked(_), _) => return different("panic", detail(&found)),
            // The engine may evaluate a subquery inside another one, and so fail, even if no row needs its value.
            (Outcome::Failed(message), Ok(_))
                if text.matches("(SELECT").count() > 1
                    && message.contains("must return at most one") =>
            {
                verdict = Verdict::Faulty { engine_fails: true };
            }
            (Outcome::Failed(_), Ok(_)) => return different("failed in the run", detail(&found)),
            (Outcome::Rows(lines), Ok(rows)) => {
                let is_equal = match setting.requested {
                    RequestedRows::AnyOrder => sorted(lines.clone()) == sorted(rows.clone()),
                    _ if expected.is_ordered => lines == rows,
                    _ => {
                        let first = first.get_or_insert_with(|| lines.clone());
                        lines == first && sorted(lines.clone()) == sorted(rows.clone())
                    }
                };
                let kind = match sorted(lines.clone()) == sorted(rows.clone()) {
                    true => "other order",
                    false => "other rows",
                };
                if !is_equal {
                    return different(kind, detail(&found));
                }
            }
            // Sorted joins read a side even if the other side is empty.
            (Outcome::Failed(_) | Outcome::Rows(_), Err(_)) if setting.sorts_joins() => {}
            (Outcome::Failed(_) | Outcome::Rows(_), Err(_)) => {
                let engine_fails = matches!(found, Outcome::Failed(_));
                if let Verdict::Faulty {
                    engine_fails: other,
                } = verdict
                    && other != engine_fails
                {
                    return different("fails with some settings", detail(&found));
                }
                verdict = Verdict::Faulty { engine_fails };
            }
        }
    }
    verdict
}

/// Replaces names and numbers in a message, so that messages with equal reasons are counted together.
fn reason(message: &str) -> String {
    let mut reason = String::new();
    let mut quote = None;
    for c in message.chars().take(300) {
        match quote {
            Some(open) if c == open => {
                quote = None;
                reason.push(c);
            }
            Some(_) => {}
            None => {
                if matches!(c, '`' | '"' | '\'') {
                    quote = Some(c);
                    reason.push_str(if c == '`' { "`..." } else { "\"..." });
                } else if c.is_ascii_digit() {
                    if !reason.ends_with('#') {
                        reason.push('#');
                    }
                } else {
                    reason.push(c);
                }
            }
        }
    }
    reason
}

fn append_to_report(text: &str) {
    if let Ok(path) = std::env::var("REPORT") {
        let file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .expect("a report");
    }
}

#[tokio::test]
async fn nested_queries_return_the_rows_of_their_definition() {
    let session = Session::new(&std::env::temp_dir());
    let first = number_from_env("SEED", 1);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut reasons: BTreeMap<String, (u64, u64, String)> = BTreeMap::new();
    let mut found = Vec::new();
    // The reasons of panics and of queries that were rejected only in the run. Each reason is reported once.
    let mut reported_reasons = HashSet::new();
    for seed in first..first + number_from_env("QUERIES", QUERIES) {
        let database = Database::random(seed);
        let query = Generator::new(seed, &database).root();
        let verdict = compare(&session, &query, &database, seed).await;
        let kind = match verdict {
            Verdict::Equal => "equal",
            Verdict::Rejected(message) => {
                let text = Printer {
                    dialect: Dialect::Prep,
                    database: &database,
                }
                .query(&query);
                let count =
                    reasons
                        .entry(reason(&message))
                        .or_insert((0, seed, message + "\n" + &text));
                count.0 += 1;
                "rejected"
            }
            Verdict::Faulty { engine_fails: true } => "failed as expected",
            Verdict::Faulty {
                engine_fails: false,
            } => "rows instead of a failure",
            Verdict::Memory => "short of memory",
            Verdict::Different(difference)
                if matches!(difference.kind, "rejected in the run" | "panic")
                    && !reported_reasons
                        .insert(reason(difference.detail.lines().last().unwrap_or_default())) =>
            {
                difference.kind
            }
            Verdict::Different(difference) => {
                let smaller = match std::env::var_os("WHOLE") {
                    Some(_) => (query, database, difference),
                    None => shrink::shrink(&session, query, database, difference).await,
                };
                let (query, database, difference) = smaller;
                let case = cases::print(&query, &database, seed, &difference);
                append_to_report(&case);
                found.push(case);
                difference.kind
            }
        };
        *counts.entry(kind).or_default() += 1;
    }
    println!("{counts:?}");
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, (count, ..))| std::cmp::Reverse(*count));
    for (_, (count, seed, first)) in &reasons {
        println!("{count} rejected, first with seed {seed}: {first}");
    }
    let undocumented = reasons
        .iter()
        .filter(|(reason, _)| !DOCUMENTED.iter().any(|part| reason.contains(part)));
    let undocumented: Vec<_> = undocumented.collect();
    assert!(
        found.is_empty(),
        "{} differences, for example\n\n{}",
        found.len(),
        found[..found.len().min(5)].join("\n\n")
    );
    assert!(
        undocumented.is_empty(),
        "rejected without a documented reason: {undocumented:#?}"
    );
}
