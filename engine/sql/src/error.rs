//! Errors of planning and running queries. [`Failure`] classifies errors of running queries.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use arrow::error::ArrowError;
use datafusion_common::DataFusionError;
use prep_failure::{Failure, Remedy, is_from_system};
use prep_spec::query::tree::{Position, QueryTree};
use prep_spec::{list_names, nearest};
use thiserror::Error;

use crate::RECORD_COLUMN;
use crate::limits::{QueryCancelled, QueryPool};
use crate::relation::ScanError;

/// An error of a query.
#[derive(Debug, Error)]
pub enum QueryError {
    /// The query is invalid. This was found before the query ran.
    #[error("{message}")]
    Rejected {
        /// The message.
        message: String,
        /// Line and column in the query's text, from 1.
        place: Option<(u64, u64)>,
        /// The unknown column, if the error is that the query names one.
        column: Option<String>,
        /// An action that corrects the query.
        help: Option<String>,
    },
    /// The query does not determine the order of its rows.
    #[error("the order of the rows is not determined: {0}")]
    Order(String),
    /// A value could not be computed while the query ran.
    #[error("{message}")]
    Run {
        /// The class of the failure.
        failure: Failure,
        /// The message.
        message: String,
        /// Line and column of the failing expression in the query's text, from 1.
        place: Option<(u64, u64)>,
        /// An action that corrects the query or the input.
        help: Option<String>,
        /// Whether the query exceeded its memory limit.
        needs_memory: bool,
        /// The error of the relation that could not be read.
        #[source]
        cause: Option<RelationError>,
    },
}

/// A lack of memory in an input of an operator.
///
/// The guard between the input and the operator converts [`DataFusionError::ResourcesExhausted`] to this error. Otherwise a
/// join would treat the error as its own lack of memory, and read its input again.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct MemoryError(pub String);

/// The error of a function of this crate.
#[derive(Debug, Error)]
#[error("{message}")]
pub(crate) struct FunctionError {
    pub failure: Failure,
    pub message: String,
    pub help: Option<&'static str>,
}

impl FunctionError {
    pub(crate) fn error(failure: Failure, message: impl Into<String>) -> DataFusionError {
        FunctionError::with_help(failure, message, None)
    }

    pub(crate) fn with_help(
        failure: Failure,
        message: impl Into<String>,
        help: Option<&'static str>,
    ) -> DataFusionError {
        DataFusionError::External(Box::new(FunctionError {
            failure,
            message: message.into(),
            help,
        }))
    }
}

/// The error of an expression. The message also shows the row for which the expression fails.
#[derive(Debug, Error)]
#[error("{message}")]
pub(crate) struct LocatedError {
    message: String,
    /// Line and column in the query's text, from 1.
    place: Option<(u64, u64)>,
    #[source]
    cause: DataFusionError,
}

impl LocatedError {
    pub(crate) fn new(
        cause: DataFusionError,
        message: String,
        place: Option<(u64, u64)>,
    ) -> LocatedError {
        LocatedError {
            message,
            place,
            cause,
        }
    }
}

/// A relation that could not be read.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct UnreadableRelation(#[source] pub ScanError);

/// An error of DataFusion that was caused by the error of a relation.
#[derive(Debug, Clone)]
pub struct RelationError(Arc<DataFusionError>);

impl RelationError {
    fn inner(&self) -> Option<&(dyn Error + 'static)> {
        let unread =
            causes(&self.0).find_map(|cause| cause.downcast_ref::<UnreadableRelation>())?;
        Some(unread.0.as_ref())
    }
}

impl fmt::Display for RelationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.inner() {
            Some(inner) => fmt::Display::fmt(inner, f),
            None => f.write_str("a table cannot be read"),
        }
    }
}

impl Error for RelationError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.inner()
    }
}

