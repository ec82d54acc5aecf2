//! Determines which nodes have to run. Reads the last runs of steps, which explain why nodes run.
//!
//! A stale node runs. A pending node may run. A node with known outputs runs only if an object that it produced is missing
//! and a node that runs needs this object. Nodes that only pass on the object wait for the node that produces it.
//!
//! # Last runs
//!
//! Each target directory has a separate history of runs, with the key records from which it was last published. The history
//! is read on first use. If everything is up to date, it is never read.
//!
//! A user may replace a target directory by a copy of another one. Therefore a history is used only if it contains the
//! publication that the target directory records.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use prep_cache::{Digest, History, HistoryScope, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::KeyRecord;
use crate::graph::{Graph, NodeId};

pub(crate) struct Work {
    /// Nodes that run, or may run once their inputs are known.
    pub reasons: HashMap<NodeId, Reason>,
    /// New states of nodes that wait for an object that they pass on.
    pub waiting: Vec<(NodeId, NodeState)>,
    /// The missing objects for which the waiting nodes wait.
    pub passed_on: HashMap<NodeId, BTreeSet<MissingObject>>,
}

impl Resolution {
    /// Returns the nodes whose results were kept only in memory. Nodes that only pass on such a result are left out.
    pub fn unstored(&self, graph: &Graph) -> HashMap<NodeId, Reason> {
        let unstored_reason = |id: &NodeId| {
            let mut unstored = missing_of(&self.states, *id)
                .iter()
                .filter(|missing_object| missing_object.absence == Absence::Unstored);
            let produced = unstored.find(|missing_object| {
                input_with_object(graph, &self.states, *id, missing_object).is_none()
            })?;
            Some((*id, produced.reason()))
        };
        self.order.iter().filter_map(unstored_reason).collect()
    }
}

/// Returns the missing objects of a node's outputs. Empty if the outputs are not known.
fn missing_of(states: &HashMap<NodeId, NodeState>, id: NodeId) -> &[MissingObject] {
    match states.get(&id) {
        Some(NodeState::Known { missing, .. }) => missing,
        _ => &[],
    }
}

/// Returns an input node of `id` from which `id` gets the missing object. Returns `None` if `id` itself produces the
/// object.
fn input_with_object(
    graph: &Graph,
    states: &HashMap<NodeId, NodeState>,
    id: NodeId,
    missing_object: &MissingObject,
) -> Option<NodeId> {
    let inputs = graph.inputs(id).into_iter();
    let mut input_nodes = inputs.map(|(_, port)| port.node);
    input_nodes.find(|node| missing_of(states, *node).contains(missing_object))
}

/// Visits each node after all nodes that use its outputs, and collects the work.
struct WorkFinder<'a> {
    graph: &'a Graph,
    states: &'a HashMap<NodeId, NodeState>,
    work: Work,
}

impl Work {
    /// `order` contains all nodes, inputs first.
    pub fn new(graph: &Graph, order: &[NodeId], states: &HashMap<NodeId, NodeState>) -> Work {
        let mut finder = WorkFinder {
            graph,
            states,
            work: Work {
                reasons: HashMap::new(),
                waiting: Vec::new(),
                passed_on: HashMap::new(),
            },
        };
        for id in order.iter().rev() {
            if let Some(reason) = finder.reason(*id) {
                finder.work.reasons.insert(*id, reason);
            }
        }
        finder.work
    }
}

