//! The order in which nodes start.

use std::collections::HashMap;
use std::time::Instant;

use crate::graph::NodeId;

/// Nodes that have not started: those that wait for other nodes, those that are ready, and those whose lock another
/// process holds.
pub(super) struct NodeQueue {
    /// Whether the node that became ready first starts first. Otherwise the one that became ready last.
    oldest_first: bool,
    /// Number of feeding nodes that have not ended yet.
    waiting: HashMap<NodeId, usize>,
    ready: Vec<NodeId>,
    /// Nodes whose lock another process holds.
    blocked: Vec<NodeId>,
    times: HashMap<NodeId, WaitStart>,
}

/// Times at which a node began to wait.
#[derive(Clone, Copy)]
pub(super) struct WaitStart {
    /// The node became ready.
    pub ready: Instant,
    /// The lock of the node was first found taken.
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

    /// Returns a queue without nodes that has the same order.
    pub fn emptied(&self) -> NodeQueue {
        NodeQueue::new(self.oldest_first)
    }

    /// Adds a node that starts after `feeding` other nodes have ended.
    pub fn add(&mut self, id: NodeId, feeding: usize) {
        self.waiting.insert(id, feeding);
        if feeding == 0 {
            self.make_ready(id);
        }
    }

    /// Notes that a feeding node of `id` has ended. Returns whether it was the last one.
    pub fn count_down(&mut self, id: NodeId) -> bool {
        let Some(count) = self.waiting.get_mut(&id) else {
            return false;
        };
        *count = count.saturating_sub(1);
        *count == 0
    }

    /// Adds a ready node. Without `oldest_first`, it is the next one.
    pub fn make_ready(&mut self, id: NodeId) {
        self.ready.push(id);
        self.times.insert(id, WaitStart::now());
    }

    /// Removes and returns the next node, and the times at which it began to wait.
    pub fn pop(&mut self) -> Option<(NodeId, WaitStart)> {
        let id = match self.oldest_first {
            true if !self.ready.is_empty() => self.ready.remove(0),
            true => return None,
            false => self.ready.pop()?,
        };
        let times = self.times.get(&id).copied();
        Some((id, times.unwrap_or_else(WaitStart::now)))
    }

    /// Adds a node back that could not be started. It is the next one again.
    pub fn put_back(&mut self, id: NodeId) {
        match self.oldest_first {
            true => self.ready.insert(0, id),
            false => self.ready.push(id),
        }
    }

    /// Sets a node aside whose lock another process holds.
    pub fn block(&mut self, id: NodeId) {
        self.blocked.push(id);
        let times = self.times.entry(id).or_insert_with(WaitStart::now);
        times.blocked.get_or_insert_with(Instant::now);
    }

    /// Whether other processes hold locks of nodes.
    pub fn has_blocked(&self) -> bool {
        !self.blocked.is_empty()
    }

    /// Makes blocked nodes ready again.
    pub fn retry_blocked(&mut self) {
        self.ready.extend(self.blocked.drain(..).rev());
    }

    /// Drops the blocked nodes, which then never start.
    pub fn drop_blocked(&mut self) {
        self.blocked.clear();
    }

    /// Removes ready nodes for which this does not hold.
    pub fn retain_ready(&mut self, holds: impl Fn(&NodeId) -> bool) {
        self.ready.retain(holds);
    }

    /// Whether a node was added.
    pub fn contains(&self, id: NodeId) -> bool {
        self.waiting.contains_key(&id)
    }

    /// All nodes that were added.
    pub fn all(&self) -> impl Iterator<Item = NodeId> {
        self.waiting.keys().copied()
    }
}
