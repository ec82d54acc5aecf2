//! Fifth stage: finds the steps that have to run, and why. Used by `plan`, `run` and `why`.

use std::collections::HashMap;
use std::sync::Arc;

use prep_cache::History;
use prep_core::{
    Context, Graph, LastRuns, LastSteps, NodeId, NodeState, Reason, Resolution, resolve,
};
use serde::Serialize;

use super::assemble::{AssembledCompetition, Competition};
use crate::error::Error;
use crate::reasons::readable;

/// Competitions and their steps, with the state of each step.
pub struct Plan {
    pub graph: Arc<Graph>,
    pub competitions: Vec<Competition>,
    /// Competitions that cannot be prepared, with the reason.
    pub refused: Vec<(String, Error)>,
    pub(crate) resolution: Resolution,
    /// Nodes of every competition, inputs first.
    pub(crate) nodes: HashMap<String, Vec<NodeId>>,
}

/// Whether a step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Runs {
    Yes,
    /// The step runs if the result of an earlier step changes.
    Maybe,
    No,
}

/// A step and whether it runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedStep {
    pub step: String,
    pub kind: &'static str,
    pub runs: Runs,
    #[serde(flatten)]
    pub reason: Option<Reason>,
}

impl Plan {
    /// Joins the graphs of competitions, in this order, and finds the steps that have to run since their last runs.
    ///
    /// # Errors
    /// Returns an error if the cache cannot be read, or if the work is cancelled.
    pub(super) fn resolve(
        assembled: impl Iterator<Item = (String, Result<AssembledCompetition, Error>)>,
        context: &Context,
        last: &Arc<LastRuns>,
    ) -> Result<Plan, Error> {
        let mut graph = Graph::new();
        let (mut competitions, mut refused) = (Vec::new(), Vec::new());
        for (id, assembled) in assembled {
            match assembled {
                Ok(assembled) => {
                    graph.append(assembled.graph)?;
                    competitions.push(assembled.competition);
                }
                Err(error) => refused.push((id, error)),
            }
        }
        let resolution = resolve(&graph, context, last)?;
        let mut nodes: HashMap<String, Vec<NodeId>> = HashMap::new();
        for node in &resolution.order {
            let competition = graph.node(*node).competition.clone();
            nodes.entry(competition).or_default().push(*node);
        }
        Ok(Plan {
            graph: Arc::new(graph),
            competitions,
            refused,
            resolution,
            nodes,
        })
    }

    /// Returns the plan if all competitions can be prepared.
    ///
    /// # Errors
    /// Returns the error of the first competition that cannot be prepared.
    pub fn complete(mut self) -> Result<Plan, Error> {
        match self.refused.is_empty() {
            true => Ok(self),
            false => Err(self.refused.swap_remove(0).1),
        }
    }

    /// Returns the steps of a competition, inputs first.
    ///
    /// # Errors
    /// Returns an error if the history cannot be read.
    pub fn steps(&self, id: &str) -> Result<Vec<PlannedStep>, Error> {
        let last = self.last_runs(id)?;
        let nodes = self.nodes_of(id).iter();
        Ok(nodes.map(|node| self.step(&last, *node)).collect())
    }

    /// Returns the record of the last run of each step of a competition.
    ///
    /// # Errors
    /// Returns an error if the history cannot be read.
    pub fn last_runs(&self, id: &str) -> Result<Arc<LastSteps>, Error> {
        Ok(self.resolution.last.load(id)?)
    }

    /// Returns the history of a competition in the data directory of the plan.
    ///
    /// # Errors
    /// Returns an error if the history cannot be read.
    pub fn history(&self, id: &str) -> Result<Arc<History>, Error> {
        Ok(self.resolution.last.history(id)?)
    }

    /// Returns the number of steps that run or may run, by competition.
    pub fn work(&self) -> HashMap<String, usize> {
        let mut work = HashMap::new();
        for node in self.resolution.work.keys() {
            let competition = self.graph.node(*node).competition.clone();
            *work.entry(competition).or_default() += 1;
        }
        work
    }

    pub(crate) fn nodes_of(&self, id: &str) -> &[NodeId] {
        self.nodes.get(id).map_or(&[][..], Vec::as_slice)
    }

    fn step(&self, last: &LastSteps, id: NodeId) -> PlannedStep {
        let node = self.graph.node(id);
        let ran = last.contains_key(&node.name);
        let state = self.resolution.states.get(&id);
        let (runs, reason) = match (state, self.resolution.work.get(&id).cloned()) {
            (_, None) => (Runs::No, None),
            // The step has never run, so it runs whether or not its inputs change.
            (Some(NodeState::Pending { .. }), Some(_)) if !ran => {
                (Runs::Yes, Some(Reason::FirstRun))
            }
            (Some(NodeState::Pending { .. }), reason) => (Runs::Maybe, reason),
            (_, reason) => (Runs::Yes, reason),
        };
        PlannedStep {
            step: node.name.clone(),
            kind: node.action.kind(),
            runs,
            reason: reason.map(readable),
        }
    }
}
