//! Executing a graph side by side, within limits.
//!
//! A node starts when all nodes that feed it have ended. Each running node has a thread, so the thread of the caller, on
//! which the scheduler runs, never waits for a disk, a remote or another process. The node's thread resolves the node
//! again, since its inputs' digests are known only then: if its key is found now, it ends without running (early cutoff).
//! Otherwise it takes the lock of its key (a sink: of what it looks after), so that several processes never do the same
//! work twice, loads the inputs, waits for its share of memory, and runs. A node whose lock another process has is set
//! aside, without place and memory, and tried again; others run meanwhile.
//!
//! If the system starts no further thread, the node waits until a running one has ended. If none runs, the scheduler runs
//! it on its own thread.
//!
//! Who became ready last begins first, so that a competition is done before the next one begins. Of nodes that the end of
//! one node makes ready, the one with the most bytes in its inputs begins first: what takes long should not be left over,
//! to run alone at the end.
//!
//! A stored object that turns out to be damaged or gone is no failure: the graph is resolved again, which finds the step
//! that makes it, and the run goes on from there. Only an object that is lost a second time is one. It is the same with
//! a source whose content is known but not there any more: it runs when a step wants the bytes.
//!
//! A failure skips what depends on the failed node. Without `keep_going` nothing new starts after it, and what is left is
//! skipped. Cancelling lets running steps stop at their next check; nothing of theirs becomes visible.

mod execute;
mod holding;
mod remember;
mod scheduler;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, Scope};
use std::time::{Duration, Instant};

use prep_cache::{Digest, Permit, start_scoped};

use crate::graph::{Graph, NodeId};
use crate::resolve::{ResolveError, resolve};
use crate::{
    Context, Event, Failure, Figures, LastRuns, Reporter, Resolution, StepError, StepOutcome,
};
use execute::{Ending, Task};
use scheduler::Scheduler;

#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Go on with what does not depend on a failed step.
    pub keep_going: bool,
    /// Variant under which the history is kept.
    pub variant: String,
    /// The node that became ready first begins first, instead of the last one. Results do not depend on it.
    pub oldest_first: bool,
}

/// How every node ended.
#[derive(Debug, Default)]
pub struct RunReport {
    pub outcomes: HashMap<NodeId, StepOutcome>,
    /// Identities of all known outputs.
    pub outputs: HashMap<NodeId, BTreeMap<String, Digest>>,
    /// What the nodes took that ran.
    pub figures: HashMap<NodeId, Figures>,
    /// Why nodes failed: what their outcomes say as text.
    pub errors: HashMap<NodeId, StepError>,
}

impl RunReport {
    /// Nodes that failed, in no particular order.
    pub fn failures(&self) -> impl Iterator<Item = (NodeId, Failure, &str)> {
        self.outcomes
            .iter()
            .filter_map(|(id, outcome)| match outcome {
                StepOutcome::Failed { failure, message } => Some((*id, *failure, message.as_str())),
                _ => None,
            })
    }
}

struct Shared {
    graph: Arc<Graph>,
    context: Context,
    reporter: Arc<dyn Reporter>,
    last: Arc<LastRuns>,
    began: Instant,
}

/// Between two looks at what another process holds.
const PAUSE: Duration = Duration::from_millis(50);

/// Stack of a node's thread, in bytes: plans of long queries are walked by recursion. What is not used costs nothing.
const STACK_BYTES: usize = 16 << 20;

/// Runs what `resolution` found to be necessary. Blocks until all is done.
///
/// # Errors
/// When the store or the engine itself fails; how single nodes ended is in the report.
pub fn run(
    graph: Arc<Graph>,
    context: Context,
    resolution: Resolution,
    options: RunOptions,
    reporter: Arc<dyn Reporter>,
) -> Result<RunReport, ResolveError> {
    let in_use = context.store.in_use()?;
    let context = context.with_lock(in_use);
    reporter.event(&Event::Started {
        steps: graph.len(),
        reused: graph.len() - resolution.work.len(),
    });
    let shared = Arc::new(Shared {
        graph,
        context,
        reporter,
        last: resolution.last.clone(),
        began: Instant::now(),
    });
    let scheduler = Scheduler::new(shared.clone(), &options, resolution);
    let variant = &options.variant;
    let driven = std::thread::scope(|scope| drive(scope, &shared, scheduler, variant));
    let mut scheduler = driven?;
    scheduler.close();
    remember::remember(&shared, &scheduler, variant)?;
    shared.reporter.event(&Event::Finished);
    Ok(scheduler.report)
}

/// Starts nodes and takes their ends, until nothing is left that can start.
fn drive<'scope>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Arc<Shared>,
    mut scheduler: Scheduler,
    variant: &str,
) -> Result<Scheduler, ResolveError> {
    let jobs = shared.context.limits.jobs.max(1);
    let (ended, endings) = channel();
    let mut running = 0;
    loop {
        scheduler.stop |= shared.context.cancel.is_cancelled();
        while running < jobs && !scheduler.stop {
            let permit = shared.context.threads.try_take();
            // Without a permit one node runs nevertheless: the scheduler's own thread has nothing to do meanwhile.
            if permit.is_none() && running > 0 {
                break;
            }
            let Some(task) = scheduler.next() else { break };
            match start(scope, shared, Box::new(task), permit, ended.clone()) {
                Ok(()) => running += 1,
                Err(task) if running > 0 => {
                    scheduler.put_back(task.id);
                    break;
                }
                Err(task) => scheduler.take(task.execute(shared)),
            }
        }
        if scheduler.stop {
            scheduler.blocked.clear();
        }
        let is_blocked = !scheduler.blocked.is_empty();
        if running == 0 && !is_blocked {
            if !scheduler.again || scheduler.stop {
                return Ok(scheduler);
            }
            let resolution = resolve(&shared.graph, &shared.context, variant)?;
            scheduler = scheduler.resume(resolution);
            continue;
        }
        let ending = match is_blocked {
            true => endings.recv_timeout(PAUSE),
            false => endings.recv().map_err(RecvTimeoutError::from),
        };
        match ending {
            Ok(ending) => {
                running -= 1;
                scheduler.take(ending);
            }
            Err(_) => scheduler.try_blocked_again(),
        }
    }
}

/// Starts a thread for a node. Gives the node back if the system has no thread.
fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Arc<Shared>,
    task: Box<Task>,
    permit: Option<Permit>,
    ended: Sender<Ending>,
) -> Result<(), Box<Task>> {
    let builder = Builder::new()
        .name("step".to_owned())
        .stack_size(STACK_BYTES);
    let thread = start_scoped(scope, builder, task, move |task: Box<Task>| {
        let ending = task.execute(shared);
        drop(permit);
        // The scheduler takes all ends before it goes.
        let _ = ended.send(ending);
    });
    thread.map(drop)
}