impl QueryError {
    pub(crate) fn no_columns(query: &QueryTree) -> QueryError {
        let select = query.body.first_select();
        QueryError::Rejected {
            message: "the query has no columns".to_owned(),
            place: select.and_then(|select| place(select.at)),
            column: None,
            help: Some("exclude fewer columns".to_owned()),
        }
    }

    /// Returns the class of the error. If a relation could not be read, the class of its own error may be more precise.
    pub fn failure(&self) -> Failure {
        match self {
            QueryError::Run { failure, .. } => *failure,
            _ => Failure::Pipeline,
        }
    }

    /// Returns the line and column of the error in the query's text, both from 1.
    pub fn place(&self) -> Option<(u64, u64)> {
        match self {
            QueryError::Rejected { place, .. } | QueryError::Run { place, .. } => *place,
            QueryError::Order(_) => None,
        }
    }

    /// Returns the remedy of a query that exceeded its memory limit.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            QueryError::Run {
                needs_memory: true, ..
            } => Some(Remedy::RaiseMemory),
            _ => None,
        }
    }

    pub(crate) fn missing_column(&self) -> Option<&str> {
        match self {
            QueryError::Rejected { column, .. } => column.as_deref(),
            _ => None,
        }
    }

    /// Returns a text that shows how to correct the query `text`. For a missing column, the text lists the columns of `tables`.
    ///
    /// If no column has a similar name, the text `undeclared` follows the list.
    pub fn help_with(
        &self,
        text: &str,
        tables: &[(String, Vec<String>)],
        undeclared: &str,
    ) -> Option<String> {
        let Some(missing) = self.missing_column() else {
            return self.help().map(str::to_owned);
        };
        if missing == RECORD_COLUMN {
            let help = "`*` does not select the hidden column `record` of JSON rows; to pass it on, write `SELECT *, record` in the query of the table";
            return Some(help.to_owned());
        }
        let lists = tables.iter().map(|(table, columns)| {
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            list_names(&format!("`{table}`"), &columns)
        });
        let lists = lists.collect::<Vec<_>>().join("; ");
        let names = tables.iter().flat_map(|(_, columns)| columns);
        let others = names.map(String::as_str).filter(|name| *name != missing);
        let quotes = match self.begins_with_quote(text) {
            true => "double quotes enclose a name; write a string in single quotes. ",
            false => "",
        };
        match nearest(missing, others) {
            _ if tables.is_empty() => None,
            Some(near) => Some(format!("{quotes}did you mean `{near}`? {lists}")),
            None => Some(format!("{quotes}{lists}{undeclared}")),
        }
    }

    /// Returns whether there is a double quote at the place of the error in the query `text`.
    fn begins_with_quote(&self, text: &str) -> bool {
        let index = |number: u64| usize::try_from(number.checked_sub(1)?).ok();
        let character = self.place().and_then(|(line, column)| {
            let line = text.lines().nth(index(line)?)?;
            line.chars().nth(index(column)?)
        });
        character == Some('"')
    }

    /// Returns an action that corrects the query or the input.
    pub fn help(&self) -> Option<&str> {
        match self {
            QueryError::Rejected { help, .. } | QueryError::Run { help, .. } => help.as_deref(),
            QueryError::Order(_) => None,
        }
    }

    /// Converts an error of a running query. `pool` measured the memory that the query needed.
    pub(crate) fn run(error: DataFusionError, pool: Option<&QueryPool>) -> QueryError {
        let (failure, message) = classify(&error, pool);
        let help = help_for(&error);
        let has_cause = causes(&error).any(|cause| cause.is::<UnreadableRelation>());
        let needs_memory = causes(&error).any(|cause| {
            let of_function = cause.downcast_ref::<FunctionError>();
            // Memory is the only system resource whose lack a function reports.
            of_function.is_some_and(|error| error.failure == Failure::Machine)
                || lacking_memory(cause).is_some()
        });
        let located = causes(&error).find_map(|cause| cause.downcast_ref::<LocatedError>());
        QueryError::Run {
            failure,
            message,
            place: located.and_then(|located| located.place),
            help,
            needs_memory,
            cause: has_cause.then(|| RelationError(Arc::new(error))),
        }
    }
}