impl WorkFinder<'_> {
    fn reason(&mut self, id: NodeId) -> Option<Reason> {
        match self.states.get(&id)? {
            NodeState::Stale { reason, .. } => Some(reason.clone()),
            NodeState::Pending { step } => Some(Reason::InputPending { step: step.clone() }),
            NodeState::Known { missing, .. } if !missing.is_empty() => {
                self.reason_for_missing(id, missing)
            }
            NodeState::Known { .. } | NodeState::Current { .. } => None,
        }
    }

    fn reason_for_missing(&mut self, id: NodeId, missing: &[MissingObject]) -> Option<Reason> {
        let needed = missing
            .iter()
            .filter(|missing_object| self.is_needed(id, missing_object));
        let needed: BTreeSet<MissingObject> = needed.copied().collect();
        if let Some(produced) = needed
            .iter()
            .find(|missing_object| self.input_with_object(id, missing_object).is_none())
        {
            return Some(produced.reason());
        }
        let input_with_object = self.input_with_object(id, needed.first()?)?;
        let step = self.graph.node(input_with_object).name.clone();
        let state = NodeState::Pending { step: step.clone() };
        self.work.waiting.push((id, state));
        self.work.passed_on.insert(id, needed);
        Some(Reason::InputPending { step })
    }

    /// Returns whether a node that uses outputs of `id` runs, or waits for this object.
    fn is_needed(&self, id: NodeId, missing_object: &MissingObject) -> bool {
        let users = self.graph.users(id);
        users
            .iter()
            .any(|user| match self.work.passed_on.get(user) {
                Some(needed) => needed.contains(missing_object),
                None => self.work.reasons.contains_key(user),
            })
    }

    fn input_with_object(&self, id: NodeId, missing_object: &MissingObject) -> Option<NodeId> {
        input_with_object(self.graph, self.states, id, missing_object)
    }
}

/// One field in which two key records differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Path of the field, for example `version`, `params.sql`, `inputs.train`.
    pub field: String,
    /// The old value. `null` if the field did not exist.
    pub old: serde_json::Value,
    /// The new value. `null` if the field no longer exists.
    pub new: serde_json::Value,
}

/// The reason why a node has to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Reason {
    /// No earlier run is recorded.
    FirstRun,
    /// The key record differs from that of the last publication.
    Changed {
        /// The fields that differ.
        changes: Vec<Change>,
    },
    /// The last run had the same key record and failed, or it read a source that is invalid and has not changed since. The
    /// step would fail again.
    Failed {
        /// The error message of the last run.
        message: String,
    },
    /// The last run had the same key record and succeeded, but its result is no longer in the cache.
    ResultMissing,
    /// Another step needs an object of the result, and the object is no longer in the cache.
    OutputMissing {
        /// The missing object.
        object: Digest,
    },
    /// Another step needs an object of the result, and the object was kept only in memory.
    Unstored {
        /// The object.
        object: Digest,
    },
    /// The step uses an output of another step, which runs first. That output decides whether this step runs.
    InputPending {
        /// Name of the other step. The JSON name differs, because the same JSON object may also have a field `step`.
        #[serde(rename = "waits_for")]
        step: String,
    },
    /// The target of a sink differs from its inputs.
    NotCurrent {
        /// The difference, from [`Sink::difference`](crate::Sink::difference).
        #[serde(default)]
        difference: String,
    },
    /// The source was never read, or has changed since.
    Unread {
        /// Size of the source in bytes.
        bytes: u64,
    },
    /// The content of the source is not on this machine.
    Missing,
}

pub(super) fn compare(
    field: &str,
    old: &serde_json::Value,
    new: &serde_json::Value,
    found: &mut Vec<Change>,
) {
    if let (Some(old), Some(new)) = (old.as_object(), new.as_object()) {
        let names: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for name in names {
            let inner = if field.is_empty() {
                name.clone()
            } else {
                format!("{field}.{name}")
            };
            let null = serde_json::Value::Null;
            compare(
                &inner,
                old.get(name).unwrap_or(&null),
                new.get(name).unwrap_or(&null),
                found,
            );
        }
    } else if old != new {
        found.push(Change {
            field: field.to_owned(),
            old: old.clone(),
            new: new.clone(),
        });
    }
}

