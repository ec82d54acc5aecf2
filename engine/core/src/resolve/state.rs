//! The states of nodes, and the work that follows from them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use prep_cache::Digest;

use crate::graph::NodeId;
use crate::{KeyRecord, LastRuns, Reason};

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
        /// The objects among them that are missing from the cache.
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
    /// The state of the step depends on the named step, which has to run first.
    Pending {
        /// `competition/step`.
        step: String,
    },
}

impl NodeState {
    /// Returns the reason why a node in this state runs.
    pub(crate) fn reason(&self) -> Reason {
        match self {
            NodeState::Stale { reason, .. } => reason.clone(),
            NodeState::Known { missing, .. } => missing
                .first()
                .map_or(Reason::FirstRun, MissingObject::reason),
            NodeState::Current { .. } | NodeState::Pending { .. } => Reason::FirstRun,
        }
    }
}

/// An object that is missing from the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingObject {
    /// Digest of the object.
    pub object: Digest,
    /// Whether it was only kept in memory and never stored.
    pub is_unstored: bool,
}

impl MissingObject {
    /// Returns the reason why the step that produces the object runs.
    pub(crate) fn reason(&self) -> Reason {
        let object = self.object;
        match self.is_unstored {
            true => Reason::Unstored { object },
            false => Reason::OutputMissing { object },
        }
    }
}

/// The states of all nodes, and the work that follows from them.
pub struct Resolution {
    /// The state of each node.
    pub states: HashMap<NodeId, NodeState>,
    /// All nodes, inputs first.
    pub order: Vec<NodeId>,
    /// Nodes that run, or may run once their inputs are known, with the reason.
    pub work: HashMap<NodeId, Reason>,
    /// The missing objects that nodes pass on to a node that runs. Such a node waits for these objects, and its other
    /// missing objects are not needed.
    pub(crate) passed_on: HashMap<NodeId, BTreeSet<MissingObject>>,
    /// The last runs of the steps.
    pub last: Arc<LastRuns>,
}
