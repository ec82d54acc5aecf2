//! Runs one node on its thread, and keeps the queue of nodes that have not started.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use prep_cache::{
    Digest, LedgerEntry, LockGuard, Offer, StepResult, StoreError, Usage, create_directory,
    describe_holder, try_lock_at, unix_seconds,
};

use super::RunShared;
use super::event::millis;
use crate::context::memory::StepClaim;
use crate::context::objects::MemoryResult;
use crate::graph::NodeId;
use crate::resolve::resolve_with;
use crate::resolve::work::{MissingObject, NodeState};
use crate::{
    Action, Context, Event, Figures, Inputs, KeyRecord, Outputs, Progress, Reason, Remedy, Step,
    StepError, Value, WaitTimes, WithRemedy,
};

/// Memory claim of a source in bytes. Sources read in chunks.
const SOURCE_MEMORY_BYTES: u64 = 16 << 20;

/// A node that can start.
pub(super) struct Task {
    pub id: NodeId,
    /// The state before this run, as far as it is known.
    pub state: Option<NodeState>,
    /// If the node waits only for missing objects that it passes on: these objects.
    pub passed_on: Option<BTreeSet<MissingObject>>,
    /// Digests of the inputs by name.
    pub digests: BTreeMap<String, Digest>,
    pub waits: WaitStart,
}

pub(super) struct TaskResult {
    pub id: NodeId,
    /// State before the run. `None` if the node did not run, or if its state could not be determined.
    pub state: Option<NodeState>,
    /// `Ok(None)` if another process holds the node's lock.
    pub result: Result<Option<NodeResult>, StepError>,
}

/// The result of a node that did not fail. `ran` is `None` if the node was up to date.
pub(super) enum NodeResult {
    Outputs {
        record: Option<KeyRecord>,
        outputs: BTreeMap<String, Digest>,
        objects: Vec<Digest>,
        ran: Option<Figures>,
        held: Vec<Arc<MemoryResult>>,
    },
    Sink {
        record: KeyRecord,
        ran: Option<Figures>,
    },
}

impl NodeResult {
    fn from_entry(record: KeyRecord, entry: StepResult) -> NodeResult {
        NodeResult::Outputs {
            record: Some(record),
            outputs: entry.outputs,
            objects: [entry.references, entry.unstored].concat(),
            ran: None,
            held: Vec::new(),
        }
    }
}

enum NodeLock {
    /// `None` if the node needs no lock.
    Taken(Option<LockGuard>),
    /// Another process holds the lock. Contains the description of this process, if the system knows it.
    Held(Option<String>),
}

/// Takes the lock of a node.
fn try_lock(
    shared: &RunShared,
    id: NodeId,
    record: Option<&KeyRecord>,
) -> Result<NodeLock, StepError> {
    let (lock, holder) = match (&shared.graph.node(id).action, record) {
        (Action::Step(_), Some(record)) => {
            let (store, name) = (&shared.context.store, format!("step-{}", record.key()));
            let lock = store.try_lock(&name)?;
            let holder = lock.is_none().then(|| store.holder(&name));
            (lock, holder)
        }
        (Action::Sink(sink), _) => match sink.lock() {
            None => return Ok(NodeLock::Taken(None)),
            Some(path) => {
                if let Some(directory) = path.parent() {
                    create_directory(directory).map_err(|cause| {
                        let path = directory.to_owned();
                        StoreError::Io {
                            action: "create the directory",
                            path,
                            cause,
                        }
                    })?;
                }
                let lock = try_lock_at(&path)?;
                let holder = lock.is_none().then(|| describe_holder(&path));
                (lock, holder)
            }
        },
        _ => return Ok(NodeLock::Taken(None)),
    };
    Ok(match lock {
        Some(lock) => NodeLock::Taken(Some(lock)),
        None => NodeLock::Held(holder.flatten()),
    })
}

impl Task {
    /// Runs the node on this thread, if it has to run.
    pub fn execute(self, shared: &RunShared) -> TaskResult {
        let id = self.id;
        let mut state = None;
        let work = AssertUnwindSafe(|| self.work(shared, &mut state));
        let result = catch_unwind(work).unwrap_or_else(|panic| Err(panic_error(panic.as_ref())));
        TaskResult { id, state, result }
    }

