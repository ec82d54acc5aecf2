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
/// threads. The engine relies on this: it shares results, and does not compute a result that it can find.
pub trait Step: Send + Sync {
    /// Returns the name of the kind, one word, as in the documentation.
    fn kind(&self) -> &'static str;
    /// Returns the version of the kind's behaviour. Raise it when the output for equal input changes.
    fn version(&self) -> u32;
    /// Returns the normalised parameters. They must not contain anything that leaves the result unchanged.
    fn params(&self) -> serde_json::Value;
    /// Returns whether the result may come from another machine. `false` for checks, because a check verifies results
    /// of other machines.
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
    /// Any failure, classified by what has to change before the step can succeed.
    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError>;
}

/// The state of a source, determined without reading its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceState {
    /// The content of the source is known from an earlier run. The content itself may no longer exist.
    Known {
        /// Digest of the value that `run` would return.
        value: Digest,
    },
    /// The source exists, but it was never read, or it has changed since it was read.
    Unread {
        /// Size of the content.
        bytes: u64,
    },
    /// The content is not on this machine. `run` fetches it, or returns an error that explains why it cannot.
    Missing,
}

/// Fetches bytes from outside the cache and identifies them by their content.
pub trait Source: Send + Sync {
    /// Returns the name of the kind.
    fn kind(&self) -> &'static str;
    /// Returns the known state of the source. The digest must be that of the value that `run` would return. Writes
    /// nothing except the record of a content that is known elsewhere.
    fn state(&self, context: &Context) -> Result<SourceState, StepError>;
    /// Reads the source.
    fn run(&self, context: &Context) -> Result<Value, StepError>;
    /// Returns the location of the content, if it exists, for steps that read from it in place.
    fn location(&self) -> Option<PathBuf>;
}

/// Updates a target outside the cache, such as a directory, so that it agrees with the sink's inputs.
pub trait Sink: Send + Sync {
    /// Returns the name of the kind.
    fn kind(&self) -> &'static str;
    /// Returns the version of the kind's behaviour.
    fn version(&self) -> u32;
    /// Returns the normalised parameters.
    fn params(&self) -> serde_json::Value;
    /// Returns whether the target already is in the state that `key` identifies.
    fn is_current(&self, context: &Context, key: &Digest) -> Result<bool, StepError>;
    /// Returns a file to lock while the sink runs. The lock prevents other processes, on this or another machine, from
    /// changing the same target at the same time. The file and its directory are created if they do not exist.
    fn lock(&self) -> Option<PathBuf> {
        None
    }
    /// Returns an upper bound of the memory in bytes, like [`Step::memory`]. [`Context::map_parallel`] claims more for
    /// further threads.
    fn memory(&self, _inputs: &Inputs) -> u64 {
        64 << 20
    }
    /// Updates the target. Afterwards it is in the state that `key` identifies.
    fn run(&self, context: &Context, key: &Digest, inputs: &Inputs) -> Result<(), StepError>;
}

/// The action of a node of the graph.
pub enum Action {
    /// Reads content from outside the cache.
    Source(Box<dyn Source>),
    /// Computes outputs from inputs.
    Step(Box<dyn Step>),
    /// Updates a target outside the cache.
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
