//! Adds locations in the pipeline to errors of steps.
//!
//! A step does not know the pipeline's file. Its error only names a key or query ([`error_at`]), and the [`LocatedStep`]
//! around the step adds the location. If an error of the pipeline names neither a key nor a query, the [`LocatedStep`] adds
//! the location of the step's declaration.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use prep_core::{BoxError, Context, Failure, Inputs, Outputs, Step, StepError, causes, chain};
use prep_spec::model::{Declaration, Query};
use prep_spec::{Diagnostic, Diagnostics, SourceFile, Span};
use thiserror::Error;

/// The part of the pipeline that an error concerns.
#[derive(Debug, Clone)]
pub(crate) enum Subject {
    /// A key of the step's declaration.
    Key(&'static str),
    /// A place in the pipeline's file.
    At(Span),
    /// A query, and optionally the line and column (from 1) in its text.
    Query(Box<Query>, Option<(u64, u64)>),
}

#[derive(Debug, Error)]
#[error("{error}")]
struct SubjectError {
    subject: Subject,
    help: Option<String>,
    #[source]
    error: BoxError,
}

/// Creates an error that names a part of the pipeline.
pub(crate) fn error_at(
    failure: Failure,
    subject: Subject,
    error: impl Into<BoxError>,
) -> StepError {
    error_at_with_help(failure, subject, error, None)
}

/// Same as [`error_at`], with a suggestion for the user.
pub(crate) fn error_at_with_help(
    failure: Failure,
    subject: Subject,
    error: impl Into<BoxError>,
    help: Option<String>,
) -> StepError {
    let error = error.into();
    StepError::new(
        failure,
        SubjectError {
            subject,
            help,
            error,
        },
    )
}

/// An error of a step, with its location in the pipeline.
#[derive(Debug)]
pub struct LocatedError {
    source: Arc<SourceFile>,
    diagnostic: Diagnostic,
    error: StepError,
}

impl LocatedError {
    /// Returns the error as a diagnostic that names the step `step`.
    pub fn diagnostics(&self, step: &str) -> Diagnostics {
        let mut diagnostic = self.diagnostic.clone();
        diagnostic.message = format!("{step}: {}", diagnostic.message);
        Diagnostics::single(self.source.clone(), diagnostic)
    }

    /// Returns the first [`LocatedError`] among `error` and its causes.
    pub fn find(error: &StepError) -> Option<&LocatedError> {
        causes(error).find_map(|cause| cause.downcast_ref())
    }
}

impl fmt::Display for LocatedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.source.position(self.diagnostic.span.start);
        write!(f, "{}:{line}:{column}", self.source.name)
    }
}

impl std::error::Error for LocatedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

pub(crate) struct LocatedStep {
    step: Box<dyn Step>,
    source: Arc<SourceFile>,
    /// Location of the declaration, if any.
    declaration: Option<Span>,
    keys: BTreeMap<&'static str, Span>,
    /// Whether the step's writers also compute SHA-256, because the result may be published unchanged.
    with_sha256: bool,
}

impl LocatedStep {
    pub(crate) fn new(step: Box<dyn Step>, source: Arc<SourceFile>) -> LocatedStep {
        LocatedStep {
            step,
            source,
            declaration: None,
            keys: BTreeMap::new(),
            with_sha256: false,
        }
    }

    /// Makes the step's writers also compute SHA-256.
    pub(crate) fn with_sha256(self) -> LocatedStep {
        let with_sha256 = true;
        LocatedStep {
            with_sha256,
            ..self
        }
    }

    /// Adds the locations of the step's declaration and of its keys.
    pub(crate) fn declared(self, declaration: &Declaration) -> LocatedStep {
        let settings = declaration.settings();
        LocatedStep {
            declaration: Some(declaration.name.span),
            keys: settings
                .map(|(key, setting)| (key.name, setting.span))
                .collect(),
            ..self
        }
    }

    /// Adds the location of the declaration for which the step was added.
    pub(crate) fn at(self, declaration: Option<Span>) -> LocatedStep {
        LocatedStep {
            declaration,
            ..self
        }
    }

    fn span(&self, subject: &Subject) -> Option<Span> {
        match subject {
            Subject::Key(key) => self.keys.get(key).copied().or(self.declaration),
            Subject::At(span) => Some(*span),
            Subject::Query(query, None) => Some(query.span),
            Subject::Query(query, Some((line, column))) => {
                let start = query.locate(&self.source, *line, *column).start;
                Some(Span::new(start, query.span.end))
            }
        }
    }

    fn locate(&self, error: StepError) -> StepError {
        let failure = error.failure();
        if failure == Failure::Cancelled || error.lost_object().is_some() {
            return error;
        }
        let found = causes(&error).find_map(|cause| cause.downcast_ref::<SubjectError>());
        let (span, help) = match found {
            Some(found) => (self.span(&found.subject), found.help.clone()),
            None if failure == Failure::Pipeline => (self.declaration, None),
            None => (None, None),
        };
        match span {
            Some(span) => located(&self.source, span, help, error),
            None => error,
        }
    }
}

/// Returns an error with the location `span` of the pipeline's file. `error` becomes its cause.
fn located(
    source: &Arc<SourceFile>,
    span: Span,
    help: Option<String>,
    error: StepError,
) -> StepError {
    let failure = error.failure();
    let diagnostic = Diagnostic::error(failure.name(), span, chain(&error));
    let diagnostic = Diagnostic { help, ..diagnostic };
    let source = source.clone();
    StepError::new(
        failure,
        LocatedError {
            source,
            diagnostic,
            error,
        },
    )
}

/// Adds the location to an error that concerns a query. Returns other errors unchanged. `source` contains the query's
/// text.
pub(crate) fn locate_in_query(source: &Arc<SourceFile>, error: StepError) -> StepError {
    let subject = causes(&error).find_map(|cause| cause.downcast_ref::<SubjectError>());
    let Some((Subject::Query(query, place), help)) =
        subject.map(|found| (&found.subject, found.help.clone()))
    else {
        return error;
    };
    let span = match place {
        Some((line, column)) => query.locate(source, *line, *column),
        None => query.span,
    };
    located(source, span, help, error)
}

impl Step for LocatedStep {
    fn kind(&self) -> &'static str {
        self.step.kind()
    }

    fn version(&self) -> u32 {
        self.step.version()
    }

    fn params(&self) -> serde_json::Value {
        self.step.params()
    }

    fn is_shared(&self) -> bool {
        self.step.is_shared()
    }

    fn memory(&self, inputs: &Inputs) -> u64 {
        self.step.memory(inputs)
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let outputs = match self.with_sha256 {
            true => self.step.run(&context.with_sha256(), inputs),
            false => self.step.run(context, inputs),
        };
        outputs.map_err(|error| self.locate(error))
    }
}
