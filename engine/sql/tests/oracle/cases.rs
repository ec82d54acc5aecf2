//! Test cases as text: tables, a query and its rows. `defects.txt` contains cases. If the engine returns wrong rows for a
//! random query, the query is printed as a case.
//!
//! ```text
//! # A comment.
//! table t
//! id integer | "x y" text
//! 1 | 'it''s'
//! query
//! SELECT id FROM t
//! rows
//! id
//! 1
//! ```
//!
//! Empty lines separate cases. Instead of `rows`, a case may contain:
//!
//! - `rows in any order`;
//! - `rejected: PART` if loading a pipeline with the query fails with a message that contains PART;
//! - `fails: PART` if running the query fails with a message that contains PART.

use prep_spec::model::Query;
use prep_sql::Session;

use super::database::{self, Database};
use super::print::{Dialect, Printer};
use super::settings::{Outcome, findings, run, settings};
use super::{Difference, evaluate, lines, tree};
use crate::random::table::RequestedRows;

/// Returns a difference as a case, with the expected rows and, as comments, the rows that the engine returned.
pub fn print(query: &tree::Query, database: &Database, seed: u64, found: &Difference) -> String {
    let printer = Printer {
        dialect: Dialect::Prep,
        database,
    };
    let text = printer.query(query);
    let mut case = format!("# seed {seed}: {}\n", found.kind);
    for line in found.detail.lines() {
        case += &format!("# {line}\n");
    }
    for table in &database.tables {
        if text.contains(&format!(" {} AS", table.name)) {
            case += &database::print(table);
        }
    }
    let expected = evaluate(query, database);
    let result = match expected.rows {
        Err(_) => "fails:".to_owned(),
        Ok(rows) => {
            let head = match expected.is_ordered {
                true => "rows",
                false => "rows in any order",
            };
            format!("{head}\n{}", lines(query, &rows).join("\n"))
        }
    };
    case + &format!("query\n{text}\n{result}\n\n")
}

pub struct Case {
    pub comment: String,
    database: Database,
    query: String,
    /// The line after the query, such as `rows` or `fails: PART`.
    result: String,
    rows: Vec<String>,
}

pub fn parse(text: &str) -> Vec<Case> {
    let cases = text.split("\n\n").filter(|case| case.contains("\nquery\n"));
    cases.map(parse_case).collect()
}

fn parse_case(text: &str) -> Case {
    let mut case = Case {
        comment: String::new(),
        database: Database { tables: Vec::new() },
        query: String::new(),
        result: String::new(),
        rows: Vec::new(),
    };
    let mut lines = text.trim_matches('\n').lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(comment) = line.strip_prefix("# ") {
            case.comment += comment;
            case.comment.push(' ');
        } else if let Some(name) = line.strip_prefix("table ") {
            let is_row = |line: &&str| !line.starts_with("table ") && *line != "query";
            let mut rows = Vec::new();
            while let Some(row) = lines.next_if(is_row) {
                rows.push(row);
            }
            case.database.tables.push(database::parse(name, &rows));
        } else if line == "query" {
            let query = lines.next().expect("a query");
            case.query = query.to_owned();
            case.result = lines.next().expect(query).to_owned();
            case.rows = lines.by_ref().map(str::to_owned).collect();
        } else {
            panic!("unexpected line {line:?} in\n{text}");
        }
    }
    case
}

impl Case {
    /// Runs the query, and describes how the result differs from the expected one.
    pub async fn difference(&self) -> Option<String> {
        let text = &self.query;
        let is_ordered = self.result != "rows in any order";
        let loaded = match Query::parse(text) {
            Err(error) => Err(vec![error.to_string()]),
            Ok(_) if !is_ordered => Ok(()),
            Ok(_) => {
                let found = findings(&Session::planner(), &self.database, text);
                if found.is_empty() { Ok(()) } else { Err(found) }
            }
        };
        if let Some(part) = self.result.strip_prefix("rejected:") {
            return match loaded {
                Ok(()) => Some("not rejected".to_owned()),
                Err(found) if found.iter().any(|one| one.contains(part.trim())) => None,
                Err(found) => Some(format!("{found:?}")),
            };
        }
        if let Err(found) = loaded {
            return Some(format!("{found:?}"));
        }
        let query = Query::parse(text).expect(text);
        let session = Session::new(&std::env::temp_dir());
        let memories = self.database.memories();
        let sorted = |lines: &[String]| {
            let mut lines = lines.to_vec();
            lines[1..].sort();
            lines
        };
        for setting in settings(is_ordered, 0) {
            let found = run(&session, &query, &memories, &setting).await;
            let is_expected = match (&found, self.result.strip_prefix("fails:")) {
                (Outcome::Failed(message), Some(part)) => message.contains(part.trim()),
                (Outcome::Rows(lines), None) if setting.requested == RequestedRows::AnyOrder => {
                    sorted(lines) == sorted(&self.rows)
                }
                (Outcome::Rows(lines), None) => *lines == self.rows,
                _ => false,
            };
            if !is_expected {
                let found = match found {
                    Outcome::Rows(lines) => lines.join("\n"),
                    other => format!("{other:?}"),
                };
                return Some(format!("{setting}\n{found}"));
            }
        }
        None
    }
}
