//! Executes a graph concurrently, within limits.
//!
//! A node starts when all nodes whose outputs it uses have ended. Each running node has a separate thread. Therefore
//! the scheduler, on the caller's thread, never waits for a disk, a remote or another process. The node's thread does the
//! following:
//!
//! 1. If the digests of the node's inputs were unknown before, it resolves the node again. If the ledger now has outputs
//!    for the node's key, the node ends without running (early cutoff).
//! 2. It takes the lock of the node's key (for a sink, the lock of its target), so that several processes never do the
//!    same work. If another process has the lock, the node is set aside and tried again later. While it is set aside,
//!    it occupies neither a job slot nor memory.
//! 3. It loads the inputs, claims memory, and runs the node's action.
//!
//! If the system cannot start a thread, the node waits until a running node has ended. If no node is running, the
//! scheduler runs the node on its own thread.
//!
//! Among the ready nodes, the node that became ready last starts first, so that one competition is completed before the
//! next one begins. If the end of a node makes several nodes ready, the node with the largest inputs starts first, because
//! otherwise a long step may run alone at the end.
//!
//! If a cached object turns out to be damaged or missing, the run does not fail. The graph is resolved again, which
//! finds the step that produces the object, and the run continues. A step that needs the object fails in two cases: the
//! object is missing again although the run has just created it, or the step has lost the object too often. A source whose
//! digest is known, but whose content is no longer available, is treated in the same way: it runs when a step needs the
//! content.
//!
//! If a node fails, the scheduler skips all nodes that depend on it. Without `keep_going`, no node starts after a failure,
//! and all remaining nodes are skipped. After a cancellation, running steps stop at their next check, and none of their
//! results becomes visible.

pub(crate) mod event;
mod execute;
mod scheduler;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, Scope};
use std::time::{Duration, Instant};

use prep_cache::{Digest, Permit, try_spawn_scoped};

use crate::graph::{Graph, NodeId};
use crate::resolve::{ResolveError, resolve};
use crate::{Context, Failure, Figures, LastRuns, Reporter, Resolution, StepError, StepOutcome};
use execute::{Task, TaskResult};
use scheduler::Scheduler;

/// Options of a run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Whether nodes that do not depend on a failed node still run.
    pub keep_going: bool,
    /// Whether the node that became ready first starts first. Otherwise, the node that became ready last does. Results do
    /// not depend on this order.
    pub oldest_first: bool,
}

/// How every node ended.
#[derive(Debug, Default)]
pub struct RunReport {
    /// The outcome of each node.
    pub outcomes: HashMap<NodeId, StepOutcome>,
    /// Digests of all known outputs.
    pub outputs: HashMap<NodeId, BTreeMap<String, Digest>>,
    /// Measurements of the nodes that ran.
    pub figures: HashMap<NodeId, Figures>,
    /// The errors of failed nodes. Their outcomes contain the same errors as text.
    pub errors: HashMap<NodeId, StepError>,
}

impl RunReport {
    /// Returns the nodes that failed, in no particular order.
    pub fn failures(&self) -> impl Iterator<Item = (NodeId, Failure, &str)> {
        self.outcomes
            .iter()
            .filter_map(|(id, outcome)| match outcome {
                StepOutcome::Failed { failure, message } => Some((*id, *failure, message.as_str())),
                _ => None,
            })
    }
}

struct RunShared {
    graph: Arc<Graph>,
    context: Context,
    reporter: Arc<dyn Reporter>,
    last: Arc<LastRuns>,
    began: Instant,
}

/// Pause between two attempts to take locks that other processes hold.
const LOCK_RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Stack of a node's thread in bytes. It is large because plans of long queries are processed recursively. Unused stack
/// takes no memory.
const STACK_BYTES: usize = 16 << 20;

/// Runs the work of `resolution`. Blocks until the run has ended.
///
/// # Errors
/// If the cache or the engine itself fails. The errors of nodes are part of the report instead.
pub fn run(
    graph: Arc<Graph>,
    context: Context,
    resolution: Resolution,
    options: RunOptions,
    reporter: Arc<dyn Reporter>,
) -> Result<RunReport, ResolveError> {
    let in_use = context.store.in_use()?;
    let context = context.with_lock(in_use);
    let shared = Arc::new(RunShared {
        graph,
        context,
        reporter,
        last: resolution.last.clone(),
        began: Instant::now(),
    });
    let scheduler = Scheduler::new(shared.clone(), &options, resolution);
    let driven = std::thread::scope(|scope| drive(scope, &shared, scheduler));
    let mut scheduler = driven?;
    scheduler.close();
    scheduler::record(&shared, &scheduler)?;
    Ok(scheduler.report)
}

/// Starts nodes and processes ended nodes until no remaining node can start.
fn drive<'scope>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Arc<RunShared>,
    mut scheduler: Scheduler,
) -> Result<Scheduler, ResolveError> {
    let jobs = shared.context.limits.jobs.max(1);
    let (ended, endings) = channel();
    let mut running = 0;
    loop {
        scheduler.stop |= shared.context.cancel.is_cancelled();
        while running < jobs && !scheduler.stop {
            let permit = shared.context.threads.try_take();
            // One node may run even without a permit, because the scheduler's own thread is idle while the node runs.
            if permit.is_none() && running > 0 {
                break;
            }
            let Some(task) = scheduler.next() else { break };
            match start(scope, shared, Box::new(task), permit, ended.clone()) {
                Ok(()) => running += 1,
                Err(task) if running > 0 => {
                    scheduler.queue.put_back(task.id);
                    break;
                }
                Err(task) => scheduler.process(task.execute(shared)),
            }
        }
        if scheduler.stop {
            scheduler.queue.drop_blocked();
        }
        let is_blocked = scheduler.queue.has_blocked();
        if running == 0 && !is_blocked {
            if !scheduler.needs_resolve || scheduler.stop {
                return Ok(scheduler);
            }
            let resolution = resolve(&shared.graph, &shared.context, &shared.last)?;
            scheduler = scheduler.resume(resolution);
            continue;
        }
        let ending = match is_blocked {
            true => endings.recv_timeout(LOCK_RETRY_PAUSE),
            false => endings.recv().map_err(RecvTimeoutError::from),
        };
        match ending {
            Ok(ending) => {
                running -= 1;
                scheduler.process(ending);
            }
            Err(_) => scheduler.queue.retry_blocked(),
        }
    }
}

/// Starts a thread for a node. Returns the task if the system cannot start a thread.
fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Arc<RunShared>,
    task: Box<Task>,
    permit: Option<Permit>,
    ended: Sender<TaskResult>,
) -> Result<(), Box<Task>> {
    let builder = Builder::new()
        .name("step".to_owned())
        .stack_size(STACK_BYTES);
    let thread = try_spawn_scoped(scope, builder, task, move |task: Box<Task>| {
        let ending = task.execute(shared);
        drop(permit);
        // This cannot fail: the scheduler receives the results of all nodes before it drops the channel.
        let _ = ended.send(ending);
    });
    thread.map(drop)
}
