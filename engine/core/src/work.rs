//! Determines what has to run, from the states of all nodes.
//!
//! Stale and pending nodes run, or may run. A node with known outputs runs only if a node that runs needs one of its
//! objects, the store lacks the object, and the node is the one that made it. A node that received the object from an
//! input and passes it on only waits until the object exists again.

use std::collections::{BTreeSet, HashMap};

use crate::Reason;
use crate::graph::{Graph, NodeId};
use crate::resolve::{Missing, Resolution, State};

/// The nodes that run, and the nodes that wait for them.
pub(crate) struct Work {
    /// Nodes that run, or may run once their inputs are known, with the reason.
    pub reasons: HashMap<NodeId, Reason>,
    /// New states of known nodes that wait for an object that they pass on.
    pub waiting: Vec<(NodeId, State)>,
}

impl Resolution {
    /// Returns the nodes whose results were never stored, with that as the reason to run.
    pub fn unstored(&self, graph: &Graph) -> HashMap<NodeId, Reason> {
        let made = |id: &NodeId| {
            let mut unstored = missing_of(&self.states, *id)
                .iter()
                .filter(|one| one.is_unstored);
            let own = unstored.find(|one| giver(graph, &self.states, *id, one).is_none())?;
            Some((*id, own.reason()))
        };
        self.order.iter().filter_map(made).collect()
    }
}

/// Returns the objects of a node's known outputs that the store lacks.
fn missing_of(states: &HashMap<NodeId, State>, id: NodeId) -> &[Missing] {
    match states.get(&id) {
        Some(State::Known { missing, .. }) => missing,
        _ => &[],
    }
}

/// Returns a node that passes this object to `id`; `None` if `id` makes it.
fn giver(
    graph: &Graph,
    states: &HashMap<NodeId, State>,
    id: NodeId,
    one: &Missing,
) -> Option<NodeId> {
    let feeding = graph.inputs(id).into_iter();
    let mut feeding = feeding.map(|(_, port)| port.node);
    feeding.find(|node| missing_of(states, *node).contains(one))
}

/// Visits nodes in an order in which users come before the nodes that they use.
struct Finder<'a> {
    graph: &'a Graph,
    states: &'a HashMap<NodeId, State>,
    work: Work,
    /// Missing objects that are needed, for each waiting node.
    passed_on: HashMap<NodeId, BTreeSet<Missing>>,
}

impl Work {
    /// Determines the work. `order` has all nodes, inputs first.
    pub fn of(graph: &Graph, order: &[NodeId], states: &HashMap<NodeId, State>) -> Work {
        let mut finder = Finder {
            graph,
            states,
            work: Work {
                reasons: HashMap::new(),
                waiting: Vec::new(),
            },
            passed_on: HashMap::new(),
        };
        for id in order.iter().rev() {
            if let Some(reason) = finder.reason(*id) {
                finder.work.reasons.insert(*id, reason);
            }
        }
        finder.work
    }
}

impl Finder<'_> {
    fn reason(&mut self, id: NodeId) -> Option<Reason> {
        match self.states.get(&id)? {
            State::Stale { reason, .. } => Some(reason.clone()),
            State::Pending { step } => Some(Reason::InputPending { step: step.clone() }),
            State::Known { missing, .. } if !missing.is_empty() => self.of_missing(id, missing),
            State::Known { .. } | State::Current { .. } => None,
        }
    }

    fn of_missing(&mut self, id: NodeId, missing: &[Missing]) -> Option<Reason> {
        let needed = missing.iter().filter(|one| self.is_needed(id, one));
        let needed: BTreeSet<Missing> = needed.copied().collect();
        if let Some(own) = needed.iter().find(|one| self.giver(id, one).is_none()) {
            return Some(own.reason());
        }
        let giver = self.giver(id, needed.first()?)?;
        let step = self.graph.node(giver).name.clone();
        let state = State::Pending { step: step.clone() };
        self.work.waiting.push((id, state));
        self.passed_on.insert(id, needed);
        Some(Reason::InputPending { step })
    }

    /// Whether a user of the node runs, or itself waits for this object.
    fn is_needed(&self, id: NodeId, one: &Missing) -> bool {
        let users = self.graph.users(id);
        users.iter().any(|user| match self.passed_on.get(user) {
            Some(needed) => needed.contains(one),
            None => self.work.reasons.contains_key(user),
        })
    }

    fn giver(&self, id: NodeId, one: &Missing) -> Option<NodeId> {
        giver(self.graph, self.states, id, one)
    }
}