    /// Returns whether a running node needs one of the `missing` objects of this node.
    fn needs(&self, missing: &[MissingObject]) -> bool {
        match &self.passed_on {
            Some(needed) => missing.iter().any(|one| needed.contains(one)),
            None => !missing.is_empty(),
        }
    }

    /// Runs the node if it has to run. Before that, sets `state_before` to the node's state. Returns `Ok(None)` if
    /// another process holds the node's lock.
    fn work(
        self,
        shared: &RunShared,
        state_before: &mut Option<NodeState>,
    ) -> Result<Option<NodeResult>, StepError> {
        let state = match self.state.clone() {
            Some(state) if !matches!(state, NodeState::Pending { .. }) => state,
            _ => {
                let inputs = self.digests.clone();
                let resolved = resolve_with(
                    &shared.graph,
                    &shared.context,
                    self.id,
                    inputs,
                    &shared.last,
                )?;
                match resolved {
                    NodeState::Known {
                        record,
                        outputs,
                        objects,
                        missing,
                    } if !self.needs(&missing) => {
                        return Ok(Some(NodeResult::Outputs {
                            record,
                            outputs,
                            objects,
                            ran: None,
                            held: Vec::new(),
                        }));
                    }
                    NodeState::Current { record } => {
                        return Ok(Some(NodeResult::Sink { record, ran: None }));
                    }
                    state => state,
                }
            }
        };
        let record = match &state {
            NodeState::Stale { record, .. } | NodeState::Known { record, .. } => record.clone(),
            _ => None,
        };
        let reason = state.reason();
        *state_before = Some(state);
        let lock = match try_lock(shared, self.id, record.as_ref())? {
            NodeLock::Taken(lock) => lock,
            NodeLock::Held(holder) => {
                if self.waits.blocked.is_none() {
                    let node = shared.graph.node(self.id);
                    shared.reporter.event(&Event::StepWaiting {
                        competition: node.competition.clone(),
                        step: node.name.clone(),
                        holder,
                    });
                }
                return Ok(None);
            }
        };
        let now = Instant::now();
        let blocked = self.waits.blocked.unwrap_or(now);
        let mut waited = WaitTimes {
            turn: millis(blocked - self.waits.ready),
            lock: millis(now - blocked),
            memory: 0,
        };
        let (inputs, bytes) = load(shared, self.id, &self.digests)?;
        let memory = shared.context.memory.with_own_counter();
        let requested_at = Instant::now();
        let claim = StepClaim::new(memory.claim(bytes));
        waited.memory = millis(requested_at.elapsed());
        let progress = Arc::new(Progress::default());
        let context =
            shared
                .context
                .for_step(progress, (memory, claim.clone()), lock.map(Arc::new));
        let prepared = PreparedTask {
            id: self.id,
            record,
            reason,
            waited,
        };
        let ended = prepared.run(shared, &context, &inputs);
        claim.release();
        ended.map(Some)
    }
}

/// Runs a step. If its memory did not suffice, claims all memory and runs the step again.
fn run_step(step: &dyn Step, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
    match step.run(context, inputs) {
        Err(error)
            if matches!(error.remedy(), Some(Remedy::RaiseMemory))
                && context.claim.extend_to_all(&context.memory) =>
        {
            step.run(context, inputs)
        }
        outcome => outcome,
    }
}

/// Loads the input values of a node. Also returns the memory to claim, in bytes.
fn load(
    shared: &RunShared,
    id: NodeId,
    digests: &BTreeMap<String, Digest>,
) -> Result<(Inputs, u64), StepError> {
    let mut inputs = Inputs::new();
    for (name, digest) in digests {
        let value = Value::load(&shared.context.store, digest)?;
        inputs.insert(name.clone(), value);
    }
    let bytes = match &shared.graph.node(id).action {
        Action::Source(_) => SOURCE_MEMORY_BYTES,
        Action::Step(step) => step.memory(&inputs),
        Action::Sink(sink) => sink.memory(&inputs),
    };
    Ok((inputs, bytes))
}

struct PreparedTask {
    id: NodeId,
    record: Option<KeyRecord>,
    reason: Reason,
    waited: WaitTimes,
}

