//! Decides which node starts next, and updates the graph's state when a node ends.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use prep_cache::Digest;

use super::execute::{NodeResult, Task, TaskResult};
use super::memory_results::MemoryResults;
use super::{RunOptions, RunReport, RunShared};
use crate::graph::NodeId;
use crate::objects::MemoryResult;
use crate::resolve::{NodeState, missing_output};
use crate::{Event, Failure, Figures, Reason, Resolution, StepError, StepOutcome, chain};

pub(super) struct Scheduler {
    shared: Arc<RunShared>,
    keep_going: bool,
    oldest_first: bool,
    pub states: HashMap<NodeId, NodeState>,
    pub report: RunReport,
    /// Number of feeding nodes that have not ended yet.
    waiting: HashMap<NodeId, usize>,
    ready: Vec<NodeId>,
    /// Nodes whose lock another process holds.
    pub blocked: Vec<NodeId>,
    /// Time at which a node became ready.
    ready_since: HashMap<NodeId, Instant>,
    /// Time at which the lock of a node was first found taken.
    blocked_since: HashMap<NodeId, Instant>,
    /// Results in memory that steps may still need.
    memory_results: MemoryResults,
    /// Why each started node runs.
    pub reasons: HashMap<NodeId, Reason>,
    /// Nothing new starts.
    pub stop: bool,
    /// The first node that failed, if nothing starts after a failure.
    stopped_by: Option<String>,
    /// Objects that were needed and found damaged or missing, with the number of the resolution in which that happened.
    lost: HashMap<Digest, usize>,
    /// Number of times the graph was resolved needs_resolve.
    resolutions: usize,
    /// The graph has to be resolved needs_resolve.
    pub needs_resolve: bool,
}

impl Scheduler {
    pub fn new(shared: Arc<RunShared>, options: &RunOptions, resolution: Resolution) -> Scheduler {
        let mut scheduler = Scheduler {
            shared,
            keep_going: options.keep_going,
            oldest_first: options.oldest_first,
            states: HashMap::new(),
            report: RunReport::default(),
            waiting: HashMap::new(),
            ready: Vec::new(),
            blocked: Vec::new(),
            ready_since: HashMap::new(),
            blocked_since: HashMap::new(),
            memory_results: MemoryResults::default(),
            reasons: HashMap::new(),
            stop: false,
            stopped_by: None,
            lost: HashMap::new(),
            resolutions: 0,
            needs_resolve: false,
        };
        scheduler.init(resolution);
        scheduler
    }

