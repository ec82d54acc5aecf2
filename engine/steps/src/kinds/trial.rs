//! `trial`: grades the sample submission before anything is published, with a function that the caller passes.

use std::io::Read as _;
use std::sync::Arc;

use prep_core::{Context, Failure, FileValue, Inputs, StepError, Value, units};
use prep_spec::Span;
use thiserror::Error;

use super::check::{content, outcome_of};
use super::function_step::FunctionStep;
use crate::located::{Subject, error_at_with_help};
use crate::value::{ContentRef, Opener, input};

/// Estimated memory in bytes per byte of answers and sample submission.
const MEMORY_PER_BYTE: u64 = 24;

/// The grading of a competition's sample submission.
#[derive(Clone)]
pub struct Trial {
    /// All values on which the result of `grade` depends, except for the contents of files.
    pub params: serde_json::Value,
    /// Path of the answers, such as `private/answers.csv`.
    pub answers: String,
    /// Path of the sample submission.
    pub sample: String,
    /// Path of the public test table, if its identifiers are compared with those of the answers.
    pub test: Option<String>,
    /// Maximum total bytes of answers and sample submission. Larger ones are not graded, because that takes too long.
    pub max_bytes: u64,
    /// The function that grades. It receives the contents of the answers, of the sample submission, and of the test table
    /// if it is small. It returns, for example, the score and warnings.
    pub grade: Arc<GradeFunction>,
}

/// The function of a [`Trial`].
pub type GradeFunction =
    dyn Fn([&[u8]; 2], Option<&[u8]>) -> Result<serde_json::Value, TrialError> + Send + Sync;

/// A mistake in the pipeline's grading or in the sample submission.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct TrialError {
    /// The mistake.
    pub message: String,
    /// The suggested action.
    pub help: Option<String>,
    /// Position of the mistake in the pipeline.
    pub span: Span,
}

/// Returns the step of the trial. `inside` contains the paths of answers and sample submission within their output
/// directories. A path is `None` if the output is a file instead of a directory.
pub(crate) fn trial(trial: Trial, inside: [Option<String>; 2]) -> FunctionStep {
    let params = serde_json::json!({ "trial": trial.params, "max_bytes": trial.max_bytes });
    let max_bytes = trial.max_bytes;
    let function = FunctionStep::new("trial", 2, params, move |context, inputs| {
        let [answers, sample] = &inside;
        let answers = content(context, input(inputs, "answers")?, answers.as_deref())?;
        let sample = content(context, input(inputs, "sample")?, sample.as_deref())?;
        let (Some(answers), Some(sample)) = (answers, sample) else {
            return Err(StepError::internal("the files of a trial do not exist"));
        };
        let bytes = answers.bytes() + sample.bytes();
        if bytes > max_bytes {
            let (bytes, max) = (units::bytes(bytes), units::bytes(max_bytes));
            let why =
                format!("the answers and the sample submission have {bytes}, more than {max}");
            return Ok(outcome_of(serde_json::json!({ "skipped": why })));
        }
        let test = match inputs.contains_key("test") {
            true => content(context, input(inputs, "test")?, None)?,
            false => None,
        };
        let test = test.filter(|test| bytes + test.bytes() <= max_bytes);
        let test = test.map(|test| read(context, &test)).transpose()?;
        let files = [&*read(context, &answers)?, &*read(context, &sample)?];
        let graded = (trial.grade)(files, test.as_deref());
        let graded = graded.map_err(|error| {
            let (subject, help) = (Subject::At(error.span), error.help.clone());
            error_at_with_help(Failure::Check, subject, error, help)
        })?;
        Ok(outcome_of(graded))
    });
    function
        .memory(move |inputs| memory(inputs, max_bytes))
        .unshared()
}

/// Estimates the memory of grading in bytes. Files with more than `max_bytes` bytes in total are not graded.
fn memory(inputs: &Inputs, max_bytes: u64) -> u64 {
    let files = inputs
        .values()
        .filter_map(|value| FileValue::from_value(value).ok());
    let bytes: u64 = files.map(|file| ContentRef::from(file).bytes()).sum();
    (64 << 20) + MEMORY_PER_BYTE * bytes.min(max_bytes)
}

fn read(context: &Context, content: &ContentRef) -> Result<Vec<u8>, StepError> {
    let opener = Opener::new(context);
    let opened = opener.open(content)?;
    let mut bytes = Vec::new();
    let mut reader = opened.reader()?;
    reader.read_to_end(&mut bytes).map_err(StepError::input)?;
    Ok(bytes)
}

/// Returns the details of the result of the step `trial` or `members`.
pub fn result_of(value: &Value) -> &serde_json::Value {
    &value.body["value"]
}
