//! What can be wrong with a query.

use datafusion::common::{Column, SchemaError};
use datafusion::error::DataFusionError;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum QueryError {
    /// Names, types or syntax; found when the query is planned.
    #[error("{message}")]
    Plan {
        message: String,
        /// Line and column in the query's text, from 1.
        place: Option<(u64, u64)>,
        /// The column that is not there, if that is what is wrong.
        column: Option<String>,
    },
    /// Refused before it is planned or run, with the way out.
    #[error("{message}")]
    Refused {
        message: String,
        /// Line and column in the query's text, from 1.
        place: Option<(u64, u64)>,
        help: Option<String>,
    },
    /// The order of the rows is not determined by the query.
    #[error("the order of the rows is not determined: {0}")]
    Order(String),
    /// Something that the language leaves out.
    #[error("{0}")]
    Unsupported(String),
    /// A value could not be computed while the query ran.
    #[error("{0}")]
    Run(String),
}

impl QueryError {
    pub(crate) fn plan(error: &DataFusionError) -> QueryError {
        let place = error
            .diagnostic()
            .and_then(|diagnostic| diagnostic.span)
            .map(|span| (span.start.line, span.start.column));
        let column = missing_column(error);
        QueryError::Plan {
            message: match column {
                Some(Column {
                    relation: Some(table),
                    name,
                    ..
                }) => format!("table `{table}` has no column `{name}`"),
                Some(column) => format!("there is no column `{}`", column.name),
                None => message(error),
            },
            place,
            column: column.map(|column| column.name.clone()),
        }
    }

    pub(crate) fn run(error: &DataFusionError) -> QueryError {
        QueryError::Run(message(error))
    }
}

fn missing_column(error: &DataFusionError) -> Option<&Column> {
    match error.find_root() {
        DataFusionError::SchemaError(cause, _) => match cause.as_ref() {
            SchemaError::FieldNotFound { field, .. } => Some(field),
            _ => None,
        },
        _ => None,
    }
}

/// The innermost message, without the engine's prefixes and its advice to file a bug.
fn message(error: &DataFusionError) -> String {
    let root = error.find_root();
    let text = root.strip_backtrace();
    let text = text
        .split("\nThis issue was likely caused")
        .next()
        .unwrap_or(&text);
    for prefix in [
        "Error during planning: ",
        "Schema error: ",
        "Execution error: ",
        "External error: ",
    ] {
        if let Some(rest) = text.strip_prefix(prefix) {
            return rest.trim().to_owned();
        }
    }
    text.trim().to_owned()
}
