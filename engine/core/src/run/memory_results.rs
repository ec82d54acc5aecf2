//! Tracks the results that are kept in memory and the nodes that may still need them.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use prep_cache::Digest;

use crate::graph::NodeId;
use crate::objects::MemoryResult;

/// Results in memory, each with the nodes that may need it and have not ended. A result without such nodes is dropped.
#[derive(Default)]
pub(super) struct MemoryResults(Vec<(Arc<MemoryResult>, HashSet<NodeId>)>);

impl MemoryResults {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the results `held` of a node. Registers `users` for those of `objects` that are in memory, including
    /// results that the node only passed on.
    pub fn give(
        &mut self,
        held: Vec<Arc<MemoryResult>>,
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

    /// Drops the registrations of nodes for which `may_want` is false, and results that no node needs any more.
    pub fn retain(&mut self, may_want: impl Fn(NodeId) -> bool) {
        for (_, wanted_by) in &mut self.0 {
            wanted_by.retain(|id| may_want(*id));
        }
        self.0.retain(|(_, wanted_by)| !wanted_by.is_empty());
    }
}
