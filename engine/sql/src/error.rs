//! What can be wrong with a query, before it runs and while it does.
//!
//! A running query fails for many reasons, which [`Failure`] tells apart: a value that is not what the query takes it for is
//! the input's, memory or disk the machine's. What a relation could not read comes back as the error that it was:
//! [`std::error::Error::source`] leads to it.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use arrow::error::ArrowError;
use datafusion::common::{Column, SchemaError};
use datafusion::error::DataFusionError;
use prep_failure::{Failure, is_from_system};
use thiserror::Error;

use crate::grant::Pool;
use crate::relation::ScanError;

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
    #[error("{message}")]
    Run {
        failure: Failure,
        message: String,
        /// Line and column in the query's text, from 1, of what could not be computed.
        place: Option<(u64, u64)>,
        help: Option<String>,
        /// The relation's own error, if it was one.
        #[source]
        cause: Option<Cause>,
    },
}

/// A function's error that knows what it is about.
#[derive(Debug, Error)]
#[error("{message}")]
pub(crate) struct Fault {
    pub failure: Failure,
    pub message: String,
}

impl Fault {
    pub(crate) fn error(failure: Failure, message: impl Into<String>) -> DataFusionError {
        DataFusionError::External(Box::new(Fault {
            failure,
            message: message.into(),
        }))
    }
}

/// The query was told to stop.
#[derive(Debug, Error)]
#[error("stopped")]
pub(crate) struct Stopped;

/// A relation could not be read.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct Unread(#[source] pub ScanError);

/// A relation's error, within the engine's.
#[derive(Debug, Clone)]
pub struct Cause(Arc<DataFusionError>);

impl Cause {
    fn inner(&self) -> Option<&(dyn Error + 'static)> {
        let unread = causes(&self.0).find_map(|cause| cause.downcast_ref::<Unread>())?;
        Some(unread.0.as_ref())
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.inner() {
            Some(inner) => fmt::Display::fmt(inner, f),
            None => f.write_str("a table cannot be read"),
        }
    }
}

impl Error for Cause {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.inner()
    }
}

impl QueryError {
    /// What it is about. A relation's own error may say otherwise.
    pub fn failure(&self) -> Failure {
        match self {
            QueryError::Run { failure, .. } => *failure,
            _ => Failure::Pipeline,
        }
    }

    /// Line and column in the query's text, from 1.
    pub fn place(&self) -> Option<(u64, u64)> {
        match self {
            QueryError::Plan { place, .. }
            | QueryError::Refused { place, .. }
            | QueryError::Run { place, .. } => *place,
            QueryError::Order(_) | QueryError::Unsupported(_) => None,
        }
    }

    /// What the author of the query can do about it.
    pub fn help(&self) -> Option<&str> {
        match self {
            QueryError::Refused { help, .. } | QueryError::Run { help, .. } => help.as_deref(),
            QueryError::Plan { .. } | QueryError::Order(_) | QueryError::Unsupported(_) => None,
        }
    }

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

    /// An error of a running query.
    pub(crate) fn run(error: DataFusionError, pool: Option<&Pool>) -> QueryError {
        let (failure, message) = meaning(&error, pool);
        let help = way_out(&error, &message);
        let has_cause = causes(&error).any(|cause| cause.is::<Unread>());
        QueryError::Run {
            failure,
            message,
            place: None,
            help,
            cause: has_cause.then(|| Cause(Arc::new(error))),
        }
    }

    /// An error of the optimiser, which computes what is constant: either the plan's or one of a value.
    pub(crate) fn prepare(error: DataFusionError, pool: &Pool) -> QueryError {
        let is_value = causes(&error)
            .any(|cause| cause.is::<ArrowError>() || cause.is::<Fault>() || cause.is::<Stopped>());
        let is_value = is_value || matches!(error.find_root(), DataFusionError::Execution(_));
        if is_value {
            QueryError::run(error, Some(pool))
        } else {
            QueryError::plan(&error)
        }
    }
}

/// An error and the errors behind it, outermost first. Results that several operators wait for share their error.
fn causes(error: &DataFusionError) -> impl Iterator<Item = &(dyn Error + 'static)> {
    prep_failure::causes(error).map(|cause| match cause.downcast_ref::<Arc<DataFusionError>>() {
        Some(shared) => shared.as_ref(),
        None => cause,
    })
}

