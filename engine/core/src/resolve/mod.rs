//! Determines, without running any step, which steps are up to date, and why the others have to run.
//!
//! The first pass visits each node after its inputs. A node whose input digests are known has a key. If the ledger has no
//! entry for the key, the node is *stale*. The nodes that use outputs of a stale node are *pending*. If the stale node
//! produces the same outputs as before, the pending nodes do not run.
//!
//! The second pass visits each node before its inputs. If an object is missing from the cache, the node that produced it
//! runs again only if another node that runs needs the object. Some nodes only pass on a reference to the object. They wait
//! for the node that produces it.

pub(crate) mod causes;
pub(crate) mod work;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use prep_cache::{Digest, StepResult};

use crate::graph::{Graph, GraphError, Node, NodeId};
use crate::resolve::causes::changes;
use crate::resolve::work::Work;
use crate::{
    Action, Context, Failure, KeyRecord, LastRuns, Reason, Sink, Source, SourceState, Step,
    StepError,
};
use work::{Absence, MissingObject, NodeState, Resolution};

/// Determines the state of each node, and which nodes have to run. Connected components of the graph are resolved
/// concurrently. `last` contains the last runs, which explain why a step runs again.
pub fn resolve(
    graph: &Graph,
    context: &Context,
    last: &Arc<LastRuns>,
) -> Result<Resolution, ResolveError> {
    let order = graph.order()?;
    let parts = graph.components(&order);
    let resolved = context.map_in_order(&parts, 0, |part| {
        Ok(resolve_part(graph, context, part, last))
    });
    let resolved = resolved.map_err(ResolveError::Stopped)?;
    let mut states: HashMap<NodeId, NodeState> = HashMap::with_capacity(order.len());
    let mut failed: Vec<Box<NodeError>> = Vec::new();
    for part in resolved {
        match part {
            Ok(part) => states.extend(part),
            // Several components may contain nodes of the same competition. Only the first error of a competition is kept.
            Err(error)
                if failed
                    .iter()
                    .any(|other| other.competition == error.competition) => {}
            Err(error) => failed.push(error),
        }
    }
    let mut failed = failed.into_iter();
    if let Some(first) = failed.next() {
        let others = failed.map(|error| *error).collect();
        return Err(ResolveError::Nodes { first, others });
    }
    let Work {
        reasons,
        waiting,
        passed_on,
    } = Work::new(graph, &order, &states);
    states.extend(waiting);
    Ok(Resolution {
        states,
        order,
        work: reasons,
        passed_on,
        last: last.clone(),
    })
}