impl PreparedTask {
    fn run(
        self,
        shared: &RunShared,
        context: &Context,
        inputs: &Inputs,
    ) -> Result<NodeResult, StepError> {
        context.check()?;
        let node = shared.graph.node(self.id);
        let reason = self.reason;
        let begin = || {
            shared.reporter.event(&Event::StepStarted {
                competition: node.competition.clone(),
                step: node.name.clone(),
                kind: node.action.kind(),
                reason,
                progress: context.progress.clone(),
            });
            Stopwatch::start(self.waited)
        };
        match (&node.action, self.record) {
            (Action::Source(source), _) => {
                let watch = begin();
                let value = source.run(context)?;
                let digest = value.save(&context.store)?;
                Ok(NodeResult::Outputs {
                    record: None,
                    outputs: BTreeMap::from([("value".to_owned(), digest)]),
                    objects: value.objects,
                    ran: Some(watch.stop(shared, context)),
                    held: Vec::new(),
                })
            }
            (Action::Step(step), Some(record)) => {
                let key = record.key();
                // Another process may have computed the result while this process waited for the lock.
                let entry = context.store.lookup_result(&key)?;
                let missing = entry.as_ref().map(|entry| context.missing(entry));
                if let Some(entry) = entry.filter(|_| missing.as_ref().is_some_and(Vec::is_empty)) {
                    return Ok(NodeResult::from_entry(record, entry));
                }
                if context.no_execute && step.is_shared() {
                    let name = &node.name;
                    let (message, remedy) = match missing.as_deref() {
                        Some([object, ..]) => (
                            format!(
                                "the remote cache delivered no intact copy of the object {}, which is part of the output of `{name}`",
                                object.short()
                            ),
                            Remedy::RepairRemote,
                        ),
                        _ => (
                            format!("the output of `{name}` is not in the remote cache"),
                            Remedy::Prepare {
                                id: node.competition.clone(),
                            },
                        ),
                    };
                    return Err(StepError::input(WithRemedy::new(message, remedy)));
                }
                let watch = begin();
                let values = run_step(step.as_ref(), context, inputs)?;
                context.check_locks()?;
                let mut outputs = BTreeMap::new();
                let mut references = Vec::new();
                for (name, value) in values {
                    references.extend(&value.objects);
                    outputs.insert(name, value.save(&context.store)?);
                }
                references.sort();
                references.dedup();
                let objects = references.clone();
                let is_unstored = |object: &Digest| {
                    context.objects.holds(object) && context.store.len_of(object).is_none()
                };
                let (unstored, references) = references.into_iter().partition(is_unstored);
                let ran = watch.stop(shared, context);
                let entry = LedgerEntry {
                    record: record.to_json(),
                    outputs: outputs.clone(),
                    references,
                    unstored,
                    created: unix_seconds(),
                    millis: ran.wall,
                    ..LedgerEntry::default()
                };
                context.store.record(&key, &entry)?;
                if step.is_shared() {
                    context.store.offer(|| Offer {
                        key,
                        entry: entry.clone(),
                        competition: node.competition.clone(),
                        step: node.name.clone(),
                        given: input_objects(inputs),
                    });
                }
                Ok(NodeResult::Outputs {
                    record: Some(record),
                    outputs,
                    objects,
                    ran: Some(ran),
                    held: context.objects.take_results(),
                })
            }
            (Action::Sink(sink), Some(record)) => {
                let key = record.key();
                // Another process may have updated the target while this process waited for the lock.
                if self.waited.lock > 0 && sink.difference(context, &key)?.is_none() {
                    return Ok(NodeResult::Sink { record, ran: None });
                }
                let watch = begin();
                sink.run(context, &key, inputs)?;
                let ran = Some(watch.stop(shared, context));
                Ok(NodeResult::Sink { record, ran })
            }
            (_, None) => Err(StepError::internal(
                "a step was started before its inputs were known",
            )),
        }
    }
}

fn input_objects(inputs: &Inputs) -> Vec<Digest> {
    let objects = inputs.values().flat_map(|value| &value.objects);
    objects.copied().collect()
}

struct Stopwatch {
    started: Instant,
    before: Usage,
    waited: WaitTimes,
}

