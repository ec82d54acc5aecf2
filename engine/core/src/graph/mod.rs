//! The graph of the steps of all selected competitions.

pub(crate) mod action;
pub(crate) mod key;
pub(crate) mod value;

use std::collections::HashMap;

use petgraph::Direction;
use petgraph::algo::toposort;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::unionfind::UnionFind;
use petgraph::visit::EdgeRef;
use thiserror::Error;

use crate::Action;

/// Identifies a node of one graph.
pub type NodeId = NodeIndex<u32>;

/// One output of a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Port {
    /// The node.
    pub node: NodeId,
    /// Name of the output.
    pub output: String,
}

/// A node of the graph.
pub struct Node {
    /// Id of the competition.
    pub competition: String,
    /// Name of the step within its competition, as shown to users: `train`, `public/train.csv`.
    pub name: String,
    /// The action of the node.
    pub action: Action,
}

/// An input of a node: its name, and the name of the output that it reads.
#[derive(Debug, Clone)]
pub(crate) struct Edge {
    pub input: String,
    pub output: String,
}

/// Returns the number of a node.
fn index(id: NodeId) -> u32 {
    id.index() as u32
}

/// An error in the structure of a graph.
#[derive(Debug, Error)]
pub enum GraphError {
    /// The named step depends on itself.
    #[error("step `{0}` depends on itself")]
    Cycle(String),
    /// Two steps of a competition have the same name.
    #[error("two steps are called `{0}`")]
    Duplicate(String),
}

/// A graph of steps. An edge leads from an output of one node to an input of another.
#[derive(Default)]
pub struct Graph {
    nodes: DiGraph<Node, Edge>,
    names: HashMap<(String, String), NodeId>,
}

impl Graph {
    /// Creates an empty graph.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// Adds a node with its inputs. Names are unique within a competition.
    ///
    /// # Errors
    /// If the competition already has a node with this name.
    pub fn add(
        &mut self,
        competition: &str,
        name: &str,
        action: Action,
        inputs: Vec<(String, Port)>,
    ) -> Result<NodeId, GraphError> {
        let label = (competition.to_owned(), name.to_owned());
        if self.names.contains_key(&label) {
            return Err(GraphError::Duplicate(format!("{competition}/{name}")));
        }
        let id = self.nodes.add_node(Node {
            competition: competition.to_owned(),
            name: name.to_owned(),
            action,
        });
        self.names.insert(label, id);
        for (input, port) in inputs {
            self.nodes.add_edge(
                port.node,
                id,
                Edge {
                    input,
                    output: port.output,
                },
            );
        }
        Ok(id)
    }

    /// Adds all nodes of another graph.
    ///
    /// # Errors
    /// If both graphs have a step with the same name in the same competition.
    pub fn append(&mut self, other: Graph) -> Result<(), GraphError> {
        let before = self.nodes.node_count();
        for (competition, name) in other.names.keys() {
            if self.find(competition, name).is_some() {
                return Err(GraphError::Duplicate(format!("{competition}/{name}")));
            }
        }
        // Nodes are numbered from 0 without gaps, because no node is ever removed.
        let moved = |id: NodeId| NodeId::new(before + id.index());
        let (nodes, edges) = other.nodes.into_nodes_edges();
        for node in nodes {
            self.nodes.add_node(node.weight);
        }
        for edge in edges {
            let (from, to) = (moved(edge.source()), moved(edge.target()));
            self.nodes.add_edge(from, to, edge.weight);
        }
        let names = other.names.into_iter();
        self.names
            .extend(names.map(|(label, id)| (label, moved(id))));
        Ok(())
    }

    /// Groups the nodes of `order` into connected components. Each component keeps the order.
    pub(crate) fn components(&self, order: &[NodeId]) -> Vec<Vec<NodeId>> {
        let mut sets = UnionFind::<u32>::new(self.nodes.node_count());
        for edge in self.nodes.edge_references() {
            sets.union(index(edge.source()), index(edge.target()));
        }
        let mut numbers: HashMap<u32, usize> = HashMap::new();
        let mut components: Vec<Vec<NodeId>> = Vec::new();
        for id in order {
            let root = sets.find(index(*id));
            let number = *numbers.entry(root).or_insert(components.len());
            if number == components.len() {
                components.push(Vec::new());
            }
            if let Some(component) = components.get_mut(number) {
                component.push(*id);
            }
        }
        components
    }

    /// Returns a node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id]
    }

    /// Finds a node by competition and name.
    pub fn find(&self, competition: &str, name: &str) -> Option<NodeId> {
        self.names
            .get(&(competition.to_owned(), name.to_owned()))
            .copied()
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.node_count()
    }

    /// Whether the graph has no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all nodes, so that each node comes after its inputs.
    ///
    /// # Errors
    /// If the graph has a cycle.
    pub fn order(&self) -> Result<Vec<NodeId>, GraphError> {
        toposort(&self.nodes, None).map_err(|cycle| {
            let node = &self.nodes[cycle.node_id()];
            GraphError::Cycle(format!("{}/{}", node.competition, node.name))
        })
    }

    /// Returns the inputs of a node: the name of each input, and the output that it reads.
    pub fn inputs(&self, id: NodeId) -> Vec<(String, Port)> {
        let mut inputs: Vec<(String, Port)> = self
            .nodes
            .edges_directed(id, Direction::Incoming)
            .map(|edge| {
                let weight = edge.weight();
                (
                    weight.input.clone(),
                    Port {
                        node: edge.source(),
                        output: weight.output.clone(),
                    },
                )
            })
            .collect();
        inputs.sort_by(|a, b| a.0.cmp(&b.0));
        inputs
    }

    /// Returns the nodes that use an output of this node, each once.
    pub fn users(&self, id: NodeId) -> Vec<NodeId> {
        let mut users: Vec<NodeId> = self
            .nodes
            .neighbors_directed(id, Direction::Outgoing)
            .collect();
        users.sort();
        users.dedup();
        users
    }
}
