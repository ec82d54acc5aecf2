//! Adds the place in the pipeline to errors of steps.
//!
//! A step knows its parameters, but not the file that they come from. Therefore it only names the key or query that its
//! error concerns ([`blamed`]). Every step is wrapped in a [`Placed`], which knows the source locations of the keys. If
//! a step reports an error of the pipeline without a key, the location is that of the entire declaration.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use prep_core::{BoxError, Context, Failure, Inputs, Outputs, Step, StepError, causes, chain};
use prep_spec::model::{Declaration, Query};
use prep_spec::{Diagnostic, Diagnostics, SourceFile, Span};
use thiserror::Error;

/// The part of a declaration that an error concerns.
#[derive(Debug, Clone)]
pub(crate) enum Subject {
    /// The value of a key.
    Key(&'static str),
    /// A part of a value.
    At(Span),
    /// A query, or the line and column (from 1) in its text.
    Query(Box<Query>, Option<(u64, u64)>),
}

/// An error that names the part of the pipeline that it concerns.
#[derive(Debug, Error)]
#[error("{error}")]
struct Blamed {
    word: Subject,
    help: Option<String>,
    #[source]
    error: BoxError,
}

/// Attaches the part of the pipeline that an error concerns, whatever its class.
pub(crate) fn blamed(failure: Failure, word: Subject, error: impl Into<BoxError>) -> StepError {
    helped(failure, word, error, None)
}

/// Like [`blamed`], with a suggestion.
pub(crate) fn helped(
    failure: Failure,
    word: Subject,
    error: impl Into<BoxError>,
    help: Option<String>,
) -> StepError {
    let error = error.into();
    StepError::new(failure, Blamed { word, help, error })
}

/// An error of a step with its place in the pipeline.
#[derive(Debug)]
pub struct PlacedError {
    source: Arc<SourceFile>,
    found: Diagnostic,
    error: StepError,
}

impl PlacedError {
    /// Returns the error as a diagnostic for the pipeline's file. `step` is the step's name in the message.
    pub fn diagnostics(&self, step: &str) -> Diagnostics {
        let mut found = self.found.clone();
        found.message = format!("{step}: {}", found.message);
        Diagnostics::of(self.source.clone(), found)
    }

    /// Returns the placed error among an error and its causes, if there is one.
    pub fn of(error: &StepError) -> Option<&PlacedError> {
        causes(error).find_map(|cause| cause.downcast_ref())
    }
}

impl fmt::Display for PlacedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.source.position(self.found.span.start);
        let (file, message) = (&self.source.name, &self.found.message);
        write!(f, "{file}:{line}:{column}: {message}")?;
        match &self.found.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for PlacedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// A step that knows the source locations of its parameters.
pub(crate) struct Placed {
    step: Box<dyn Step>,
    source: Arc<SourceFile>,
    /// Location of the declaration. `None` for steps without a declaration.
    own: Option<Span>,
    keys: BTreeMap<&'static str, Span>,
    /// True if the result may be published unchanged.
    with_sums: bool,
}

impl Placed {
    pub(crate) fn new(step: Box<dyn Step>, source: Arc<SourceFile>) -> Placed {
        Placed {
            step,
            source,
            own: None,
            keys: BTreeMap::new(),
            with_sums: false,
        }
    }

    /// Makes the step compute checksums of its results while it writes them.
    pub(crate) fn with_sums(self) -> Placed {
        let with_sums = true;
        Placed { with_sums, ..self }
    }

    pub(crate) fn declared(self, declaration: &Declaration) -> Placed {
        let settings = declaration.settings();
        Placed {
            own: Some(declaration.name.span),
            keys: settings
                .map(|(key, setting)| (key.name, setting.span))
                .collect(),
            ..self
        }
    }

    fn span(&self, word: &Subject) -> Option<Span> {
        match word {
            Subject::Key(key) => self.keys.get(key).copied().or(self.own),
            Subject::At(span) => Some(*span),
            Subject::Query(query, None) => Some(query.span),
            Subject::Query(query, Some((line, column))) => {
                let start = query.locate(&self.source, *line, *column).start;
                Some(Span::new(start, query.span.end))
            }
        }
    }

    fn place(&self, error: StepError) -> StepError {
        let failure = error.failure();
        if failure == Failure::Cancelled || error.lost_object().is_some() {
            return error;
        }
        let blamed = causes(&error).find_map(|cause| cause.downcast_ref::<Blamed>());
        let (span, help) = match blamed {
            Some(blamed) => (self.span(&blamed.word), blamed.help.clone()),
            None if failure == Failure::Pipeline => (self.own, None),
            None => (None, None),
        };
        let Some(span) = span else { return error };
        let found = Diagnostic::error(failure.name(), span, chain(&error));
        let found = Diagnostic { help, ..found };
        let source = self.source.clone();
        StepError::new(
            failure,
            PlacedError {
                source,
                found,
                error,
            },
        )
    }
}

impl Step for Placed {
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
        let outputs = match self.with_sums {
            true => self.step.run(&context.with_sums(), inputs),
            false => self.step.run(context, inputs),
        };
        outputs.map_err(|error| self.place(error))
    }
}