/// The resolved state of one node.
#[derive(Debug, Clone)]
pub enum NodeState {
    /// The outputs of the step are known.
    Known {
        /// The key record. `None` for sources.
        record: Option<KeyRecord>,
        /// Digests of the output values by name.
        outputs: BTreeMap<String, Digest>,
        /// The objects that the outputs refer to.
        objects: Vec<Digest>,
        /// The outputs and objects that are missing from the cache. If no node that is connected to this node runs, and the
        /// result was stored completely, the cache was not searched, and the list is empty.
        missing: Vec<MissingObject>,
    },
    /// A sink whose target agrees with its inputs.
    Current {
        /// The key record.
        record: KeyRecord,
    },
    /// The step has to run.
    Stale {
        /// The key record. `None` for sources.
        record: Option<KeyRecord>,
        /// Why it has to run.
        reason: Reason,
    },
    /// The state of the step depends on another step, which has to run first.
    Pending {
        /// Name of the other step within the competition.
        step: String,
    },
}

impl NodeState {
    /// Returns why a node in this state runs. The result has no meaning for a node that does not have to run.
    pub(crate) fn reason(&self) -> Reason {
        match self {
            NodeState::Stale { reason, .. } => reason.clone(),
            NodeState::Known { missing, .. } => missing
                .first()
                .map_or(Reason::FirstRun, MissingObject::reason),
            NodeState::Current { .. } | NodeState::Pending { .. } => Reason::FirstRun,
        }
    }

    /// Returns the key of the results in a sink's target. Returns `None` if the target is not current, or for other nodes.
    pub(crate) fn target(&self) -> Option<Digest> {
        match self {
            NodeState::Current { record } => Some(record.key()),
            _ => None,
        }
    }
}

/// An object that is missing from the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingObject {
    /// Digest of the object.
    pub object: Digest,
    /// Why the object is missing.
    pub absence: Absence,
}

/// Why an object is missing from the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Absence {
    /// The object was kept only in memory.
    Unstored,
    /// The object was removed from the cache.
    Removed,
    /// The object describes the file of a source. Every run so far rejected this file, so the object was never stored.
    Rejected,
}

impl MissingObject {
    pub(crate) fn reason(&self) -> Reason {
        let object = self.object;
        match self.absence {
            Absence::Unstored => Reason::Unstored { object },
            Absence::Removed => Reason::OutputMissing { object },
            Absence::Rejected => Reason::FirstRun,
        }
    }
}

/// The states of all nodes, and which nodes run.
pub struct Resolution {
    /// The state of each node.
    pub states: HashMap<NodeId, NodeState>,
    /// All nodes, inputs first.
    pub order: Vec<NodeId>,
    /// Nodes that run, or may run once their inputs are known.
    pub work: HashMap<NodeId, Reason>,
    /// For each node that waits: the missing objects that it passes on and that a running node needs.
    pub(crate) passed_on: HashMap<NodeId, BTreeSet<MissingObject>>,
    /// The last runs of the steps.
    pub last: Arc<LastRuns>,
}

/// A step of the last publication.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LastRun {
    /// The key record from which the target was published. For a source, see [`KeyRecord::is_source`]. If nothing was
    /// published yet, or if the step failed, the key record of the last run.
    pub record: KeyRecord,
    /// Why the step last ran, or why its result differs from the result in the publication before.
    pub reason: Option<Reason>,
    /// Time of the run to which `reason` applies, in milliseconds since 1970. 0 in records that earlier versions of
    /// the program wrote.
    #[serde(default)]
    pub at: u64,
    /// Whether the result was in the cache, so that the step did not run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reused: bool,
    /// The error message, if the step failed and would fail again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// The last runs of a competition's steps, by step name.
pub type LastSteps = BTreeMap<String, LastRun>;

/// Returns the key of the publication that a target directory records for a competition.
type PublishedKey = Box<dyn Fn(&str) -> Option<Digest> + Send + Sync>;

/// A history, and its steps once they are parsed.
struct ReadHistory {
    history: Arc<History>,
    steps: OnceLock<Arc<LastSteps>>,
}

/// The last runs into one target directory, by competition. The history of a competition is read on first use.
pub struct LastRuns {
    /// Where the histories are stored. `None` if the runs have no history.
    place: Option<(Store, HistoryScope)>,
    published: PublishedKey,
    read: Mutex<HashMap<String, Arc<ReadHistory>>>,
}

