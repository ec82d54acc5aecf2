//! The order in which nodes start.

use std::collections::HashMap;
use std::time::Instant;

use crate::graph::NodeId;

/// Nodes that have not started: those that wait for other nodes, those that are ready, and those whose lock another
/// process holds.
pub(super) struct NodeQueue {
    /// If true, the node that became ready first starts first. Otherwise the node that became ready last does.
    oldest_first: bool,
    /// For each node, the number of nodes that have to end before it can start.
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
    /// The node was first set aside because its lock was taken.
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

    /// Returns an empty queue that starts nodes in the same order.
    pub fn empty_copy(&self) -> NodeQueue {
        NodeQueue::new(self.oldest_first)
    }

    /// Adds a node that starts after `dependencies` other nodes have ended.
    pub fn add(&mut self, id: NodeId, dependencies: usize) {
        self.waiting.insert(id, dependencies);
        if dependencies == 0 {
            self.make_ready(id);
        }
    }

    /// Records that a dependency of `id` has ended. Returns whether it was the last one.
    pub fn count_down(&mut self, id: NodeId) -> bool {
        let Some(count) = self.waiting.get_mut(&id) else {
            return false;
        };
        *count = count.saturating_sub(1);
        *count == 0
    }

    /// Adds a node that is ready. Without `oldest_first`, it is the next node to start.
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

    /// Puts a node back that could not be started. It is the next node to start.
    pub fn put_back(&mut self, id: NodeId) {
        match self.oldest_first {
            true => self.ready.insert(0, id),
            false => self.ready.push(id),
        }
    }

    /// Sets a node aside because another process holds its lock.
    pub fn block(&mut self, id: NodeId) {
        self.blocked.push(id);
        let times = self.times.entry(id).or_insert_with(WaitStart::now);
        times.blocked.get_or_insert_with(Instant::now);
    }

    /// Returns whether nodes wait for locks of other processes.
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

    /// Removes ready nodes for which `is_kept` returns false.
    pub fn retain_ready(&mut self, is_kept: impl Fn(&NodeId) -> bool) {
        self.ready.retain(is_kept);
    }

    /// Returns whether a node was added.
    pub fn contains(&self, id: NodeId) -> bool {
        self.waiting.contains_key(&id)
    }

    /// Returns all nodes that were added.
    pub fn all(&self) -> impl Iterator<Item = NodeId> {
        self.waiting.keys().copied()
    }
}