pub(crate) fn place(at: Position) -> Option<(u64, u64)> {
    (at.line > 0).then_some((u64::from(at.line), u64::from(at.column)))
}

/// Returns an error and its causes, outermost first. If several operators share an error in an `Arc`, returns the error
/// inside the `Arc`.
fn causes(error: &DataFusionError) -> impl Iterator<Item = &(dyn Error + 'static)> {
    prep_failure::causes(error).map(|cause| match cause.downcast_ref::<Arc<DataFusionError>>() {
        Some(shared) => shared.as_ref(),
        None => cause,
    })
}

/// Returns whether a value could not be computed, as opposed to an unreadable table or a system failure.
pub(crate) fn is_of_value(error: &DataFusionError) -> bool {
    let (failure, _) = classify(error, None);
    matches!(failure, Failure::Input | Failure::Pipeline)
        && !causes(error).any(|cause| cause.is::<UnreadableRelation>())
}

/// Returns the message of an error that reports a lack of memory. Does not examine its causes.
fn lacking_memory<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e str> {
    match (error.downcast_ref(), error.downcast_ref()) {
        (Some(MemoryError(text)), _) => Some(text),
        (_, Some(DataFusionError::ResourcesExhausted(text))) => Some(text),
        _ => None,
    }
}

/// Returns the class and the message of an error.
fn classify(error: &DataFusionError, pool: Option<&QueryPool>) -> (Failure, String) {
    for cause in causes(error) {
        if let Some(located) = cause.downcast_ref::<LocatedError>() {
            let (failure, _) = classify(&located.cause, pool);
            return (failure, located.message.clone());
        }
        if let Some(fault) = cause.downcast_ref::<FunctionError>() {
            return (fault.failure, fault.message.clone());
        }
        if cause.is::<QueryCancelled>() {
            return (Failure::Cancelled, "stopped".to_owned());
        }
        if let Some(UnreadableRelation(error)) = cause.downcast_ref::<UnreadableRelation>() {
            return (Failure::Input, prep_failure::chain(error.as_ref()));
        }
        // Errors of relations have their own type. Therefore all other I/O errors concern temporary files.
        if let Some(error) = cause.downcast_ref::<io::Error>()
            && is_from_system(error)
        {
            return (
                Failure::Machine,
                format!("cannot write a temporary file: {error}"),
            );
        }
        if let Some(text) = lacking_memory(cause) {
            return (Failure::Machine, out_of_memory(text, pool));
        }
        if let Some(DataFusionError::Internal(_)) = cause.downcast_ref() {
            return (Failure::Internal, root_message(error));
        }
        if let Some(error) = cause.downcast_ref::<ArrowError>()
            && let Some(meaning) = classify_arrow(error)
        {
            return meaning;
        }
    }
    (Failure::Pipeline, root_message(error))
}

pub(crate) fn message_of(error: &DataFusionError) -> String {
    classify(error, None).1
}

pub(crate) fn function_message(error: &DataFusionError) -> Option<String> {
    let mut causes = causes(error);
    causes.find_map(|cause| Some(cause.downcast_ref::<FunctionError>()?.message.clone()))
}

fn help_for(error: &DataFusionError) -> Option<String> {
    let help = causes(error).find_map(|cause| {
        if let Some(error) = cause.downcast_ref::<FunctionError>() {
            return error.help;
        }
        let is_cast = matches!(cause.downcast_ref(), Some(ArrowError::CastError(_)));
        is_cast
            .then_some("use TRY_CAST to make such values missing, or WHERE to leave their rows out")
    });
    help.map(str::to_owned)
}

