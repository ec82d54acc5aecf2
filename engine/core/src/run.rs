//! Executing a graph side by side, within limits.
//!
//! A node starts when all nodes that feed it have ended. It is resolved again at that moment, since its inputs' digests
//! are known only then: if its key is found now, it ends without running (early cutoff). Otherwise it waits for a place
//! among the running steps, takes the lock of its key (a sink: of what it looks after), so that several processes never
//! do the same work twice, waits for its share of memory, and runs on a blocking thread. A node whose lock another
//! process has is set aside, without place and memory, and tried again; others run meanwhile.
//!
//! Who became ready last begins first, so that a competition is done before the next one begins. Of nodes that the end of
//! one node makes ready, the one with the most bytes in its inputs begins first: what takes long should not be left over,
//! to run alone at the end.
//!
//! A stored object that turns out to be damaged or gone is no failure: the graph is resolved again, which finds the step
//! that makes it, and the run goes on from there. Only an object that is lost a second time is one. It is the same with
//! a source whose content is known but not there any more: it runs when a step wants the bytes.
//!
//! A failure skips what depends on the failed node. Without `keep_going` nothing new starts after it. Cancelling lets
//! running steps stop at their next check; nothing of theirs becomes visible.

mod execute;
mod holding;
mod remember;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use prep_cache::Digest;
use tokio::task::JoinSet;

use crate::figures::millis;
use crate::graph::{Graph, NodeId};
use crate::held::Held;
use crate::resolve::{ResolveError, State, resolve, resolve_node};
use crate::{
    Context, Event, Failure, Figures, LastRuns, Missing, Reason, Reporter, Resolution, StepError,
    StepOutcome, Value, Waited, chain,
};
use execute::{Ended, Task};
use holding::Holding;

#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Go on with what does not depend on a failed step.
    pub keep_going: bool,
    /// Variant under which the history is kept.
    pub variant: String,
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

struct Scheduler {
    shared: Arc<Shared>,
    states: HashMap<NodeId, State>,
    report: RunReport,
    /// Feeding nodes that have not ended yet.
    waiting: HashMap<NodeId, usize>,
    ready: Vec<NodeId>,
    /// Nodes that another process is about just now.
    blocked: Vec<NodeId>,
    /// When a node became ready, and when its lock was first found taken.
    ready_since: HashMap<NodeId, Instant>,
    blocked_since: HashMap<NodeId, Instant>,
    /// Results in memory that steps may want.
    holding: Holding,
    /// Why the nodes that started did.
    reasons: HashMap<NodeId, Reason>,
    stop: bool,
    /// Objects that were needed and found damaged or gone, and in which look at the graph.
    lost: HashMap<Digest, usize>,
    /// How often the graph was looked at again.
    looks: usize,
    /// The last of them is to be made again.
    again: bool,
}

/// Between two looks at what another process holds.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs what `resolution` found to be necessary.
pub async fn run(
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
    let jobs = shared.context.limits.jobs.max(1);
    let mut scheduler = Scheduler::new(shared.clone(), resolution);
    let mut running: JoinSet<(NodeId, Result<Ended, StepError>)> = JoinSet::new();
    loop {
        if shared.context.cancel.is_cancelled() {
            scheduler.stop = true;
        }
        while running.len() < jobs && !scheduler.stop {
            let Some(thread) = shared.context.threads.try_take() else {
                break;
            };
            let Some(id) = scheduler.next()? else { break };
            match scheduler.begin(id) {
                Ok(Some(task)) => {
                    let shared = shared.clone();
                    running.spawn(async move { (id, task.execute(shared, thread).await) });
                }
                Ok(None) => {}
                Err(error) => scheduler.ended(id, Err(error), options.keep_going),
            }
        }
        if scheduler.stop {
            scheduler.blocked.clear();
        }
        let joined = if scheduler.blocked.is_empty() {
            running.join_next().await
        } else {
            tokio::select! {
                Some(joined) = running.join_next() => Some(joined),
                () = tokio::time::sleep(PAUSE) => {
                    scheduler.try_blocked_again();
                    continue;
                }
            }
        };
        let Some(joined) = joined else {
            if !scheduler.again || scheduler.stop {
                break;
            }
            let resolution = resolve(&shared.graph, &shared.context, &options.variant)?;
            scheduler = scheduler.resume(resolution);
            continue;
        };
        let (id, result) = joined.map_err(|panic| ResolveError::Step {
            step: "scheduler".into(),
            cause: StepError::internal(panic.to_string()),
        })?;
        scheduler.ended(id, result, options.keep_going);
    }
    scheduler.close();
    remember::remember(&shared, &scheduler, &options.variant)?;
    shared.reporter.event(&Event::Finished);
    Ok(scheduler.report)
}

