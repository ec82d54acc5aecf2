//! `check`: fails if a query returns a row.

use prep_core::{Context, Failure, Inputs, Outputs, Step, StepError, Value};
use prep_spec::model::Query;
use prep_sql::Session;
use thiserror::Error;

use super::single_output;
use crate::located::{Subject, error_at};
use crate::relation::{QueryRun, query_memory, query_rows_as_text};

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

pub(crate) struct Check {
    pub name: String,
    pub query: Query,
    pub session: Session,
}

impl Step for Check {
    fn kind(&self) -> &'static str {
        "check"
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn version(&self) -> u32 {
        2
    }

    fn params(&self) -> serde_json::Value {
        serde_json::json!({ "sql": self.query.normal })
    }

    fn memory(&self, inputs: &Inputs) -> u64 {
        query_memory(&self.query, inputs)
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let run = QueryRun {
            session: &self.session,
            query: &self.query,
            context,
            inputs,
        };
        let found = query_rows_as_text(run, MAX_ROWS)?;
        if found.rows > 0 {
            let error = CheckError {
                name: self.name.clone(),
                columns: found.columns.join(", "),
                rows: found.rows,
                shown: found.first_rows,
            };
            let query = Subject::Query(Box::new(self.query.clone()), None);
            return Err(error_at(Failure::Check, query, error));
        }
        Ok(single_output(Value::new(
            serde_json::json!({ "value": "passed" }),
            Vec::new(),
        )))
    }
}