/// Replaces the type names in DataFusion's message about a failed cast by those of SQL.
fn cast_message(text: &str) -> String {
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
        "Date32" => "DATE",
        timestamp if timestamp.starts_with("Timestamp") => "TIMESTAMP",
        other => other,
    };
    format!("'{value}' cannot be cast to {data_type}")
}

/// Classifies an Arrow error. Returns `None` for an error that only wraps another error.
fn classify_arrow(error: &ArrowError) -> Option<(Failure, String)> {
    Some(match error {
        ArrowError::ExternalError(_) | ArrowError::IoError(..) => return None,
        // The query computes numbers. Strings are often cells of a file.
        ArrowError::CastError(text) if text.starts_with("Can't cast value") => {
            (Failure::Pipeline, text.clone())
        }
        ArrowError::CastError(text) | ArrowError::ParseError(text) => {
            (Failure::Input, cast_message(text))
        }
        ArrowError::DivideByZero => (Failure::Pipeline, "division by zero".to_owned()),
        ArrowError::ArithmeticOverflow(text) => (Failure::Pipeline, text.clone()),
        ArrowError::ComputeError(text) | ArrowError::InvalidArgumentError(text) => {
            (Failure::Pipeline, text.clone())
        }
        ArrowError::OffsetOverflowError(_) => (
            Failure::Pipeline,
            "the strings or lists of a few rows together exceed 2 GiB".to_owned(),
        ),
        ArrowError::MemoryError(text) => (Failure::Machine, text.clone()),
        other => (Failure::Pipeline, other.to_string()),
    })
}

fn out_of_memory(text: &str, pool: Option<&QueryPool>) -> String {
    match pool.map(QueryPool::required_bytes) {
        Some(bytes) if bytes > 0 => {
            // Rounded up to a multiple of 10 MB.
            let megabytes = bytes.div_ceil(10_000_000) * 10;
            format!("not enough memory: {megabytes} MB are probably enough for the query")
        }
        _ => format!("not enough memory: {text}"),
    }
}

/// Returns the reason from a multi-line error message of the crate `regex`.
pub(crate) fn regex_fault(message: &str) -> &str {
    let mut lines = message.lines().rev();
    let why = lines.find_map(|line| line.trim().strip_prefix("error: "));
    why.or_else(|| message.lines().next()).unwrap_or_default()
}

/// Returns the innermost message without DataFusion's prefixes, and without its advice to file a bug.
fn root_message(error: &DataFusionError) -> String {
    let root = error.find_root();
    let text = root.strip_backtrace();
    let text = text
        .split("\nThis issue was likely caused")
        .next()
        .unwrap_or(&text);
    if let Some((_, regex)) = text.split_once("regex parse error:") {
        return format!("invalid regular expression: {}", regex_fault(regex));
    }
    if let DataFusionError::External(error) = root {
        return prep_failure::chain(error.as_ref());
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

    /// Returns an I/O error as the crate `tempfile` creates it: with a kind and a path, but without the system's error
    /// number.
    fn with_path(error: &io::Error) -> DataFusionError {
        let named = io::Error::new(error.kind(), format!("{error} at path \"/spill\""));
        DataFusionError::IoError(named)
    }

    #[test]
    fn a_temporary_file_error_is_a_system_failure() {
        // EIO, EACCES, ENOSPC, EROFS and ESTALE. EIO has no stable `ErrorKind`.
        for number in [5, 13, 28, 30, 116] {
            let error = io::Error::from_raw_os_error(number);
            let (failure, _) = classify(&with_path(&error), None);
            assert_eq!(failure, Failure::Machine, "{error}");
        }
    }

    #[test]
    fn io_errors_without_a_system_cause_are_pipeline_failures() {
        for kind in [
            ErrorKind::Other,
            ErrorKind::InvalidData,
            ErrorKind::UnexpectedEof,
        ] {
            let (failure, _) = classify(&DataFusionError::IoError(io::Error::from(kind)), None);
            assert_eq!(failure, Failure::Pipeline, "{kind}");
        }
    }
}