    /// Initialises the states and the ready nodes from a resolution.
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
            let feeding: HashSet<NodeId> = inputs
                .map(|(_, port)| port.node)
                .filter(|node| resolution.work.contains_key(node))
                .collect();
            if feeding.is_empty() {
                self.ready.push(*id);
                self.ready_since.insert(*id, Instant::now());
            }
            self.waiting.insert(*id, feeding.len());
        }
        self.states = resolution.states;
    }

    /// Returns the scheduler of the same run after another resolution. Nodes that ended stay ended, except those whose
    /// results were lost.
    pub fn resume(self, resolution: Resolution) -> Scheduler {
        let mut next = Scheduler {
            states: HashMap::new(),
            report: RunReport {
                figures: self.report.figures,
                errors: self.report.errors,
                ..RunReport::default()
            },
            waiting: HashMap::new(),
            ready: Vec::new(),
            ready_since: HashMap::new(),
            blocked_since: HashMap::new(),
            resolutions: self.resolutions + 1,
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
        next.ready.retain(|id| !outcomes.contains_key(id));
        next.pass_on_results();
        next
    }

    /// Registers results in memory for the nodes that have not ended, including users of nodes that are now known and
    /// pass the results on.
    fn pass_on_results(&mut self) {
        if self.memory_results.is_empty() {
            return;
        }
        for id in self.report.outputs.keys() {
            let objects = self.objects_of(*id).collect();
            self.memory_results
                .give(Vec::new(), &objects, &self.unfinished_users(*id));
        }
        let outcomes = &self.report.outcomes;
        self.memory_results.retain(|id| !outcomes.contains_key(&id));
    }

    /// Records an object that a step needed and did not find. Returns `false` if the object was already lost before the
    /// last resolution, since making it needs_resolve does not help.
    fn handle_lost(&mut self, error: &StepError) -> bool {
        let Some(object) = error.lost_object() else {
            return false;
        };
        self.shared.context.record_lost(object);
        // Concurrent steps may lose the same object.
        let first = *self.lost.entry(object).or_insert(self.resolutions) == self.resolutions;
        self.needs_resolve |= first;
        first
    }

    /// Returns the next node that can start.
    pub fn next(&mut self) -> Option<Task> {
        loop {
            let id = match self.oldest_first {
                true if !self.ready.is_empty() => self.ready.remove(0),
                true => return None,
                false => self.ready.pop()?,
            };
            match self.input_digests(id) {
                Ok(digests) => {
                    let now = Instant::now();
                    return Some(Task {
                        id,
                        state: self.states.get(&id).cloned(),
                        digests,
                        ready_since: self.ready_since.get(&id).copied().unwrap_or(now),
                        blocked_since: self.blocked_since.get(&id).copied(),
                    });
                }
                Err(cause) => self.finish_node(id, Err(cause)),
            }
        }
    }

    /// Puts a node back that could not be started.
    pub fn put_back(&mut self, id: NodeId) {
        match self.oldest_first {
            true => self.ready.insert(0, id),
            false => self.ready.push(id),
        }
    }

    /// Processes the end of a node, or sets the node aside if another process holds its lock.
    pub fn process(&mut self, ending: TaskResult) {
        let TaskResult { id, state, result } = ending;
        if let Some(state) = state {
            self.reasons.insert(id, state.reason());
            self.states.insert(id, state);
        }
        match result {
            Ok(Some(ended)) => self.finish_node(id, Ok(ended)),
            Ok(None) => {
                self.blocked.push(id);
                self.blocked_since.entry(id).or_insert_with(Instant::now);
            }
            Err(error) => self.finish_node(id, Err(error)),
        }
    }

    /// Makes nodes ready needs_resolve whose locks other processes held.
    pub fn retry_blocked(&mut self) {
        self.ready.extend(self.blocked.drain(..).rev());
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
            // The node has not ended: it runs when the object exists needs_resolve.
            Err(error) if self.handle_lost(&error) => return,
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
        let well = matches!(outcome, StepOutcome::Done { .. } | StepOutcome::Reused);
        self.record_outcome(id, outcome);
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
            // `next` takes from the end of the list.
            ready.sort_by_cached_key(|user| self.input_bytes(*user));
        }
        let now = Instant::now();
        let since = ready.iter().map(|user| (*user, now));
        self.ready_since.extend(since);
        self.ready.append(&mut ready);
    }

    /// Keeps results in memory for the users of a node, even if the node only passes them on.
    fn keep_results(&mut self, id: NodeId, held: Vec<Arc<MemoryResult>>, objects: &[Digest]) {
        if held.is_empty() && self.memory_results.is_empty() {
            return;
        }
        let objects = objects.iter().copied().collect();
        let users = self.unfinished_users(id);
        self.memory_results.give(held, &objects, &users);
    }

    /// Returns the users of a node that have not ended.
    fn unfinished_users(&self, id: NodeId) -> HashSet<NodeId> {
        let users = self.shared.graph.users(id).into_iter();
        users
            .filter(|user| !self.report.outcomes.contains_key(user))
            .collect()
    }

    /// Returns the objects that the known outputs of a node refer to.
    fn objects_of(&self, id: NodeId) -> impl Iterator<Item = Digest> {
        let objects = match self.states.get(&id) {
            Some(NodeState::Known { objects, .. }) => objects.as_slice(),
            _ => &[],
        };
        objects.iter().copied()
    }

    /// Returns the total length of the objects that a node's inputs refer to.
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
        });
        self.report.outcomes.insert(id, outcome);
        self.memory_results.retain(|user| user != id);
    }

    fn skip_users(&mut self, id: NodeId) {
        let because = self.shared.graph.node(id).name.clone();
        let mut stack = self.shared.graph.users(id);
        while let Some(user) = stack.pop() {
            if self.waiting.contains_key(&user) && !self.report.outcomes.contains_key(&user) {
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

    /// Returns `competition/step`.
    fn full_name(&self, id: NodeId) -> String {
        let node = self.shared.graph.node(id);
        format!("{}/{}", node.competition, node.name)
    }

    /// Ends the nodes that never started: cancelled, or skipped after a failure.
    pub fn close(&mut self) {
        let open = self.waiting.keys();
        let open: Vec<NodeId> = open
            .filter(|id| !self.report.outcomes.contains_key(id))
            .copied()
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