impl LastRuns {
    /// Creates a reader of the histories of the target directory `scope`. `published` returns the key that this directory
    /// records for the last publication of a competition, if any.
    pub fn new(
        store: &Store,
        scope: HistoryScope,
        published: impl Fn(&str) -> Option<Digest> + Send + Sync + 'static,
    ) -> LastRuns {
        LastRuns {
            place: Some((store.clone(), scope)),
            published: Box::new(published),
            read: Mutex::default(),
        }
    }

    /// Creates a reader for runs without a target directory, such as previews. They leave no history.
    pub fn without_history() -> LastRuns {
        LastRuns {
            place: None,
            published: Box::new(|_| None),
            read: Mutex::default(),
        }
    }

    /// Returns the cache that contains the histories. `None` if the runs have no history.
    pub(crate) fn store(&self) -> Option<&Store> {
        self.place.as_ref().map(|(store, _)| store)
    }

    /// Returns the steps of the last publication. If a step has failed since, returns its failed run instead of the
    /// published one. Omits records that another version of the program wrote in an unknown format.
    pub fn load(&self, competition: &str) -> Result<Arc<LastSteps>, StoreError> {
        let read = self.read(competition)?;
        let steps = read.steps.get_or_init(|| Arc::new(steps(&read.history)));
        Ok(Arc::clone(steps))
    }

    /// Same as [`load`](Self::load), but without the steps that failed.
    pub fn published(&self, competition: &str) -> Result<LastSteps, StoreError> {
        Ok(successful_steps(&self.read(competition)?.history).collect())
    }

    /// Returns those steps of a competition that failed in their last run and would fail again.
    pub fn failed(&self, competition: &str) -> Result<LastSteps, StoreError> {
        Ok(failed_steps(&self.read(competition)?.history).collect())
    }

    /// Returns the history of a competition. Empty if the competition has no history.
    pub fn history(&self, competition: &str) -> Result<Arc<History>, StoreError> {
        Ok(Arc::clone(&self.read(competition)?.history))
    }

    /// Stores the history in `store`, and not in the store from which histories are read, which may be read-only.
    pub(crate) fn set(
        &self,
        store: &Store,
        competition: &str,
        history: &History,
    ) -> Result<(), StoreError> {
        match &self.place {
            Some((_, scope)) => store.set_last_run(competition, scope, history),
            None => Ok(()),
        }
    }

    fn read(&self, competition: &str) -> Result<Arc<ReadHistory>, StoreError> {
        if let Some(found) = self.read.lock().get(competition) {
            return Ok(Arc::clone(found));
        }
        let history = match &self.place {
            Some((store, scope)) => store.last_run(competition, scope)?.unwrap_or_default(),
            None => History::default(),
        };
        let history = match (self.published)(competition) {
            // No step has the key of the recorded publication, so the history belongs to another directory.
            Some(key) if history.steps.values().all(|step| step.key != key) => History::default(),
            _ => history,
        };
        let found = Arc::new(ReadHistory {
            history: Arc::new(history),
            steps: OnceLock::new(),
        });
        let mut read = self.read.lock();
        Ok(Arc::clone(
            read.entry(competition.to_owned()).or_insert(found),
        ))
    }
}

fn steps(history: &History) -> LastSteps {
    // A recorded failure is newer than the last success of its step.
    let failed = failed_steps(history);
    successful_steps(history).chain(failed).collect()
}

fn successful_steps(history: &History) -> impl Iterator<Item = (String, LastRun)> {
    let steps = history.steps.iter();
    steps.filter_map(|(name, step)| Some((name.clone(), LastRun::deserialize(&step.record).ok()?)))
}

fn failed_steps(history: &History) -> impl Iterator<Item = (String, LastRun)> {
    history.failed.iter().filter_map(|(name, step)| {
        let last = LastRun::deserialize(&step.record).ok()?;
        let failed = Some(step.message.clone());
        Some((name.clone(), LastRun { failed, ..last }))
    })
}