/// An error of the resolution.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// The graph contains a cycle or a duplicate name.
    #[error("{0}")]
    Graph(#[from] GraphError),
    /// Nodes cannot be examined, for example because the cache has a directory that the user may not enter.
    #[error("{first}")]
    Nodes {
        /// The first node that cannot be examined.
        #[source]
        first: Box<NodeError>,
        /// The first node of each other competition that has such nodes.
        others: Vec<NodeError>,
    },
    /// The user stopped the resolution.
    #[error(transparent)]
    Stopped(StepError),
    /// The cache cannot be read.
    #[error("{0}")]
    Store(#[from] prep_cache::StoreError),
}
/// A node that cannot be examined.
#[derive(Debug, thiserror::Error)]
#[error("{competition}/{step}")]
pub struct NodeError {
    /// The competition of the node.
    pub competition: String,
    /// The name of the node.
    pub step: String,
    /// The cause.
    #[source]
    pub cause: StepError,
}

impl NodeError {
    /// Returns the kind of failure.
    pub fn failure(&self) -> Failure {
        self.cause.failure()
    }
}

impl ResolveError {
    /// Returns the kind of failure.
    pub fn failure(&self) -> Failure {
        match self {
            ResolveError::Graph(_) => Failure::Pipeline,
            ResolveError::Nodes { first, .. } => first.failure(),
            ResolveError::Stopped(cause) => cause.failure(),
            ResolveError::Store(_) => Failure::Machine,
        }
    }
}

/// Returns the states of the nodes in `part`, a connected component in topological order.
fn resolve_part(
    graph: &Graph,
    context: &Context,
    part: &[NodeId],
    last: &LastRuns,
) -> Result<HashMap<NodeId, NodeState>, Box<NodeError>> {
    let mut states = HashMap::with_capacity(part.len());
    let mut results: Vec<(NodeId, StepResult)> = Vec::new();
    for &id in part {
        let resolved = resolve_node(graph, context, id, &states, last);
        let (state, result) = resolved.map_err(|cause| {
            let node = graph.node(id);
            Box::new(NodeError {
                competition: node.competition.clone(),
                step: node.name.clone(),
                cause,
            })
        })?;
        states.insert(id, state);
        results.extend(result.map(|result| (id, result)));
    }
    let runs =
        |state: &NodeState| matches!(state, NodeState::Stale { .. } | NodeState::Pending { .. });
    let any_runs = states.values().any(runs);
    for (id, result) in results {
        // If no node runs, no node needs an object. Only `Resolution::unstored` uses missing objects then.
        if (any_runs || !result.unstored.is_empty())
            && let Some(NodeState::Known { missing, .. }) = states.get_mut(&id)
        {
            *missing = missing_objects(context, &result);
        }
    }
    Ok(states)
}

fn missing_objects(context: &Context, result: &StepResult) -> Vec<MissingObject> {
    let missing = context.missing(result).into_iter();
    let missing = missing.map(|object| MissingObject {
        object,
        absence: match result.unstored.contains(&object) {
            true => Absence::Unstored,
            false => Absence::Removed,
        },
    });
    missing.collect()
}

fn resolve_node(
    graph: &Graph,
    context: &Context,
    id: NodeId,
    states: &HashMap<NodeId, NodeState>,
    last: &LastRuns,
) -> Result<(NodeState, Option<StepResult>), StepError> {
    let mut inputs = BTreeMap::new();
    for (name, port) in graph.inputs(id) {
        match states.get(&port.node) {
            Some(NodeState::Known { outputs, .. }) => match outputs.get(&port.output) {
                Some(digest) => inputs.insert(name, *digest),
                None => return Err(missing_output(graph, &port)),
            },
            _ => {
                let step = graph.node(port.node).name.clone();
                return Ok((NodeState::Pending { step }, None));
            }
        };
    }
    state_with(graph, context, id, inputs, last)
}

/// Returns the state of a node whose input digests are known.
pub(crate) fn resolve_with(
    graph: &Graph,
    context: &Context,
    id: NodeId,
    inputs: BTreeMap<String, Digest>,
    last: &LastRuns,
) -> Result<NodeState, StepError> {
    let (mut state, result) = state_with(graph, context, id, inputs, last)?;
    if let (NodeState::Known { missing, .. }, Some(result)) = (&mut state, result) {
        *missing = missing_objects(context, &result);
    }
    Ok(state)
}

/// Same as [`resolve_with`], but a state with a cached result does not list the missing objects yet. The cached result is
/// returned, too.
fn state_with(
    graph: &Graph,
    context: &Context,
    id: NodeId,
    inputs: BTreeMap<String, Digest>,
    last: &LastRuns,
) -> Result<(NodeState, Option<StepResult>), StepError> {
    let node = graph.node(id);
    let record = match &node.action {
        Action::Source(source) => return Ok((source_state(node, &**source, context, last)?, None)),
        Action::Step(step) => KeyRecord::of_step(&**step, inputs),
        Action::Sink(sink) => KeyRecord::of_sink(&**sink, inputs),
    };
    let key = record.key();
    if let Action::Sink(sink) = &node.action {
        let Some(difference) = sink.difference(context, &key)? else {
            return Ok((NodeState::Current { record }, None));
        };
        let reason = reason(last, node, &record, Reason::NotCurrent { difference })?;
        let record = Some(record);
        return Ok((NodeState::Stale { record, reason }, None));
    }
    let is_shared = matches!(&node.action, Action::Step(step) if step.is_shared());
    let found = match is_shared {
        true => context.store.find(&key, &node.competition)?,
        false => context.store.lookup_result(&key)?,
    };
    let Some(result) = found else {
        let reason = reason(last, node, &record, Reason::ResultMissing)?;
        let record = Some(record);
        return Ok((NodeState::Stale { record, reason }, None));
    };
    let state = NodeState::Known {
        record: Some(record),
        outputs: result.outputs.clone(),
        objects: [&*result.references, &result.unstored].concat(),
        missing: Vec::new(),
    };
    Ok((state, Some(result)))
}

fn source_state(
    node: &Node,
    source: &dyn Source,
    context: &Context,
    last: &LastRuns,
) -> Result<NodeState, StepError> {
    let stale = |reason| NodeState::Stale {
        record: None,
        reason,
    };
    Ok(match source.state(context)? {
        SourceState::Known { value } => {
            let is_missing = context.store.len_of(&value).is_none();
            let absence = || match last.load(&node.competition) {
                Ok(last) if !last.contains_key(&node.name) => Ok(Absence::Rejected),
                last => last.map(|_| Absence::Removed),
            };
            let missing = match is_missing {
                true => Some(MissingObject {
                    object: value,
                    absence: absence().map_err(StepError::machine)?,
                }),
                false => None,
            };
            NodeState::Known {
                record: None,
                outputs: BTreeMap::from([("value".into(), value)]),
                objects: Vec::new(),
                missing: missing.into_iter().collect(),
            }
        }
        SourceState::Unread { bytes } => stale(Reason::Unread { bytes }),
        SourceState::Rejected { message, .. } => stale(Reason::Failed { message }),
        SourceState::Missing => stale(Reason::Missing),
    })
}

pub(crate) fn missing_output(graph: &Graph, port: &crate::Port) -> StepError {
    let node = graph.node(port.node);
    StepError::internal(format!(
        "step `{}` has no output `{}`",
        node.name, port.output
    ))
}

impl KeyRecord {
    fn of_step(step: &dyn Step, inputs: BTreeMap<String, Digest>) -> KeyRecord {
        KeyRecord {
            step: step.kind().to_owned(),
            version: step.version(),
            params: step.params(),
            inputs,
        }
    }

    fn of_sink(sink: &dyn Sink, inputs: BTreeMap<String, Digest>) -> KeyRecord {
        KeyRecord {
            step: sink.kind().to_owned(),
            version: sink.version(),
            params: sink.params(),
            inputs,
        }
    }
}

/// Returns why a node with the key record `new` runs. `same` is the reason if the last publication had the same record.
fn reason(
    last: &LastRuns,
    node: &Node,
    new: &KeyRecord,
    same: Reason,
) -> Result<Reason, StepError> {
    let steps = last.load(&node.competition).map_err(StepError::machine)?;
    let Some(before) = steps.get(&node.name) else {
        return Ok(Reason::FirstRun);
    };
    match &before.failed {
        Some(message) if before.record == *new => {
            return Ok(Reason::Failed {
                message: message.clone(),
            });
        }
        Some(_) => {}
        None => return Ok(changed(&before.record, new).unwrap_or(same)),
    }
    let published = last.published(&node.competition);
    let published = published.map_err(StepError::machine)?;
    let before = published.get(&node.name).unwrap_or(before);
    Ok(changed(&before.record, new).unwrap_or(same))
}

/// Returns the reason to run a step whose key record changed. `None` if it did not change.
pub(crate) fn changed(old: &KeyRecord, new: &KeyRecord) -> Option<Reason> {
    let changes = changes(old, new);
    (!changes.is_empty()).then_some(Reason::Changed { changes })
}