impl Stopwatch {
    fn start(waited: WaitTimes) -> Stopwatch {
        Stopwatch {
            started: Instant::now(),
            before: Usage::of_this_thread(),
            waited,
        }
    }

    fn stop(self, shared: &RunShared, context: &Context) -> Figures {
        let of_thread = Usage::of_this_thread().since(self.before);
        let used = of_thread.plus(context.threads.usage());
        Figures {
            began: millis(self.started - shared.began),
            wall: millis(self.started.elapsed()),
            cpu: millis(used.cpu),
            read: used.read,
            written: used.written,
            memory: context.memory.peak(),
            waited: self.waited,
        }
    }
}

fn panic_error(panic: &(dyn Any + Send)) -> StepError {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("no message");
    StepError::internal(format!("a step panicked: {text}"))
}

/// Nodes that have not started. A node is waiting for other nodes, ready, or blocked. Another process holds the lock of a
/// blocked node.
pub(super) struct NodeQueue {
    /// If true, the node that became ready first starts first. If false, the node that became ready last starts first.
    oldest_first: bool,
    /// For each node, the number of nodes that must end before it can start.
    waiting: HashMap<NodeId, usize>,
    /// Ready nodes, in the order in which they became ready.
    ready: Vec<NodeId>,
    blocked: Vec<NodeId>,
    /// For each node, when it became ready or was blocked.
    times: HashMap<NodeId, WaitStart>,
}

#[derive(Clone, Copy)]
pub(super) struct WaitStart {
    pub ready: Instant,
    /// When the node was first set aside because another process held its lock.
    pub blocked: Option<Instant>,
}

impl WaitStart {
    fn now() -> WaitStart {
        WaitStart {
            ready: Instant::now(),
            blocked: None,
        }
    }
}

impl NodeQueue {
    pub fn new(oldest_first: bool) -> NodeQueue {
        NodeQueue {
            oldest_first,
            waiting: HashMap::new(),
            ready: Vec::new(),
            blocked: Vec::new(),
            times: HashMap::new(),
        }
    }

    pub fn empty_copy(&self) -> NodeQueue {
        NodeQueue::new(self.oldest_first)
    }

    pub fn add(&mut self, id: NodeId, dependencies: usize) {
        self.waiting.insert(id, dependencies);
        if dependencies == 0 {
            self.make_ready(id);
        }
    }

    /// Records that a dependency of `id` has ended. Returns whether it was the last one.
    pub fn count_down(&mut self, id: NodeId) -> bool {
        let Some(count) = self.waiting.get_mut(&id) else {
            return false;
        };
        *count = count.saturating_sub(1);
        *count == 0
    }

    pub fn make_ready(&mut self, id: NodeId) {
        self.ready.push(id);
        self.times.insert(id, WaitStart::now());
    }

    pub fn pop(&mut self) -> Option<(NodeId, WaitStart)> {
        let id = match self.oldest_first {
            true if !self.ready.is_empty() => self.ready.remove(0),
            true => return None,
            false => self.ready.pop()?,
        };
        let times = self.times.get(&id).copied();
        Some((id, times.unwrap_or_else(WaitStart::now)))
    }

    /// Puts back a node that could not be started, as the next node to start.
    pub fn put_back(&mut self, id: NodeId) {
        match self.oldest_first {
            true => self.ready.insert(0, id),
            false => self.ready.push(id),
        }
    }

    pub fn block(&mut self, id: NodeId) {
        self.blocked.push(id);
        let times = self.times.entry(id).or_insert_with(WaitStart::now);
        times.blocked.get_or_insert_with(Instant::now);
    }

    pub fn has_blocked(&self) -> bool {
        !self.blocked.is_empty()
    }

    pub fn retry_blocked(&mut self) {
        self.ready.extend(self.blocked.drain(..).rev());
    }

    pub fn drop_blocked(&mut self) {
        self.blocked.clear();
    }

    pub fn retain_ready(&mut self, is_kept: impl Fn(&NodeId) -> bool) {
        self.ready.retain(is_kept);
    }

    pub fn contains(&self, id: NodeId) -> bool {
        self.waiting.contains_key(&id)
    }

    pub fn all(&self) -> impl Iterator<Item = NodeId> {
        self.waiting.keys().copied()
    }
}