impl Scheduler {
    fn new(shared: Arc<Shared>, resolution: Resolution) -> Scheduler {
        let mut report = RunReport::default();
        for (id, state) in &resolution.states {
            if resolution.work.contains_key(id) {
                continue;
            }
            report.outcomes.insert(*id, StepOutcome::Reused);
            if let State::Known { outputs, .. } = state {
                report.outputs.insert(*id, outputs.clone());
            }
        }
        let mut waiting = HashMap::new();
        let mut ready = Vec::new();
        for id in resolution.order.iter().rev() {
            if !resolution.work.contains_key(id) {
                continue;
            }
            let feeding: HashSet<NodeId> = shared
                .graph
                .inputs(*id)
                .into_iter()
                .map(|(_, port)| port.node)
                .filter(|node| resolution.work.contains_key(node))
                .collect();
            if feeding.is_empty() {
                ready.push(*id);
            }
            waiting.insert(*id, feeding.len());
        }
        Scheduler {
            shared,
            states: resolution.states,
            report,
            waiting,
            ready_since: ready.iter().map(|id| (*id, Instant::now())).collect(),
            ready,
            blocked: Vec::new(),
            blocked_since: HashMap::new(),
            holding: Holding::default(),
            reasons: HashMap::new(),
            stop: false,
            lost: HashMap::new(),
            looks: 0,
            again: false,
        }
    }

    /// The same run after another look at what there is: what ended stays ended, but for results that were lost.
    fn resume(self, resolution: Resolution) -> Scheduler {
        let mut next = Scheduler::new(self.shared, resolution);
        next.lost = self.lost;
        next.looks = self.looks + 1;
        next.reasons = self.reasons;
        next.report.figures = self.report.figures;
        next.report.errors = self.report.errors;
        next.holding = self.holding;
        for (id, outcome) in self.report.outcomes {
            let ended = match outcome {
                StepOutcome::Done { .. } => next.report.outcomes.contains_key(&id),
                StepOutcome::Reused => false,
                StepOutcome::Failed { .. }
                | StepOutcome::Skipped { .. }
                | StepOutcome::Cancelled => true,
            };
            if ended {
                next.report.outcomes.insert(id, outcome);
            }
        }
        let outcomes = &next.report.outcomes;
        next.ready.retain(|id| !outcomes.contains_key(id));
        next.hold_on();
        next
    }

    /// What is held goes on to the nodes that have not ended, also by way of those that are known by now.
    fn hold_on(&mut self) {
        if self.holding.is_empty() {
            return;
        }
        for (id, outputs) in &self.report.outputs {
            self.holding.give(
                Vec::new(),
                &self.objects_of(outputs.values().copied()),
                &self.open_users(*id),
            );
        }
        let outcomes = &self.report.outcomes;
        self.holding.retain(|id| !outcomes.contains_key(&id));
    }

    /// Notes an object that a step could not do without. False when it was lost before the last look at the graph:
    /// making it again does not help.
    fn note_lost(&mut self, error: &StepError) -> bool {
        let Some(object) = error.lost_object() else {
            return false;
        };
        self.shared.context.set_lost(object);
        // Steps that run side by side may lose the same one.
        let first = *self.lost.entry(object).or_insert(self.looks) == self.looks;
        self.again |= first;
        first
    }

