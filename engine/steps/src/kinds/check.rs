//! `check`: fails if a query returns a row.

use prep_core::Failure;
use prep_spec::model::Query;
use prep_sql::Session;
use thiserror::Error;

use super::checksum::{PASSED, outcome};
use super::function_step::FunctionStep;
use crate::located::{Subject, error_at};
use crate::relation::query_rows_as_text;

/// Maximum number of rows in the message.
const MAX_ROWS: usize = 3;

#[derive(Debug, Error)]
#[error("the check `{name}` found {} ({columns}): {}", count(*.rows), .shown.join("; "))]
struct CheckError {
    name: String,
    columns: String,
    rows: usize,
    shown: Vec<String>,
}

fn count(rows: usize) -> String {
    if rows == 1 {
        "a row".to_owned()
    } else {
        format!("{rows} rows")
    }
}

pub(crate) fn check(name: &str, query: &Query, session: &Session) -> FunctionStep {
    let (name, params) = (name.to_owned(), serde_json::json!({}));
    let function = FunctionStep::of_query("check", query, params, session, move |run| {
        let found = query_rows_as_text(run, MAX_ROWS)?;
        if found.rows > 0 {
            let error = CheckError {
                name: name.clone(),
                columns: found.columns.join(", "),
                rows: found.rows,
                shown: found.first_rows,
            };
            let query = Subject::Query(Box::new(run.query.clone()), None);
            return Err(error_at(Failure::Check, query, error));
        }
        Ok(outcome(PASSED))
    });
    function.version(2).unshared()
}
