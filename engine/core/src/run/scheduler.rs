//! Decides which node starts next, and updates the states of nodes when a node ends.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use prep_cache::Digest;

use super::execute::{NodeQueue, NodeResult, Task, TaskResult};
use super::{RunOptions, RunReport, RunShared};
use crate::context::objects::MemoryResult;
use crate::graph::NodeId;
use crate::resolve::missing_output;
use crate::resolve::work::{MissingObject, NodeState};
use crate::{Action, Event, Failure, Figures, Reason, Resolution, StepError, StepOutcome, chain};

/// A node may find the same object damaged or missing this number of times. The next time, the node fails.
const MAX_LOSSES: usize = 3;

pub(super) struct Scheduler {
    shared: Arc<RunShared>,
    keep_going: bool,
    pub states: HashMap<NodeId, NodeState>,
    /// For each node that waits for missing objects in order to pass them on: these objects.
    passed_on: HashMap<NodeId, BTreeSet<MissingObject>>,
    pub report: RunReport,
    pub queue: NodeQueue,
    memory_results: MemoryResults,
    pub reasons: HashMap<NodeId, Reason>,
    pub stop: bool,
    /// Name of the first node that failed, if `keep_going` is false.
    stopped_by: Option<String>,
    /// How often each node needed an object that was damaged or missing.
    lost: HashMap<(NodeId, Digest), usize>,
    /// Objects that nodes have created since the last resolution. Filled only after an object was lost.
    created: HashSet<Digest>,
    pub needs_resolve: bool,
}

impl Scheduler {
    pub fn new(shared: Arc<RunShared>, options: &RunOptions, resolution: Resolution) -> Scheduler {
        let mut scheduler = Scheduler {
            shared,
            keep_going: options.keep_going,
            states: HashMap::new(),
            passed_on: HashMap::new(),
            report: RunReport::default(),
            queue: NodeQueue::new(options.oldest_first),
            memory_results: MemoryResults::default(),
            reasons: HashMap::new(),
            stop: false,
            stopped_by: None,
            lost: HashMap::new(),
            created: HashSet::new(),
            needs_resolve: false,
        };
        scheduler.init(resolution);
        scheduler
    }

    /// Adds the nodes that have to run to the queue, and reports all others as reused.
    fn init(&mut self, resolution: Resolution) {
        for (id, state) in &resolution.states {
            if resolution.work.contains_key(id) {
                continue;
            }
            self.report.outcomes.insert(*id, StepOutcome::Reused);
            if let NodeState::Known { outputs, .. } = state {
                self.report.outputs.insert(*id, outputs.clone());
            }
        }
        for id in resolution.order.iter().rev() {
            if !resolution.work.contains_key(id) {
                continue;
            }
            let inputs = self.shared.graph.inputs(*id).into_iter();
            let dependencies: HashSet<NodeId> = inputs
                .map(|(_, port)| port.node)
                .filter(|node| resolution.work.contains_key(node))
                .collect();
            self.queue.add(*id, dependencies.len());
        }
        self.states = resolution.states;
        self.passed_on = resolution.passed_on;
    }

    /// Continues the run after a new resolution. Nodes that have ended do not run again, unless their results were lost.
    pub fn resume(self, resolution: Resolution) -> Scheduler {
        let mut next = Scheduler {
            states: HashMap::new(),
            report: RunReport {
                figures: self.report.figures,
                errors: self.report.errors,
                ..RunReport::default()
            },
            queue: self.queue.empty_copy(),
            created: HashSet::new(),
            needs_resolve: false,
            ..self
        };
        next.init(resolution);
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
        next.queue.retain_ready(|id| !outcomes.contains_key(id));
        next.skip_users_of_failed();
        next.pass_on_results();
        next
    }

    /// Skips the nodes that depend on a failed node. Otherwise, these nodes would wait forever for the failed node.
    fn skip_users_of_failed(&mut self) {
        let outcomes = self.report.outcomes.iter();
        let failed = outcomes.filter(|(id, outcome)| {
            let succeeded = matches!(outcome, StepOutcome::Done { .. } | StepOutcome::Reused);
            !succeeded && self.queue.contains(**id)
        });
        let failed: Vec<NodeId> = failed.map(|(id, _)| *id).collect();
        failed.into_iter().for_each(|id| self.skip_users(id));
    }

    /// Registers, for each object in memory, the unfinished nodes that may need it. A node may pass on an object of its
    /// inputs, so the users of several nodes may need the object.
    fn pass_on_results(&mut self) {
        if self.memory_results.is_empty() {
            return;
        }
        for id in self.report.outputs.keys() {
            let objects = self.objects_of(*id).collect();
            self.memory_results
                .add(Vec::new(), &objects, &self.unfinished_users(*id));
        }
        let outcomes = &self.report.outcomes;
        self.memory_results.retain(|id| !outcomes.contains_key(&id));
    }

