//! Determines what has to run, from the states of all nodes.
//!
//! Stale and pending nodes run, or may run. A node with known outputs runs only if a node that runs needs one of its
//! objects, the object is missing from the cache, and the node itself produces the object. A node that received the
//! object from an input and passes it on only waits until the object exists again.

use std::collections::{BTreeSet, HashMap};

use super::reason::{MissingObject, NodeState, Resolution};
use crate::Reason;
use crate::graph::{Graph, NodeId};

/// The nodes that run, and the nodes that wait for them.
pub(crate) struct Work {
    /// Nodes that run, or may run once their inputs are known, with the reason.
    pub reasons: HashMap<NodeId, Reason>,
    /// New states of known nodes that wait for an object that they pass on.
    pub waiting: Vec<(NodeId, NodeState)>,
    /// The missing objects that these nodes wait for.
    pub passed_on: HashMap<NodeId, BTreeSet<MissingObject>>,
}

impl Resolution {
    /// Returns the nodes whose results were never stored, with this as the reason to run.
    pub fn unstored(&self, graph: &Graph) -> HashMap<NodeId, Reason> {
        let unstored_reason = |id: &NodeId| {
            let mut unstored = missing_of(&self.states, *id)
                .iter()
                .filter(|missing_object| missing_object.is_unstored);
            let produced = unstored.find(|missing_object| {
                input_with_object(graph, &self.states, *id, missing_object).is_none()
            })?;
            Some((*id, produced.reason()))
        };
        self.order.iter().filter_map(unstored_reason).collect()
    }
}

/// Returns the objects of a node's known outputs that are missing from the cache.
fn missing_of(states: &HashMap<NodeId, NodeState>, id: NodeId) -> &[MissingObject] {
    match states.get(&id) {
        Some(NodeState::Known { missing, .. }) => missing,
        _ => &[],
    }
}

/// Returns a node that passes this object to `id`. `None` if `id` itself produces it.
fn input_with_object(
    graph: &Graph,
    states: &HashMap<NodeId, NodeState>,
    id: NodeId,
    missing_object: &MissingObject,
) -> Option<NodeId> {
    let feeding = graph.inputs(id).into_iter();
    let mut feeding = feeding.map(|(_, port)| port.node);
    feeding.find(|node| missing_of(states, *node).contains(missing_object))
}

/// Visits nodes in an order in which users come before the nodes that they use.
struct WorkFinder<'a> {
    graph: &'a Graph,
    states: &'a HashMap<NodeId, NodeState>,
    work: Work,
}

impl Work {
    /// Determines the work. `order` has all nodes, inputs first.
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

    /// Returns whether a user of the node runs, or itself waits for this object.
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