    /// Takes the next node that can start, resolving it on the way; nodes that turn out to be known end here.
    fn next(&mut self) -> Result<Option<NodeId>, ResolveError> {
        while let Some(id) = self.ready.pop() {
            if !matches!(self.states.get(&id), Some(State::Pending { .. })) {
                return Ok(Some(id));
            }
            let shared = self.shared.clone();
            let resolved = resolve_node(
                &shared.graph,
                &shared.context,
                id,
                &self.states,
                &shared.last,
            );
            match resolved {
                Ok(State::Known {
                    record,
                    outputs,
                    missing,
                }) if missing.is_empty() => {
                    self.ended(
                        id,
                        Ok(Ended::Outputs {
                            record,
                            outputs,
                            ran: None,
                            held: Vec::new(),
                        }),
                        true,
                    );
                }
                Ok(State::Current { record }) => {
                    self.ended(id, Ok(Ended::Sink { record, ran: None }), true)
                }
                Ok(state) => {
                    self.states.insert(id, state);
                    return Ok(Some(id));
                }
                Err(cause) => self.ended(id, Err(cause), true),
            }
        }
        Ok(None)
    }

    /// Takes what the node needs for itself alone, and makes it ready to run. None when another process has it.
    fn begin(&mut self, id: NodeId) -> Result<Option<Task>, StepError> {
        let state = self.states.get(&id).cloned();
        let record = match state {
            Some(State::Stale { record, .. } | State::Known { record, .. }) => record,
            _ => None,
        };
        let now = Instant::now();
        let Some(lock) = execute::try_lock(&self.shared, id, record.as_ref())? else {
            self.blocked.push(id);
            self.blocked_since.entry(id).or_insert(now);
            return Ok(None);
        };
        let since = |times: &HashMap<NodeId, Instant>| times.get(&id).copied();
        let blocked = since(&self.blocked_since);
        let ready = since(&self.ready_since).unwrap_or(now);
        let waited = Waited {
            turn: millis(blocked.unwrap_or(now) - ready),
            lock: millis(now - blocked.unwrap_or(now)),
            memory: 0,
        };
        let reason = self.reason(id);
        self.reasons.insert(id, reason.clone());
        Ok(Some(Task {
            id,
            record,
            reason,
            digests: self.input_digests(id),
            lock: lock.map(Arc::new),
            waited,
        }))
    }

    /// Looks once more at what other processes were about.
    fn try_blocked_again(&mut self) {
        self.ready.extend(self.blocked.drain(..).rev());
    }

    fn reason(&self, id: NodeId) -> Reason {
        match self.states.get(&id) {
            Some(State::Stale { reason, .. }) => reason.clone(),
            Some(State::Known { missing, .. }) => {
                missing.first().map_or(Reason::FirstRun, Missing::reason)
            }
            _ => Reason::FirstRun,
        }
    }

    fn input_digests(&self, id: NodeId) -> BTreeMap<String, Digest> {
        let mut digests = BTreeMap::new();
        for (name, port) in self.shared.graph.inputs(id) {
            if let Some(digest) = self
                .report
                .outputs
                .get(&port.node)
                .and_then(|outputs| outputs.get(&port.output))
            {
                digests.insert(name, *digest);
            }
        }
        digests
    }

