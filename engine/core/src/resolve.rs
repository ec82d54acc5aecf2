//! Which steps are up to date, which have to run, and why; without executing any.
//!
//! Forward, inputs first: a node whose inputs' digests are known has a key, and the ledger tells whether that key led to
//! outputs before. A node that has no known outputs is *stale*; what comes after it is *pending*, because equal outputs
//! may still make it a hit. Backward: objects that the ledger knows but the store lacks (collected as garbage, or never
//! stored) are made again only when something that runs needs them, by the node that makes them: others that pass them on
//! wait for it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use prep_cache::Digest;

use crate::graph::{Graph, GraphError, Node, NodeId};
use crate::reason::changes;
use crate::work::Work;
use crate::{Action, Context, Failure, KeyRecord, LastRuns, Reason, SourceState, StepError};

/// What is known about one node.
#[derive(Debug, Clone)]
pub enum State {
    /// Its outputs are known.
    Known {
        record: Option<KeyRecord>,
        outputs: BTreeMap<String, Digest>,
        /// The objects that they refer to.
        objects: Vec<Digest>,
        /// Those of them that the store lacks.
        missing: Vec<Missing>,
    },
    /// A sink that agrees with its inputs.
    Current { record: KeyRecord },
    /// It has to run.
    Stale {
        record: Option<KeyRecord>,
        reason: Reason,
    },
    /// It cannot be told before the named step has run.
    Pending { step: String },
}

impl State {
    /// Why a node of this state runs.
    pub(crate) fn reason(&self) -> Reason {
        match self {
            State::Stale { reason, .. } => reason.clone(),
            State::Known { missing, .. } => {
                missing.first().map_or(Reason::FirstRun, Missing::reason)
            }
            State::Current { .. } | State::Pending { .. } => Reason::FirstRun,
        }
    }
}

/// An object that the store lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Missing {
    pub object: Digest,
    /// It was never stored.
    pub is_unstored: bool,
}

impl Missing {
    /// Why a step runs that makes it.
    pub(crate) fn reason(&self) -> Reason {
        let object = self.object;
        match self.is_unstored {
            true => Reason::Unstored { object },
            false => Reason::OutputMissing { object },
        }
    }
}

/// States of all nodes.
pub struct Resolution {
    pub states: HashMap<NodeId, State>,
    /// All nodes, inputs first.
    pub order: Vec<NodeId>,
    /// Nodes that run, or may run once their inputs are known, with the reason.
    pub work: HashMap<NodeId, Reason>,
    /// What ran last time.
    pub last: Arc<LastRuns>,
}

/// Resolves the whole graph; parts of it that have nothing to do with each other side by side. Writes nothing.
pub fn resolve(
    graph: &Graph,
    context: &Context,
    variant: &str,
) -> Result<Resolution, ResolveError> {
    let order = graph.order()?;
    let last = Arc::new(LastRuns::new(&context.store, variant));
    let parts = graph.parts(&order);
    let resolved = context.spread(
        parts.len(),
        0,
        || (),
        |(), number| {
            let part = parts.get(number).map_or(&[][..], Vec::as_slice);
            Ok(resolve_part(graph, context, part, &last))
        },
    );
    let resolved = resolved.map_err(|cause| ResolveError::Step {
        step: "the graph".to_owned(),
        cause,
    })?;
    let mut states: HashMap<NodeId, State> = HashMap::with_capacity(order.len());
    for part in resolved {
        states.extend(part?);
    }
    let Work { reasons, waiting } = Work::of(graph, &order, &states);
    states.extend(waiting);
    Ok(Resolution {
        states,
        order,
        work: reasons,
        last,
    })
}