    /// Records the object that was lost, if `error` reports one. Returns whether resolving the graph again may help. This
    /// is true if the node did not lose the object too often, and the object was not created since the last resolution.
    ///
    /// A node may lose an object repeatedly, for example if the remote was unreachable during the resolution.
    fn handle_lost(&mut self, id: NodeId, error: &StepError) -> bool {
        let Some(object) = error.lost_object() else {
            return false;
        };
        self.shared.context.outside.record_lost(object);
        let losses = self.lost.entry((id, object)).or_default();
        *losses += 1;
        let may_help = !self.created.contains(&object) && *losses <= MAX_LOSSES;
        self.needs_resolve |= may_help;
        may_help
    }

    /// Records the objects of a node's outputs that are not in its inputs.
    fn record_created(
        &mut self,
        id: NodeId,
        outputs: &BTreeMap<String, Digest>,
        objects: &[Digest],
    ) {
        let inputs = self.shared.graph.inputs(id);
        let given: HashSet<Digest> = inputs
            .iter()
            .flat_map(|(_, port)| self.objects_of(port.node))
            .collect();
        let context = &self.shared.context;
        let created = outputs.values().chain(objects);
        let created =
            created.filter(|object| !given.contains(object) && context.len_of(object).is_some());
        let created: Vec<Digest> = created.copied().collect();
        self.created.extend(created);
    }

    pub fn next(&mut self) -> Option<Task> {
        loop {
            let (id, waits) = self.queue.pop()?;
            match self.input_digests(id) {
                Ok(digests) => {
                    return Some(Task {
                        id,
                        state: self.states.get(&id).cloned(),
                        passed_on: self.passed_on.get(&id).cloned(),
                        digests,
                        waits,
                    });
                }
                Err(cause) => self.finish_node(id, Err(cause)),
            }
        }
    }

    /// Processes the end of a node. Sets the node aside if another process holds its lock.
    pub fn process(&mut self, ending: TaskResult) {
        let TaskResult { id, state, result } = ending;
        if let Some(state) = state {
            self.reasons.insert(id, state.reason());
            self.states.insert(id, state);
        }
        match result {
            Ok(Some(ended)) => self.finish_node(id, Ok(ended)),
            Ok(None) => self.queue.block(id),
            Err(error) => self.finish_node(id, Err(error)),
        }
    }

    fn input_digests(&self, id: NodeId) -> Result<BTreeMap<String, Digest>, StepError> {
        let inputs = self.shared.graph.inputs(id).into_iter();
        let digest = |(name, port): (String, crate::Port)| {
            let outputs = self.report.outputs.get(&port.node);
            match outputs.and_then(|outputs| outputs.get(&port.output)) {
                Some(digest) => Ok((name, *digest)),
                None => Err(missing_output(&self.shared.graph, &port)),
            }
        };
        inputs.map(digest).collect()
    }

    fn finish_node(&mut self, id: NodeId, result: Result<NodeResult, StepError>) {
        let outcome = match result {
            Ok(NodeResult::Outputs {
                record,
                outputs,
                objects,
                ran,
                held,
            }) => {
                self.keep_results(id, held, &objects);
                if ran.is_some() && !self.lost.is_empty() {
                    self.record_created(id, &outputs, &objects);
                }
                self.report.outputs.insert(id, outputs.clone());
                self.states.insert(
                    id,
                    NodeState::Known {
                        record,
                        outputs,
                        objects,
                        missing: Vec::new(),
                    },
                );
                self.outcome(id, ran)
            }
            Ok(NodeResult::Sink { record, ran }) => {
                self.states.insert(id, NodeState::Current { record });
                self.outcome(id, ran)
            }
            Err(error) if error.failure() == Failure::Cancelled => StepOutcome::Cancelled,
            // The node runs again when the lost object is restored.
            Err(error) if self.handle_lost(id, &error) => return,
            Err(error) => {
                if !self.keep_going {
                    self.stop = true;
                    let name = self.full_name(id);
                    self.stopped_by.get_or_insert(name);
                }
                let outcome = StepOutcome::Failed {
                    failure: error.failure(),
                    message: chain(&error),
                };
                self.report.errors.insert(id, error);
                outcome
            }
        };
        let succeeded = matches!(outcome, StepOutcome::Done { .. } | StepOutcome::Reused);
        self.record_outcome(id, outcome);
        if !succeeded {
            self.skip_users(id);
            return;
        }
        let mut ready = Vec::new();
        for user in self.shared.graph.users(id) {
            if self.queue.count_down(user) && !self.report.outcomes.contains_key(&user) {
                ready.push(user);
            }
        }
        if ready.len() > 1 {
            // The node that becomes ready last starts first.
            ready.sort_by_cached_key(|user| self.input_bytes(*user));
        }
        ready
            .into_iter()
            .for_each(|user| self.queue.make_ready(user));
    }

    /// If some of the `objects` are only in memory, keeps them until the nodes that use outputs of the node `id` have ended.
    /// `held` must contain the objects that this node created and holds in memory.
    fn keep_results(&mut self, id: NodeId, held: Vec<Arc<MemoryResult>>, objects: &[Digest]) {
        if held.is_empty() && self.memory_results.is_empty() {
            return;
        }
        let objects = objects.iter().copied().collect();
        let users = self.unfinished_users(id);
        self.memory_results.add(held, &objects, &users);
    }

