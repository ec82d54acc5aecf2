//! Executing a graph side by side, within limits.
//!
//! A node starts when all nodes that feed it have ended. It is resolved again at that moment, since its inputs' digests
//! are known only then: if its key is found now, it ends without running (early cutoff). Otherwise it waits for a place
//! among the running steps and for its share of memory, takes the lock of its key, so that several processes never do
//! the same work twice, and runs on a blocking thread.
//!
//! A stored object that turns out to be damaged or gone is no failure: the graph is resolved again, which finds the step
//! that makes it, and the run goes on from there. Only an object that is lost a second time is one. It is the same with
//! a source whose content is known but not there any more: it runs when a step wants the bytes.
//!
//! A failure skips what depends on the failed node. Without `keep_going` nothing new starts after it. Cancelling lets
//! running steps stop at their next check; nothing of theirs becomes visible.

mod remember;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use prep_cache::{Digest, LedgerEntry};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::graph::{Graph, NodeId};
use crate::resolve::{LastRecords, ResolveError, State, resolve, resolve_node};
use crate::{
    Action, Context, Event, Failure, Inputs, KeyRecord, Progress, Reason, Reporter, Resolution,
    StepError, StepOutcome, Value, chain,
};

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

/// Memory is counted in these units, so that a semaphore's 32-bit permits reach far enough.
const MEMORY_UNIT: u64 = 1 << 20;

struct Shared {
    graph: Arc<Graph>,
    context: Context,
    reporter: Arc<dyn Reporter>,
    memory: Arc<Semaphore>,
    memory_units: u32,
    last: LastRecords,
}

