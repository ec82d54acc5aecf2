//! The engine: a graph of steps, the keys that decide whether a step has to run, and the scheduler that runs them.
//!
//! ```text
//! graph     the steps and their connections (petgraph)
//!   action    sources, steps and sinks                        value   the data that flow between steps
//!   key       everything that a step's result depends on, as a stored record; its hash is the step's key
//! resolve   forward: keys and known results; backward: what has to run (work) -> Resolution (reason)
//!   reason    why a step runs: two key records compared field by field        last_runs   the last run of each step
//! run       executes a resolution concurrently, within limits; resolves each node when its inputs are known
//!   event     events of a run, as data for progress bars, logs and JSON
//! context   what a step may use: the cache, limits, and
//!   objects   opened objects in memory, results that stay in memory instead of being stored, content outside the cache
//!   cancel    cancellation, and counters for a progress bar
//! ```
//!
//! A graph has three kinds of action. A [`Source`] reads bytes from outside the cache and identifies them by digest. A
//! [`Step`] is a pure function of the content of its inputs: its outputs are found by key, or computed. A [`Sink`]
//! updates a target outside the cache so that it agrees with its inputs. It can also check whether the target already
//! does.
//!
//! Values are opaque to this crate: a JSON body, such as a table's schema or a tree's listing, and the digests of the
//! objects that it refers to. The crate does not print, and it knows nothing about HTTP, SQL or file formats.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//! use prep_cache::Store;
//! use prep_core::{
//!     Action, Cancel, Context, Graph, Inputs, LastRuns, NullReporter, Outputs, RunLimits, RunOptions, Step, StepError,
//!     Value, resolve, run,
//! };
//!
//! struct Answer;
//!
//! impl Step for Answer {
//!     fn kind(&self) -> &'static str {
//!         "answer"
//!     }
//!     fn version(&self) -> u32 {
//!         1
//!     }
//!     fn params(&self) -> serde_json::Value {
//!         serde_json::Value::Null
//!     }
//!     fn run(&self, _: &Context, _: &Inputs) -> Result<Outputs, StepError> {
//!         Ok(Outputs::from([("number".to_owned(), Value::new(42.into(), Vec::new()))]))
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let directory = tempfile::tempdir()?;
//! let store = Store::open(&directory.path().join("store"))?;
//! let context = Context::new(store, RunLimits { jobs: 2, memory: 1 << 30 }, Cancel::default());
//! let mut graph = Graph::new();
//! let answer = graph.add("example", "answer", Action::Step(Box::new(Answer)), Vec::new())?;
//!
//! // Explains why steps run again. These runs leave no history.
//! let last = Arc::new(LastRuns::without_history());
//! let resolution = resolve(&graph, &context, &last)?;
//! assert!(resolution.work.contains_key(&answer), "it has never run");
//! let options = RunOptions { keep_going: true, oldest_first: false };
//! let graph = Arc::new(graph);
//! let report = run(graph.clone(), context.clone(), resolution, options, Arc::new(NullReporter))?;
//! assert!(report.outputs[&answer].contains_key("number"));
//!
//! let resolution = resolve(&graph, &context, &last)?;
//! assert!(resolution.work.is_empty(), "the result is found by its key");
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

mod context;
mod error;
mod graph;
mod resolve;
mod run;
mod transfer;

pub use context::memory::Claim;
pub use context::objects::{Location, OpenObjects, OutsideContent, Ranges};
pub use context::{Cancel, CancellableReader, Context, Progress, RunLimits};
pub use error::StepError;
pub use graph::value::{DirectoryFile, DirectoryValue, FileValue, KeyRecord, Value, canonical};
pub use graph::{
    Action, Graph, GraphError, Inputs, Node, NodeId, Outputs, Port, Sink, Source, SourceState, Step,
};
pub use prep_failure::{
    BoxError, Failure, Quoted, QuotedValue, Remedy, WithRemedy, causes, chain, is_system_fault,
    remedy, units,
};
pub use resolve::work::{
    Change, LastRun, LastRuns, LastSteps, MissingObject, NodeState, Reason, Resolution,
};
pub use resolve::{ResolveError, resolve};
pub use run::event::{Event, Figures, NullReporter, Reporter, StepOutcome, Timing, WaitTimes};
pub use run::{RunOptions, RunReport, run};
pub use transfer::{RateCheck, is_loopback};