#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    #[error("{0}")]
    Graph(#[from] GraphError),
    #[error("{step}: {cause}")]
    Step {
        step: String,
        #[source]
        cause: StepError,
    },
    #[error("{0}")]
    Store(#[from] prep_cache::StoreError),
}

impl ResolveError {
    /// What the failure is about.
    pub fn failure(&self) -> Failure {
        match self {
            ResolveError::Graph(_) => Failure::Pipeline,
            ResolveError::Step { cause, .. } => cause.failure(),
            ResolveError::Store(_) => Failure::Machine,
        }
    }
}

/// The states of nodes that are fed by each other alone, inputs first.
fn resolve_part(
    graph: &Graph,
    context: &Context,
    part: &[NodeId],
    last: &LastRuns,
) -> Result<HashMap<NodeId, State>, ResolveError> {
    let mut states = HashMap::with_capacity(part.len());
    for &id in part {
        let state = resolve_node(graph, context, id, &states, last).map_err(|cause| {
            let node = graph.node(id);
            ResolveError::Step {
                step: format!("{}/{}", node.competition, node.name),
                cause,
            }
        })?;
        states.insert(id, state);
    }
    Ok(states)
}

/// The state of one node, given those of its inputs.
fn resolve_node(
    graph: &Graph,
    context: &Context,
    id: NodeId,
    states: &HashMap<NodeId, State>,
    last: &LastRuns,
) -> Result<State, StepError> {
    let mut inputs = BTreeMap::new();
    for (name, port) in graph.inputs(id) {
        match states.get(&port.node) {
            Some(State::Known { outputs, .. }) => match outputs.get(&port.output) {
                Some(digest) => inputs.insert(name, *digest),
                None => return Err(missing_output(graph, &port)),
            },
            _ => {
                return Ok(State::Pending {
                    step: graph.node(port.node).name.clone(),
                });
            }
        };
    }
    resolve_with(graph, context, id, inputs, last)
}

/// The state of one node, given the digests of its inputs.
pub(crate) fn resolve_with(
    graph: &Graph,
    context: &Context,
    id: NodeId,
    inputs: BTreeMap<String, Digest>,
    last: &LastRuns,
) -> Result<State, StepError> {
    let node = graph.node(id);
    if let Action::Source(source) = &node.action {
        return Ok(match source.state(context)? {
            SourceState::Known { value } => {
                let missing = context.store.len_of(&value).is_none().then_some(Missing {
                    object: value,
                    is_unstored: false,
                });
                State::Known {
                    record: None,
                    outputs: BTreeMap::from([("value".into(), value)]),
                    objects: Vec::new(),
                    missing: missing.into_iter().collect(),
                }
            }
            SourceState::Unread { bytes } => State::Stale {
                record: None,
                reason: Reason::Unread { bytes },
            },
            SourceState::Missing => State::Stale {
                record: None,
                reason: Reason::Missing,
            },
        });
    }
    let record = record(&node.action, inputs);
    let key = record.key();
    if let Action::Sink(sink) = &node.action {
        if sink.is_current(context, &key)? {
            return Ok(State::Current { record });
        }
        let reason = reason(last, node, &record, Reason::NotCurrent)?;
        return Ok(State::Stale {
            record: Some(record),
            reason,
        });
    }
    let is_shared = matches!(&node.action, Action::Step(step) if step.is_shared());
    let found = match is_shared {
        true => context.store.find(&key, &node.competition)?,
        false => context.store.lookup(&key)?,
    };
    match found {
        Some(entry) => {
            let missing = context.missing(&entry).into_iter();
            let missing = missing.map(|object| Missing {
                object,
                is_unstored: entry.unstored.contains(&object),
            });
            Ok(State::Known {
                record: Some(record),
                missing: missing.collect(),
                objects: [entry.references, entry.unstored].concat(),
                outputs: entry.outputs,
            })
        }
        None => {
            let reason = reason(last, node, &record, Reason::FirstRun)?;
            Ok(State::Stale {
                record: Some(record),
                reason,
            })
        }
    }
}

pub(crate) fn missing_output(graph: &Graph, port: &crate::Port) -> StepError {
    let node = graph.node(port.node);
    StepError::internal(format!(
        "step `{}` has no output `{}`",
        node.name, port.output
    ))
}

/// The key record of a step or sink.
fn record(action: &Action, inputs: BTreeMap<String, Digest>) -> KeyRecord {
    let (version, params) = match action {
        Action::Source(_) => (0, serde_json::Value::Null),
        Action::Step(step) => (step.version(), step.params()),
        Action::Sink(sink) => (sink.version(), sink.params()),
    };
    KeyRecord {
        step: action.kind().to_owned(),
        version,
        params,
        inputs,
    }
}

/// Why a node runs that has the record `new`; `same` if it had it when it last ran.
fn reason(
    last: &LastRuns,
    node: &Node,
    new: &KeyRecord,
    same: Reason,
) -> Result<Reason, StepError> {
    let steps = last.of(&node.competition).map_err(StepError::machine)?;
    let Some(before) = steps.get(&node.name) else {
        return Ok(Reason::FirstRun);
    };
    let changes = changes(&before.record, new);
    Ok(match &before.failed {
        _ if !changes.is_empty() => Reason::Changed { changes },
        Some(message) => Reason::Failed {
            message: message.clone(),
        },
        None => same,
    })
}
