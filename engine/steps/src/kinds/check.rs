//! Checks: queries that must return no row, and checksums that outputs must have.

use std::io::Read;

use md5::{Digest as _, Md5};
use prep_cache::Digest;
use prep_core::{Context, Failure, FileValue, Inputs, Remedy, StepError, Value, WithRemedy};
use prep_spec::model::Query;
use prep_sql::Session;
use thiserror::Error;

use super::function_step::FunctionStep;
use crate::located::{Subject, error_at};
use crate::relation::query_rows_as_text;
use crate::value::{ContentRef, Opener, Tree, input};

#[derive(Debug, Error)]
#[error("`{path}` has MD5 {found}, but the published MD5 is {expected}")]
struct ChecksumError {
    path: String,
    found: String,
    expected: String,
}

/// Compares an output, or a file in an output directory, with its published MD5.
pub(crate) struct Checksum {
    pub id: String,
    /// Path of the file in messages, such as `public/train.csv`.
    pub path: String,
    /// Path of the file within an output directory.
    pub inside: Option<String>,
    pub md5: String,
    /// Whether the MD5 depends on the library that wrote the file. A difference is then only reported.
    pub is_writer_dependent: bool,
}

/// Returns whether a checksum step accepted a different MD5, because the MD5 depends on the version of the library that
/// wrote the file. `result` is the digest of the step's result.
pub fn is_writer_dependent(result: &Digest) -> bool {
    *result == outcome(DEPENDS_ON_WRITER).digest()
}

/// The result of a check whose query returns no row, and of a checksum that matches.
pub(super) const PASSED: &str = "passed";
const DEPENDS_ON_WRITER: &str = "depends on the writer";

/// Returns the value of a step that publishes nothing, such as a check.
pub(super) fn outcome(state: &str) -> Value {
    outcome_of(state.into())
}

pub(super) fn outcome_of(details: serde_json::Value) -> Value {
    Value::new(serde_json::json!({ "value": details }), Vec::new())
}

impl Checksum {
    pub fn step(self) -> FunctionStep {
        let mut params = serde_json::json!({ "md5": self.md5, "inside": self.inside });
        if self.is_writer_dependent {
            params["depends"] = "writer".into();
        }
        let run = move |context: &Context, inputs: &Inputs| self.run(context, inputs);
        FunctionStep::new("checksum", 1, params, run).unshared()
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Value, StepError> {
        let content = content(context, input(inputs, "file")?, self.inside.as_deref())?;
        let content = content.ok_or_else(|| {
            StepError::internal(format!("`{}` is not in its directory", self.path))
        })?;
        let opener = Opener::new(context);
        let md5 = md5_of(context, &opener, &content)?;
        if md5.eq_ignore_ascii_case(&self.md5) {
            return Ok(outcome(PASSED));
        }
        if self.is_writer_dependent {
            return Ok(outcome(DEPENDS_ON_WRITER));
        }
        let error = ChecksumError {
            path: self.path.clone(),
            found: md5,
            expected: self.md5.clone(),
        };
        let explain = Remedy::ExplainDifference {
            id: self.id.clone(),
        };
        let error = WithRemedy::new(error, explain.or(Remedy::AcceptOutputs));
        Err(StepError::new(Failure::Check, error))
    }
}

/// Returns the content of an output that is a file. If the output is a directory, returns the content of the file
/// `inside` in it. Returns `None` if this file does not exist.
pub(super) fn content(
    context: &Context,
    output: &Value,
    inside: Option<&str>,
) -> Result<Option<ContentRef>, StepError> {
    if let Ok(file) = FileValue::from_value(output) {
        return Ok(Some(file.into()));
    }
    let tree = Tree::load(context, output)?;
    Ok(tree.get(inside.unwrap_or_default()))
}

fn md5_of(context: &Context, opener: &Opener, content: &ContentRef) -> Result<String, StepError> {
    let opened = opener.open(content)?;
    let mut reader = opened.reader()?;
    let mut hasher = Md5::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        context.check()?;
        let count = reader.read(&mut buffer).map_err(StepError::input)?;
        if count == 0 {
            break;
        }
        hasher.update(&buffer[..count]);
        context.progress.add_bytes(count as u64);
    }
    Ok(prep_cache::hex(&hasher.finalize()))
}

/// The message of a failed check shows at most this number of rows.
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

/// Creates the step of a check: it fails if the query returns a row.
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
    function.version(3).unshared()
}