/// What an error is about, and its message.
fn meaning(error: &DataFusionError, pool: Option<&Pool>) -> (Failure, String) {
    for cause in causes(error) {
        if let Some(fault) = cause.downcast_ref::<Fault>() {
            return (fault.failure, fault.message.clone());
        }
        if cause.is::<Stopped>() {
            return (Failure::Cancelled, "stopped".to_owned());
        }
        if let Some(Unread(error)) = cause.downcast_ref::<Unread>() {
            return (Failure::Input, error.to_string());
        }
        // What a query reads comes through relations, whose failures have types of their own. The others are about
        // temporary files.
        if let Some(error) = cause.downcast_ref::<io::Error>()
            && is_from_system(error)
        {
            return (
                Failure::Machine,
                format!("cannot write what is too large for the memory: {error}"),
            );
        }
        match cause.downcast_ref::<DataFusionError>() {
            Some(DataFusionError::ResourcesExhausted(text)) => {
                return (Failure::Machine, exhausted(text, pool));
            }
            Some(DataFusionError::Internal(_)) => return (Failure::Internal, message(error)),
            _ => {}
        }
        if let Some(error) = cause.downcast_ref::<ArrowError>()
            && let Some(meaning) = arrow(error)
        {
            return meaning;
        }
    }
    (Failure::Pipeline, message(error))
}

/// What is to be said of an error.
pub(crate) fn said(error: &DataFusionError) -> String {
    meaning(error, None).1
}

/// What can be done about a value that cannot be computed.
fn way_out(error: &DataFusionError, message: &str) -> Option<String> {
    let mut arrays = causes(error).filter_map(|cause| cause.downcast_ref::<ArrowError>());
    let is_cast = arrays.any(|error| matches!(error, ArrowError::CastError(_)));
    let help = if is_cast {
        "TRY_CAST makes such values missing, and WHERE leaves their rows out"
    } else if message.starts_with("division by zero") {
        "NULLIF(x, 0) in place of the divisor x makes the result missing"
    } else if message.starts_with("beyond 64-bit integers") {
        "CAST(x AS DOUBLE) computes with numbers that have no such limit"
    } else {
        return None;
    };
    Some(help.to_owned())
}

/// A failed cast in the words of SQL.
fn cast(text: &str) -> String {
    let parts = text
        .strip_prefix("Cannot cast string '")
        .and_then(|rest| rest.strip_suffix(" type")?.rsplit_once("' to value of "));
    let Some((value, data_type)) = parts else {
        return text.to_owned();
    };
    let data_type = match data_type {
        "Int64" => "BIGINT",
        "Int32" => "INTEGER",
        "Float64" => "DOUBLE",
        "Boolean" => "BOOLEAN",
        other => other,
    };
    format!("'{value}' cannot be cast to {data_type}")
}

/// What an error of the arrays is about; none for one that only wraps another.
fn arrow(error: &ArrowError) -> Option<(Failure, String)> {
    Some(match error {
        ArrowError::ExternalError(_) | ArrowError::IoError(..) => return None,
        ArrowError::CastError(text) | ArrowError::ParseError(text) => (Failure::Input, cast(text)),
        ArrowError::DivideByZero => (Failure::Pipeline, "division by zero".to_owned()),
        ArrowError::ArithmeticOverflow(text) => (Failure::Pipeline, text.clone()),
        ArrowError::ComputeError(text) | ArrowError::InvalidArgumentError(text) => {
            (Failure::Pipeline, text.clone())
        }
        ArrowError::OffsetOverflowError(_) => (
            Failure::Pipeline,
            "the texts or lists of a few rows together are beyond 2 GiB".to_owned(),
        ),
        ArrowError::MemoryError(text) => (Failure::Machine, text.clone()),
        other => (Failure::Pipeline, other.to_string()),
    })
}

/// What is to be said when memory was not enough.
fn exhausted(text: &str, pool: Option<&Pool>) -> String {
    match pool.map(Pool::lacking) {
        Some(lacking) if lacking > 0 => {
            let lacking = lacking.div_ceil(10_000_000) * 10;
            format!("not enough memory: the query needs {lacking} MB or more; raise --memory")
        }
        _ => format!("not enough memory: {text}"),
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
    if let Some((_, regex)) = text.split_once("regex parse error:")
        && let Some(fault) = regex
            .lines()
            .find_map(|line| line.trim().strip_prefix("error: "))
    {
        return format!("a regular expression is wrong: {fault}");
    }
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

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    /// As a library for temporary files gives it: kind and path, but no longer the system's number.
    fn with_path(error: &io::Error) -> DataFusionError {
        let named = io::Error::new(error.kind(), format!("{error} at path \"/spill\""));
        DataFusionError::IoError(named)
    }

    #[test]
    fn a_failing_temporary_file_is_of_the_machine() {
        // EIO and ESTALE have no kind that can be named.
        for number in [5, 13, 28, 30, 116] {
            let error = io::Error::from_raw_os_error(number);
            let (failure, _) = meaning(&with_path(&error), None);
            assert_eq!(failure, Failure::Machine, "{error}");
        }
    }

    #[test]
    fn what_a_library_says_in_this_form_is_not() {
        for kind in [
            ErrorKind::Other,
            ErrorKind::InvalidData,
            ErrorKind::UnexpectedEof,
        ] {
            let (failure, _) = meaning(&DataFusionError::IoError(io::Error::from(kind)), None);
            assert_eq!(failure, Failure::Pipeline, "{kind}");
        }
    }
}
