//! The three kinds of action that a graph is made of.

use std::collections::BTreeMap;
use std::path::PathBuf;

use prep_cache::Digest;

use crate::{Context, StepError, Value};

/// Values by the name of the input or output.
pub type Inputs = BTreeMap<String, Value>;
pub type Outputs = BTreeMap<String, Value>;

/// A pure function of its inputs' content.
///
/// Equal kind, version, parameters and input digests must give equal outputs, on any machine and with any number of
/// threads: results are shared and never re-computed while they are found.
pub trait Step: Send + Sync {
    /// Name of the kind, one word, as the documentation uses it.
    fn kind(&self) -> &'static str;
    /// Raised when the output for equal input changes.
    fn version(&self) -> u32;
    /// Normalised parameters; nothing that leaves the result unchanged belongs here.
    fn params(&self) -> serde_json::Value;
    /// Whether its result may be taken from another machine. What a check found is not: it is why others are believed.
    fn is_shared(&self) -> bool {
        true
    }
    /// Rough upper bound of the memory that the step holds, in bytes, given its inputs' bodies.
    fn memory(&self, _inputs: &Inputs) -> u64 {
        64 << 20
    }
    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError>;
}

/// What is known of a source without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceState {
    /// Its content is known from an earlier run, which does not say that it is still there.
    Known { value: Digest },
    /// It is there, but was never read (or changed since).
    Unread { bytes: u64 },
    /// It is not there; `run` of the source says why.
    Missing,
}

/// Brings bytes from outside the store and names them by content.
pub trait Source: Send + Sync {
    fn kind(&self) -> &'static str;
    /// What is known without side effects. The identity must be that of the value that `run` would return.
    fn state(&self, context: &Context) -> Result<SourceState, StepError>;
    fn run(&self, context: &Context) -> Result<Value, StepError>;
    /// Where the content lies, once it is there, for steps that read from it in place.
    fn location(&self) -> Option<PathBuf>;
}

/// Makes something outside the store agree with its inputs.
pub trait Sink: Send + Sync {
    fn kind(&self) -> &'static str;
    fn version(&self) -> u32;
    fn params(&self) -> serde_json::Value;
    /// Does the outside agree with what `key` stands for?
    fn is_current(&self, context: &Context, key: &Digest) -> Result<bool, StepError>;
    /// A file that is locked while the sink runs, so that nobody changes the same thing at the same time, from this machine
    /// or another. It is made if it is not there, with its folder.
    fn lock(&self) -> Option<PathBuf> {
        None
    }
    /// As for steps. [`Context::spread`] claims more for further threads.
    fn memory(&self, _inputs: &Inputs) -> u64 {
        64 << 20
    }
    fn run(&self, context: &Context, key: &Digest, inputs: &Inputs) -> Result<(), StepError>;
}

/// What a node of the graph does.
pub enum Action {
    Source(Box<dyn Source>),
    Step(Box<dyn Step>),
    Sink(Box<dyn Sink>),
}

impl Action {
    pub fn kind(&self) -> &'static str {
        match self {
            Action::Source(source) => source.kind(),
            Action::Step(step) => step.kind(),
            Action::Sink(sink) => sink.kind(),
        }
    }
}
