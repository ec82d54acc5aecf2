//! The engine: a graph of steps, the keys that decide whether a step has to run, and the scheduler that runs them.
//!
//! ```text
//! graph       the graph (petgraph) of sources, steps and sinks
//!   value       the data that flow between steps; key records and keys
//! resolve     the state of each node, determined without running a step
//!   work        the nodes that have to run, and why; the last publication of each step
//!   causes      what changed since the last publication
//! run         runs the nodes of a resolution concurrently, within limits
//!   scheduler   chooses the next node; records the history
//!   execute     one node: lock, inputs, memory, run, result
//!   event       events of a run, as data for progress bars, logs and JSON
//! context     the services that a step may use: cache, threads, cancellation, progress counters
//!   memory      the memory budget
//!   objects     open objects, results that are only in memory, content outside the cache
//! transfer    the minimum rate of downloads; which hosts are this machine
//! ```
//!
//! A node of the graph has one of three kinds of action:
//! - A [`Source`] reads bytes from outside the cache and identifies them by digest.
//! - A [`Step`] is a pure function of the content of its inputs. Its outputs are found by key, or computed.
//! - A [`Sink`] updates a target outside the cache, such as a directory. It can also check whether the target is up to date.
//!
//! This crate does not interpret the content of values. It does not print, and has no code for HTTP, SQL or file formats.
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
//! // The last runs explain why a step runs again. In this example, runs leave no history.
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
pub use resolve::causes::{CONTENT, Cause, Publication};
pub use resolve::work::{
    Absence, Change, LastRun, LastRuns, LastSteps, MissingObject, NodeState, Reason, Resolution,
};
pub use resolve::{NodeError, ResolveError, resolve};
pub use run::event::{Event, Figures, NullReporter, Reporter, StepOutcome, Timing, WaitTimes};
pub use run::{RunOptions, RunReport, run};
pub use transfer::{RateCheck, is_loopback};
