//! The engine: a graph of steps, the keys that decide whether a step has to run, and the scheduler that runs them.
//!
//! ```text
//! graph     which steps there are and what feeds what (petgraph)
//! key       what a step's result depends on, as a stored record; its hash is the step's key
//! resolve   forward: keys and what the ledger knows; backward: what is needed (work) -> Resolution
//! reason    why a step runs: the comparison of two key records, field by field        last      what ran last time
//! run       executes a resolution side by side, within limits; every finished step resolves its successors anew
//! objects   opened objects in memory: shared, kept, and held in place of being stored
//! units     sizes and durations in messages
//! event     what happened, as data; progress bars, logs and JSON are readers of it
//! ```
//!
//! Three kinds of action stand in a graph. A [`Source`] brings bytes from outside and names them by digest. A
//! [`Step`] is a pure function of its inputs' content: its outputs are found again by key, or made. A [`Sink`] makes
//! the world outside the store agree with its inputs, and can tell whether it already does.
//!
//! Values are opaque here: a JSON body (a table's schema, a tree's listing) and the digests of the objects that it
//! refers to. This crate knows no terminal, no HTTP, no SQL and no file format.

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
