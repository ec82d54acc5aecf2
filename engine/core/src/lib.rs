//! The engine: a graph of steps, the keys that decide whether a step has to run, and the scheduler that runs them.
//!
//! ```text
//! graph     the steps and their connections (petgraph)
//! key       everything that a step's result depends on, as a stored record; its hash is the step's key
//! resolve   forward: keys and known results; backward: what has to run (work) -> Resolution
//! reason    why a step runs: two key records compared field by field        last      the last run of each step
//! run       executes a resolution concurrently, within limits; resolves each node when its inputs are known
//! objects   opened objects in memory: shared, kept, or held instead of being stored
//! units     sizes and durations in messages
//! event     events of a run, as data for progress bars, logs and JSON
//! ```
//!
//! A graph has three kinds of action. A [`Source`] reads bytes from outside and identifies them by digest. A [`Step`]
//! is a pure function of the content of its inputs: its outputs are found by key, or computed. A [`Sink`] updates
//! something outside the store so that it agrees with its inputs, and can tell whether it already does.
//!
//! Values are opaque to this crate: a JSON body (such as a table's schema or a tree's listing) and the digests of the
//! objects that it refers to. The crate contains no terminal output, HTTP, SQL or file formats.

mod action;
mod cancel;
mod context;
mod error;
mod event;
mod figures;
mod file;
mod graph;
mod key;
mod last;
mod loopback;
mod memory;
mod objects;
mod reason;
mod resolve;
mod run;
mod spread;
mod timings;
pub mod units;
mod value;
mod work;

pub use action::{Action, Inputs, Outputs, Sink, Source, SourceState, Step};
pub use cancel::{Cancel, Cancellable};
pub use context::{Context, Limits, Location, Progress, Ranges};
pub use error::StepError;
pub use event::{Event, NullReporter, Reporter, StepOutcome};
pub use figures::{Figures, Waited};
pub use file::{FileValue, FolderFile, FolderValue};
pub use graph::{Graph, GraphError, Node, NodeId, Port};
pub use key::{KeyRecord, canonical};
pub use last::{LastRun, LastRuns, LastSteps};
pub use loopback::is_loopback;
pub use memory::Claim;
pub use prep_failure::{BoxError, Failure, causes, chain};
pub use reason::{Change, Reason};
pub use resolve::{Missing, Resolution, ResolveError, State, resolve};
pub use run::{RunOptions, RunReport, run};
pub use timings::{Timing, write_trace};
pub use value::Value;