    fn ended(&mut self, id: NodeId, result: Result<Ended, StepError>, keep_going: bool) {
        let outcome = match result {
            Ok(Ended::Outputs {
                record,
                outputs,
                ran,
                held,
            }) => {
                self.hold(id, held, &outputs);
                self.report.outputs.insert(id, outputs.clone());
                self.states.insert(
                    id,
                    State::Known {
                        record,
                        outputs,
                        missing: Vec::new(),
                    },
                );
                self.done(id, ran)
            }
            Ok(Ended::Sink { record, ran }) => {
                self.states.insert(id, State::Current { record });
                self.done(id, ran)
            }
            Err(error) if error.failure() == Failure::Cancelled => StepOutcome::Cancelled,
            // It has not ended: it runs when the object is there again.
            Err(error) if self.note_lost(&error) => return,
            Err(error) => {
                self.stop |= !keep_going;
                let outcome = StepOutcome::Failed {
                    failure: error.failure(),
                    message: chain(&error),
                };
                self.report.errors.insert(id, error);
                outcome
            }
        };
        let well = matches!(outcome, StepOutcome::Done { .. } | StepOutcome::Reused);
        self.end(id, outcome);
        if !well {
            self.skip_users(id);
            return;
        }
        let mut ready = Vec::new();
        for user in self.shared.graph.users(id) {
            if let Some(count) = self.waiting.get_mut(&user) {
                *count -= 1;
                if *count == 0 && !self.report.outcomes.contains_key(&user) {
                    ready.push(user);
                }
            }
        }
        if ready.len() > 1 {
            // The last one begins first.
            ready.sort_by_cached_key(|user| self.bytes_given(*user));
        }
        let now = Instant::now();
        let since = ready.iter().map(|user| (*user, now));
        self.ready_since.extend(since);
        self.ready.append(&mut ready);
    }

    /// Objects in memory are there for who is given them, also by a step that only passes them on.
    fn hold(&mut self, id: NodeId, held: Vec<Arc<Held>>, outputs: &BTreeMap<String, Digest>) {
        if held.is_empty() && self.holding.is_empty() {
            return;
        }
        let objects = self.objects_of(outputs.values().copied());
        let users = self.open_users(id);
        self.holding.give(held, &objects, &users);
    }

    /// The users of a node that have not ended.
    fn open_users(&self, id: NodeId) -> HashSet<NodeId> {
        let users = self.shared.graph.users(id).into_iter();
        users
            .filter(|user| !self.report.outcomes.contains_key(user))
            .collect()
    }

    /// The objects that values refer to.
    fn objects_of(&self, values: impl Iterator<Item = Digest>) -> BTreeSet<Digest> {
        let store = &self.shared.context.store;
        let values = values.filter_map(|digest| Value::load(store, &digest).ok());
        values.flat_map(|value| value.objects).collect()
    }

    /// Bytes of the objects that the inputs of a node refer to.
    fn bytes_given(&self, id: NodeId) -> u64 {
        let objects = self.objects_of(self.input_digests(id).into_values());
        let objects = objects.iter();
        objects
            .filter_map(|object| self.shared.context.len_of(object))
            .sum()
    }

    fn done(&mut self, id: NodeId, ran: Option<Figures>) -> StepOutcome {
        let Some(figures) = ran else {
            return StepOutcome::Reused;
        };
        self.report.figures.insert(id, figures);
        StepOutcome::Done {
            millis: figures.wall,
        }
    }

    fn end(&mut self, id: NodeId, outcome: StepOutcome) {
        let node = self.shared.graph.node(id);
        self.shared.reporter.event(&Event::StepEnded {
            competition: node.competition.clone(),
            step: node.name.clone(),
            kind: node.action.kind(),
            outcome: outcome.clone(),
        });
        self.report.outcomes.insert(id, outcome);
        self.holding.retain(|user| user != id);
    }

    fn skip_users(&mut self, id: NodeId) {
        let because = self.shared.graph.node(id).name.clone();
        let mut stack = self.shared.graph.users(id);
        while let Some(user) = stack.pop() {
            if self.waiting.contains_key(&user) && !self.report.outcomes.contains_key(&user) {
                self.end(
                    user,
                    StepOutcome::Skipped {
                        because: because.clone(),
                    },
                );
                stack.extend(self.shared.graph.users(user));
            }
        }
    }

    /// Ends what never started.
    fn close(&mut self) {
        let open: Vec<NodeId> = self
            .waiting
            .keys()
            .filter(|id| !self.report.outcomes.contains_key(id))
            .copied()
            .collect();
        for id in open {
            self.end(id, StepOutcome::Cancelled);
        }
    }
}