struct Scheduler {
    shared: Arc<Shared>,
    states: HashMap<NodeId, State>,
    report: RunReport,
    /// Feeding nodes that have not ended yet.
    waiting: HashMap<NodeId, usize>,
    ready: Vec<NodeId>,
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

/// Runs what `resolution` found to be necessary.
pub async fn run(
    graph: Arc<Graph>,
    context: Context,
    resolution: Resolution,
    options: RunOptions,
    reporter: Arc<dyn Reporter>,
) -> Result<RunReport, ResolveError> {
    let _in_use = context.store.in_use()?;
    reporter.event(&Event::Started {
        steps: graph.len(),
        reused: graph.len() - resolution.work.len(),
    });
    let memory_units =
        u32::try_from((context.limits.memory / MEMORY_UNIT).max(1)).unwrap_or(u32::MAX >> 4);
    let shared = Arc::new(Shared {
        memory: Arc::new(Semaphore::new(memory_units as usize)),
        memory_units,
        graph,
        context,
        reporter,
        last: resolution.last.clone(),
    });
    let jobs = shared.context.limits.jobs.max(1);
    let mut scheduler = Scheduler::new(shared.clone(), resolution);
    let mut running: JoinSet<(NodeId, Result<Ended, StepError>)> = JoinSet::new();
    loop {
        if shared.context.cancel.is_cancelled() {
            scheduler.stop = true;
        }
        while running.len() < jobs && !scheduler.stop {
            let Some(id) = scheduler.next()? else { break };
            let shared = shared.clone();
            let state = scheduler.states.get(&id).cloned();
            let reason = scheduler.reason(id);
            scheduler.reasons.insert(id, reason.clone());
            let digests = scheduler.input_digests(id);
            running.spawn(async move { (id, execute(shared, id, state, reason, digests).await) });
        }
        let Some(joined) = running.join_next().await else {
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

/// What a node left behind.
enum Ended {
    Outputs {
        record: Option<KeyRecord>,
        outputs: BTreeMap<String, Digest>,
        ran: Option<u64>,
    },
    Sink {
        record: KeyRecord,
        ran: Option<u64>,
    },
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
            ready,
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
        next
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
                    missing: None,
                }) => {
                    self.ended(
                        id,
                        Ok(Ended::Outputs {
                            record,
                            outputs,
                            ran: None,
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

    fn reason(&self, id: NodeId) -> Reason {
        match self.states.get(&id) {
            Some(State::Stale { reason, .. }) => reason.clone(),
            Some(State::Known {
                missing: Some(object),
                ..
            }) => Reason::OutputMissing { object: *object },
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
            }) => {
                self.report.outputs.insert(id, outputs.clone());
                self.states.insert(
                    id,
                    State::Known {
                        record,
                        outputs,
                        missing: None,
                    },
                );
                ran.map_or(StepOutcome::Reused, |millis| StepOutcome::Done { millis })
            }
            Ok(Ended::Sink { record, ran }) => {
                self.states.insert(id, State::Current { record });
                ran.map_or(StepOutcome::Reused, |millis| StepOutcome::Done { millis })
            }
            Err(error) if error.failure() == Failure::Cancelled => StepOutcome::Cancelled,
            // It has not ended: it runs when the object is there again.
            Err(error) if self.note_lost(&error) => return,
            Err(error) => {
                self.stop |= !keep_going;
                StepOutcome::Failed {
                    failure: error.failure(),
                    message: chain(&error),
                }
            }
        };
        let well = matches!(outcome, StepOutcome::Done { .. } | StepOutcome::Reused);
        self.end(id, outcome);
        if !well {
            self.skip_users(id);
            return;
        }
        for user in self.shared.graph.users(id) {
            if let Some(count) = self.waiting.get_mut(&user) {
                *count -= 1;
                if *count == 0 && !self.report.outcomes.contains_key(&user) {
                    self.ready.push(user);
                }
            }
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

/// Runs one node: waits for memory, takes the key's lock, runs, records.
async fn execute(
    shared: Arc<Shared>,
    id: NodeId,
    state: Option<State>,
    reason: Reason,
    digests: BTreeMap<String, Digest>,
) -> Result<Ended, StepError> {
    let record = match state {
        Some(State::Stale { record, .. } | State::Known { record, .. }) => record,
        _ => None,
    };
    let mut inputs = Inputs::new();
    for (name, digest) in &digests {
        inputs.insert(name.clone(), Value::load(&shared.context.store, digest)?);
    }
    let units = match &shared.graph.node(id).action {
        Action::Step(step) => u32::try_from(step.memory(&inputs) / MEMORY_UNIT)
            .unwrap_or(u32::MAX)
            .clamp(1, shared.memory_units),
        _ => 1,
    };
    let Ok(_memory) = shared.memory.clone().acquire_many_owned(units).await else {
        return Err(StepError::Cancelled);
    };
    let work = shared.clone();
    let task =
        tokio::task::spawn_blocking(move || execute_blocking(&work, id, record, reason, &inputs));
    task.await
        .unwrap_or_else(|panic| Err(StepError::internal(panic_message(panic))))
}

fn execute_blocking(
    shared: &Shared,
    id: NodeId,
    record: Option<KeyRecord>,
    reason: Reason,
    inputs: &Inputs,
) -> Result<Ended, StepError> {
    let node = shared.graph.node(id);
    let progress = Arc::new(Progress::default());
    let context = shared.context.with_progress(progress.clone());
    context.check()?;
    let begin = || {
        shared.reporter.event(&Event::StepStarted {
            competition: node.competition.clone(),
            step: node.name.clone(),
            kind: node.action.kind(),
            reason,
            progress,
        });
        Instant::now()
    };
    match (&node.action, record) {
        (Action::Source(source), _) => {
            let started = begin();
            let digest = source.run(&context)?.save(&context.store)?;
            let outputs = BTreeMap::from([("value".to_owned(), digest)]);
            Ok(Ended::Outputs {
                record: None,
                outputs,
                ran: Some(millis(started)),
            })
        }
        (Action::Step(step), Some(record)) => {
            let key = record.key();
            let _lock = context.store.lock(&format!("step-{key}"))?;
            if let Some(entry) = context.store.lookup(&key)?
                && context.store.missing(&entry).is_empty()
            {
                return Ok(Ended::Outputs {
                    record: Some(record),
                    outputs: entry.outputs,
                    ran: None,
                });
            }
            let started = begin();
            let values = step.run(&context, inputs)?;
            let mut outputs = BTreeMap::new();
            let mut references = Vec::new();
            for (name, value) in values {
                references.extend(&value.objects);
                outputs.insert(name, value.save(&context.store)?);
            }
            references.sort();
            references.dedup();
            let ran = millis(started);
            let entry = LedgerEntry {
                record: record.to_json(),
                outputs: outputs.clone(),
                references,
                created: unix_seconds(),
                millis: ran,
            };
            context.store.record(&key, &entry)?;
            Ok(Ended::Outputs {
                record: Some(record),
                outputs,
                ran: Some(ran),
            })
        }
        (Action::Sink(sink), Some(record)) => {
            let started = begin();
            sink.run(&context, &record.key(), inputs)?;
            Ok(Ended::Sink {
                record,
                ran: Some(millis(started)),
            })
        }
        (_, None) => Err(StepError::internal(
            "a step was started before its inputs were known",
        )),
    }
}

fn millis(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

fn panic_message(error: tokio::task::JoinError) -> String {
    match error.try_into_panic() {
        Ok(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            format!(
                "a step panicked: {}",
                text.unwrap_or_else(|| "no message".into())
            )
        }
        Err(error) => error.to_string(),
    }
}