    fn unfinished_users(&self, id: NodeId) -> HashSet<NodeId> {
        let users = self.shared.graph.users(id).into_iter();
        users
            .filter(|user| !self.report.outcomes.contains_key(user))
            .collect()
    }

    fn objects_of(&self, id: NodeId) -> impl Iterator<Item = Digest> {
        let objects = match self.states.get(&id) {
            Some(NodeState::Known { objects, .. }) => objects.as_slice(),
            _ => &[],
        };
        objects.iter().copied()
    }

    /// Returns the total length of the objects in a node's inputs.
    fn input_bytes(&self, id: NodeId) -> u64 {
        let inputs = self.shared.graph.inputs(id);
        let nodes: HashSet<NodeId> = inputs.iter().map(|(_, port)| port.node).collect();
        let objects: BTreeSet<Digest> = nodes
            .into_iter()
            .flat_map(|node| self.objects_of(node))
            .collect();
        let objects = objects.iter();
        objects
            .filter_map(|object| self.shared.context.len_of(object))
            .sum()
    }

    fn outcome(&mut self, id: NodeId, ran: Option<Figures>) -> StepOutcome {
        let Some(figures) = ran else {
            return StepOutcome::Reused;
        };
        self.report.figures.insert(id, figures);
        StepOutcome::Done {
            millis: figures.wall,
        }
    }

    fn record_outcome(&mut self, id: NodeId, outcome: StepOutcome) {
        let node = self.shared.graph.node(id);
        self.shared.reporter.event(&Event::StepEnded {
            competition: node.competition.clone(),
            step: node.name.clone(),
            kind: node.action.kind(),
            outcome: outcome.clone(),
            target: self.states.get(&id).and_then(NodeState::target),
        });
        self.report.outcomes.insert(id, outcome);
        self.memory_results.retain(|user| user != id);
    }

    /// Skips all unfinished nodes that depend on `id`, directly or through other nodes.
    fn skip_users(&mut self, id: NodeId) {
        let because = self.shared.graph.node(id).name.clone();
        let mut stack = self.shared.graph.users(id);
        while let Some(user) = stack.pop() {
            if self.queue.contains(user) && !self.report.outcomes.contains_key(&user) {
                self.record_outcome(
                    user,
                    StepOutcome::Skipped {
                        because: because.clone(),
                    },
                );
                stack.extend(self.shared.graph.users(user));
            }
        }
    }

    /// Changes the outcome of a competition's sink to a failure, unless a node of the competition has failed already.
    pub fn fail_competition(&mut self, nodes: &[NodeId], error: StepError) {
        let outcome = |id: &NodeId| self.report.outcomes.get(id);
        let has_failed = |id: &NodeId| matches!(outcome(id), Some(StepOutcome::Failed { .. }));
        let is_sink = |id: &&NodeId| matches!(self.shared.graph.node(**id).action, Action::Sink(_));
        let Some(id) = nodes.iter().find(is_sink).or(nodes.first()).copied() else {
            return;
        };
        if !nodes.iter().any(has_failed) {
            let outcome = StepOutcome::Failed {
                failure: error.failure(),
                message: chain(&error),
            };
            self.report.outcomes.insert(id, outcome);
            self.report.errors.insert(id, error);
        }
    }

    fn full_name(&self, id: NodeId) -> String {
        let node = self.shared.graph.node(id);
        format!("{}/{}", node.competition, node.name)
    }

    /// Records an outcome for each node that never started.
    pub fn close(&mut self) {
        let open = self.queue.all();
        let open: Vec<NodeId> = open
            .filter(|id| !self.report.outcomes.contains_key(id))
            .collect();
        let outcome = match self.stopped_by.take() {
            _ if self.shared.context.cancel.is_cancelled() => StepOutcome::Cancelled,
            Some(because) => StepOutcome::Skipped { because },
            None => StepOutcome::Failed {
                failure: Failure::Internal,
                message: "the run ended before this step could start".to_owned(),
            },
        };
        for id in open {
            self.record_outcome(id, outcome.clone());
        }
    }
}

/// Objects that are only in memory, each with its *users*: unfinished nodes that may need it. Drops objects without users.
#[derive(Default)]
pub(super) struct MemoryResults(Vec<(Arc<MemoryResult>, HashSet<NodeId>)>);

impl MemoryResults {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the objects `held`. Then adds `users` to each object in memory whose digest is in `objects`, even if an earlier
    /// call added the object.
    pub fn add(
        &mut self,
        held: Vec<Arc<MemoryResult>>,
        objects: &BTreeSet<Digest>,
        users: &HashSet<NodeId>,
    ) {
        self.0
            .extend(held.into_iter().map(|held| (held, HashSet::new())));
        for (held, users_left) in &mut self.0 {
            if objects.contains(held.object()) {
                users_left.extend(users);
            }
        }
    }

    /// Removes users for which `may_need` returns false. Drops objects without users.
    pub fn retain(&mut self, may_need: impl Fn(NodeId) -> bool) {
        for (_, users_left) in &mut self.0 {
            users_left.retain(|id| may_need(*id));
        }
        self.0.retain(|(_, users_left)| !users_left.is_empty());
    }
}
