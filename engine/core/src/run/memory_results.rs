//! Tracks the results that are kept in memory and the nodes that may still need them.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use prep_cache::Digest;

use crate::context::objects::MemoryResult;
use crate::graph::NodeId;

/// Results in memory, each with the nodes that may need it and have not ended. A result is dropped when no such node is
/// left.
#[derive(Default)]
pub(super) struct MemoryResults(Vec<(Arc<MemoryResult>, HashSet<NodeId>)>);

impl MemoryResults {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the results `held` of a node. Registers `users` for each result in memory that is one of `objects`,
    /// including results that the node only passed on.
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

    /// Drops the registrations of nodes for which `may_need` is false, and results that no node needs any more.
    pub fn retain(&mut self, may_need: impl Fn(NodeId) -> bool) {
        for (_, users_left) in &mut self.0 {
            users_left.retain(|id| may_need(*id));
        }
        self.0.retain(|(_, users_left)| !users_left.is_empty());
    }
}
