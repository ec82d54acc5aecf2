//! The graph of the steps of all selected competitions.

pub(crate) mod value;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use petgraph::Direction;
use petgraph::algo::toposort;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::unionfind::UnionFind;
use petgraph::visit::EdgeRef;
use prep_cache::Digest;
use thiserror::Error;

use crate::{Context, Failure, StepError, Value};

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
    /// Name of the step, unique within its competition: `train`, `public/train.csv`.
    pub name: String,
    /// The action of the node.
    pub action: Action,
}

#[derive(Debug, Clone)]
pub(crate) struct Edge {
    pub input: String,
    pub output: String,
}

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

    /// Adds a node with its inputs. Fails if the competition already has a node with this name.
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

    /// Adds all nodes of another graph. Fails if both graphs have the same step of the same competition.
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

    /// Groups the nodes of `order` into connected components, each in the order of `order`.
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

    /// Returns whether the graph has no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all nodes in topological order, inputs first. Fails if the graph has a cycle.
    pub fn order(&self) -> Result<Vec<NodeId>, GraphError> {
        toposort(&self.nodes, None).map_err(|cycle| {
            let node = &self.nodes[cycle.node_id()];
            GraphError::Cycle(format!("{}/{}", node.competition, node.name))
        })
    }

    /// Returns the inputs of a node, sorted by name, with the outputs that they read.
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

    /// Returns the nodes that use an output of this node.
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

/// Input values of a step by input name.
pub type Inputs = BTreeMap<String, Value>;
/// Output values of a step by output name.
pub type Outputs = BTreeMap<String, Value>;

/// A pure function of the content of its inputs.
///
/// If kind, version, parameters and input digests are equal, the outputs must be equal, on any machine and with any number
/// of threads. The engine finds results by these four values, and shares results between machines.
pub trait Step: Send + Sync {
    /// Returns the name of the kind, one word.
    fn kind(&self) -> &'static str;
    /// Returns the version of the kind. Raise it if a change of the code changes outputs.
    fn version(&self) -> u32;
    /// Returns the normalised parameters: only values that affect the outputs.
    fn params(&self) -> serde_json::Value;
    /// Returns whether the result may come from another machine. Checks return false, because each machine repeats them.
    fn is_shared(&self) -> bool {
        true
    }
    /// Returns a rough upper bound of the step's memory in bytes. The scheduler claims it before the step runs.
    fn memory(&self, _inputs: &Inputs) -> u64 {
        64 << 20
    }
    /// Computes the outputs.
    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError>;
}

/// The state of a source, determined without reading its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceState {
    /// The digest of the content is known from an earlier run. The content itself may be deleted.
    Known {
        /// Digest of the value that [`Source::run`] would return.
        value: Digest,
    },
    /// The source was never read, or has changed since.
    Unread {
        /// Size of the content in bytes.
        bytes: u64,
    },
    /// The source cannot be read, or was read and is invalid. It has not changed since, so a run would fail.
    Rejected {
        /// The error.
        message: String,
        /// The kind of the error.
        failure: Failure,
    },
    /// The content is not on this machine. [`Source::run`] tries to fetch it.
    Missing,
}

/// Reads bytes from outside the cache, and identifies them by digest.
pub trait Source: Send + Sync {
    /// Returns the name of the kind.
    fn kind(&self) -> &'static str;
    /// Returns the state of the source without reading its content. If another machine has recorded the digest of the
    /// content, an implementation may write this digest to the cache, but nothing else.
    fn state(&self, context: &Context) -> Result<SourceState, StepError>;
    /// Reads the source. Fetches its content first if necessary.
    fn run(&self, context: &Context) -> Result<Value, StepError>;
    /// Returns the error with which [`run`](Self::run) fails if the source is [`SourceState::Missing`], and if this error is
    /// certain without reading a file or sending a request.
    fn obstacle(&self, _context: &Context) -> Option<StepError> {
        None
    }
    /// Returns the path of the content, for steps that read it in place. `None` if the content is not on this machine.
    fn location(&self) -> Option<PathBuf>;
}

/// Updates a target outside the cache, such as a directory.
pub trait Sink: Send + Sync {
    /// Returns the name of the kind.
    fn kind(&self) -> &'static str;
    /// Returns the version of the kind's behaviour.
    fn version(&self) -> u32;
    /// Returns the normalised parameters, like [`Step::params`].
    fn params(&self) -> serde_json::Value;
    /// Describes how the target differs from the state that `key` identifies. `None` if it does not differ.
    fn difference(&self, context: &Context, key: &Digest) -> Result<Option<String>, StepError>;
    /// Returns a file that the engine creates and locks while the sink runs, so that no other process changes the target.
    fn lock(&self) -> Option<PathBuf> {
        None
    }
    /// Returns an upper bound of the memory of the sink's first thread, in bytes. [`Context::map_parallel`] claims the memory
    /// of additional threads.
    fn memory(&self, _inputs: &Inputs) -> u64 {
        64 << 20
    }
    /// Brings the target into the state that `key` identifies.
    fn run(&self, context: &Context, key: &Digest, inputs: &Inputs) -> Result<(), StepError>;
}

/// The action of a node of the graph.
pub enum Action {
    /// Reads content from outside the cache.
    Source(Box<dyn Source>),
    /// Computes outputs from inputs.
    Step(Box<dyn Step>),
    /// Updates a target outside the cache.
    Sink(Box<dyn Sink>),
}

impl Action {
    /// Returns the name of the action's kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Action::Source(source) => source.kind(),
            Action::Step(step) => step.kind(),
            Action::Sink(sink) => sink.kind(),
        }
    }
}
