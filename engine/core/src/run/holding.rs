//! Which results are held in memory, and for which steps.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use prep_cache::Digest;

use crate::graph::NodeId;
use crate::objects::Held;

/// Results in memory, each with the nodes that may want it and have not ended. Without such nodes it goes.
#[derive(Default)]
pub(super) struct Holding(Vec<(Arc<Held>, HashSet<NodeId>)>);

impl Holding {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A node holds these results, or passes on what it was given; `users` are given those of `objects`.
    pub fn give(
        &mut self,
        held: Vec<Arc<Held>>,
        objects: &BTreeSet<Digest>,
        users: &HashSet<NodeId>,
    ) {
        self.0
            .extend(held.into_iter().map(|held| (held, HashSet::new())));
        for (held, wanted_by) in &mut self.0 {
            if objects.contains(held.object()) {
                wanted_by.extend(users);
            }
        }
    }

    /// Only these nodes may want anything still.
    pub fn retain(&mut self, may_want: impl Fn(NodeId) -> bool) {
        for (_, wanted_by) in &mut self.0 {
            wanted_by.retain(|id| may_want(*id));
        }
        self.0.retain(|(_, wanted_by)| !wanted_by.is_empty());
    }
}
