//! Executes a graph concurrently, within limits.
//!
//! A node starts when all nodes whose outputs it uses have ended. Each running node has a separate thread, which may wait
//! for a disk, a remote or another process. The scheduler runs on the caller's thread and never waits for these. The thread
//! of a node:
//!
//! 1. Resolves the node again, if its input digests were unknown before. If the ledger has outputs for its key, the node
//!    ends (early cutoff).
//! 2. Takes the lock of the node's key, or of a sink's target. If another process holds the lock, the node is tried again
//!    later. While it waits, it occupies no memory and no job slot.
//! 3. Loads the inputs, claims memory, and runs the node's action.
//!
//! # Order
//!
//! Among the ready nodes, the node that became ready last starts first, so that one competition ends before the next one
//! begins. Among nodes that become ready at the same time, the node with the largest inputs starts first. Otherwise, a long
//! step may run alone at the end.
//!
//! # Failures
//!
//! If an object of the cache is damaged or missing, the graph is resolved again, and the step that produces the object runs.
//! The same applies to the content of a source whose digest is known. But the step that needs the object fails if the
//! object was created since the last resolution, or if this is the fourth time that the step did not find the object.
//!
//! If a node fails, the scheduler skips the nodes that depend on it. Without `keep_going`, it skips all nodes that have not
//! started.
//!
//! After a cancellation, running steps stop at their next check, and their results are not stored.
//!
//! If the system cannot start a thread, the node waits for a running node to end. If no node is running, the node runs on
//! the scheduler's thread.

pub(crate) mod event;
mod execute;
mod histories;
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
    /// If true, the node that became ready first starts first. If false, the node that became ready last starts first.
    pub oldest_first: bool,
}

/// How every node ended.
#[derive(Debug, Default)]
pub struct RunReport {
    /// The outcome of each node.
    pub outcomes: HashMap<NodeId, StepOutcome>,
    /// For each sink that ended without an error: the key of the results that its target had then. Afterwards, another process
    /// may have changed the target.
    pub targets: HashMap<NodeId, Digest>,
    /// Digests of all known outputs.
    pub outputs: HashMap<NodeId, BTreeMap<String, Digest>>,
    /// Measurements of the nodes that ran.
    pub figures: HashMap<NodeId, Figures>,
    /// The errors of failed nodes.
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

/// Data that the scheduler and all nodes of a run share.
struct RunShared {
    graph: Arc<Graph>,
    context: Context,
    reporter: Arc<dyn Reporter>,
    last: Arc<LastRuns>,
    began: Instant,
}

/// Pause between two attempts to take the locks of blocked nodes.
const LOCK_RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Stack of a node's thread in bytes. Plans of long queries are processed recursively.
const STACK_BYTES: usize = 16 << 20;

/// Runs the work of `resolution`, and waits for its end. Errors of nodes are in the report.
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
    let states = scheduler.states.iter();
    let targets = states.filter_map(|(id, state)| Some((*id, state.target()?)));
    scheduler.report.targets = targets.collect();
    histories::record(&shared, &mut scheduler);
    Ok(scheduler.report)
}

/// Starts nodes and processes their results until no node is left that can run.
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
            // One node may run without a permit, because the scheduler's thread is idle while the node runs.
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

/// Executes the task on a new thread. Returns the task if the system cannot start a thread.
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
        // Does not fail, because the scheduler receives the results of all nodes before it drops the channel.
        let _ = ended.send(ending);
    });
    thread.map(drop)
}
