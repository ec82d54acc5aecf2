//! The three kinds of action in a graph: sources, steps and sinks.

use std::collections::BTreeMap;
use std::path::PathBuf;

use prep_cache::Digest;

use crate::{Context, StepError, Value};

/// Input values of a step by input name.
pub type Inputs = BTreeMap<String, Value>;
/// Output values of a step by output name.
pub type Outputs = BTreeMap<String, Value>;

/// A pure function of the content of its inputs.
///
/// Equal kind, version, parameters and input digests must give equal outputs, on any machine and with any number of
/// threads. The engine relies on that: it shares results and never computes a result again that it can find.
pub trait Step: Send + Sync {
    /// Returns the name of the kind, one word, as in the documentation.
    fn kind(&self) -> &'static str;
    /// Returns the version of the kind's behaviour. Raise it when the output for equal input changes.
    fn version(&self) -> u32;
    /// Returns the normalised parameters. They must not contain anything that leaves the result unchanged.
    fn params(&self) -> serde_json::Value;
    /// Whether the result may come from another machine. `false` for checks, because a check verifies results of other
    /// machines.
    fn is_shared(&self) -> bool {
        true
    }
    /// Returns a rough upper bound of the step's memory in bytes, given the bodies of its inputs.
    fn memory(&self, _inputs: &Inputs) -> u64 {
        64 << 20
    }
    /// Computes the outputs.
    ///
    /// # Errors
    /// Any failure, classified by what has to change.
    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError>;
}

/// The known state of a source without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceState {
    /// The content of the source is known from an earlier run. It may not exist any more.
    Known {
        /// Digest of the value that `run` would return.
        value: Digest,
    },
    /// The source exists, but was never read, or has changed since.
    Unread {
        /// Size.
        bytes: u64,
    },
    /// The source does not exist. `run` returns an error with the reason.
    Missing,
}

/// Fetches bytes from outside the store and identifies them by their content.
pub trait Source: Send + Sync {
    /// Returns the name of the kind.
    fn kind(&self) -> &'static str;
    /// Returns what is known without side effects. The digest must be that of the value that `run` would return.
    fn state(&self, context: &Context) -> Result<SourceState, StepError>;
    /// Reads the source.
    fn run(&self, context: &Context) -> Result<Value, StepError>;
    /// Returns the location of the content, once it exists, for steps that read from it in place.
    fn location(&self) -> Option<PathBuf>;
}

/// Updates something outside the store so that it agrees with its inputs.
pub trait Sink: Send + Sync {
    /// Returns the name of the kind.
    fn kind(&self) -> &'static str;
    /// Returns the version of the kind's behaviour.
    fn version(&self) -> u32;
    /// Returns the normalised parameters.
    fn params(&self) -> serde_json::Value;
    /// Whether the target already is in the state that `key` identifies.
    fn is_current(&self, context: &Context, key: &Digest) -> Result<bool, StepError>;
    /// Returns a file to lock while the sink runs, so that no other process, on this machine or another, changes the
    /// same target at the same time. The file and its directory are created if they do not exist.
    fn lock(&self) -> Option<PathBuf> {
        None
    }
    /// Returns an upper bound of the memory in bytes, as for steps. [`Context::map_parallel`] claims more for further
    /// threads.
    fn memory(&self, _inputs: &Inputs) -> u64 {
        64 << 20
    }
    /// Updates the target. Afterwards it is in the state that `key` identifies.
    fn run(&self, context: &Context, key: &Digest, inputs: &Inputs) -> Result<(), StepError>;
}

/// The action of a node of the graph.
pub enum Action {
    /// Reads something outside the store.
    Source(Box<dyn Source>),
    /// Computes outputs from inputs.
    Step(Box<dyn Step>),
    /// Changes something outside the store.
    Sink(Box<dyn Sink>),
}

impl Action {
    /// Returns the name of the action's kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Action::Source(source) => source.kind(),
            Action::Step(step) => step.kind(),
            Action::Sink(sink) => sink.kind(),
        }
    }
}
