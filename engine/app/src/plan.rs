//! What would be done, and why: the one answer that a plan, a run and the question "why" share.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use prep_cache::Store;
use prep_core::{
    Action, Cancel, Context, Graph, LastSteps, NodeId, Reason, Resolution, State, resolve,
};
use prep_fetch::LazyNetwork;
use serde::Serialize;

use crate::ask::ask_all;
use crate::assemble::{Around, Assembly, Competition, assemble};
use crate::catalog::Catalog;
use crate::disk::Peak;
use crate::error::Error;
use crate::forecast::{self, Download};
use crate::loading::Loader;
use crate::settings::{Options, Settings};
use crate::sources::Missing;

/// Something that is asked for.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    pub settings: &'a Settings,
    pub catalog: &'a Catalog,
    pub options: &'a Options,
    pub network: &'a LazyNetwork,
}

/// Competitions, their steps, and what becomes of these.
pub struct Plan {
    pub graph: Arc<Graph>,
    pub competitions: Vec<Competition>,
    /// Those that cannot be prepared at all, and why.
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
    /// If something before it gives another result than last time.
    Maybe,
    No,
}

/// A step and what becomes of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedStep {
    pub step: String,
    pub kind: &'static str,
    pub runs: Runs,
    #[serde(flatten)]
    pub reason: Option<Reason>,
}

impl Plan {
    /// The plan of a task. Writes nothing, not even a store.
    ///
    /// # Errors
    /// When nothing can be planned at all; what is wrong with single competitions is in the result.
    pub fn look(task: &Task<'_>, ids: &[String]) -> Result<Plan, Error> {
        let store = task.settings.below(Store::look(&task.settings.store_dir)?);
        let context = Context::new(store, task.settings.limits(), Cancel::default());
        Plan::make(task, ids, &prep_sql::Session::planner(), &context)
    }

    pub(crate) fn make(
        task: &Task<'_>,
        ids: &[String],
        engine: &prep_sql::Session,
        context: &Context,
    ) -> Result<Plan, Error> {
        let around = Around {
            settings: task.settings,
            loader: &Loader::new(&context.store, &task.settings.program),
            engine,
            network: task.network,
            context,
        };
        let Assembly {
            graph,
            competitions,
            refused,
        } = assemble(ids, task.options, &around, task.catalog)?;
        let variant = &task.options.variant;
        let resolution = resolve(&graph, context, variant)?;
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

    /// The steps of a competition, inputs first.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub fn steps(&self, id: &str) -> Result<Vec<PlannedStep>, Error> {
        let last = self.last_runs(id)?;
        let nodes = self.nodes_of(id).iter();
        Ok(nodes.map(|node| self.step(&last, *node)).collect())
    }

    /// What is known of the last run of each step of a competition.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub fn last_runs(&self, id: &str) -> Result<Arc<LastSteps>, Error> {
        Ok(self.resolution.last.of(id)?)
    }

    /// How many steps of each competition run, or may run.
    pub fn work(&self) -> HashMap<String, usize> {
        let mut work = HashMap::new();
        for node in self.resolution.work.keys() {
            let competition = self.graph.node(*node).competition.clone();
            *work.entry(competition).or_default() += 1;
        }
        work
    }

    /// Bundles, and files of further sources, that are wanted and not there.
    pub fn missing(&self) -> Vec<Missing<'_>> {
        let mut missing = Vec::new();
        for competition in &self.competitions {
            for node in self.nodes_of(&competition.id) {
                let is_missing = self.resolution.work.get(node) == Some(&Reason::Missing);
                let node = self.graph.node(*node);
                if !is_missing || !matches!(node.action, Action::Source(_)) {
                    continue;
                }
                let mut sources = competition.sources.iter();
                let source = match node.name.strip_prefix("source/") {
                    None => None,
                    // A folder cannot be downloaded.
                    Some(name) => match sources.find(|one| one.name == name) {
                        Some(source) if source.url.is_some() => Some(source),
                        _ => continue,
                    },
                };
                missing.push(Missing {
                    competition,
                    source,
                });
            }
        }
        missing
    }

    /// Competitions with something to do whose bundle is not here but in the mirror. Asks the remote, if there is one.
    pub fn mirrored(&self, task: &Task<'_>) -> HashSet<String> {
        let Some(link) = &task.settings.remote else {
            return HashSet::new();
        };
        let work = self.work();
        let gone = self.competitions.iter();
        let gone = gone.filter(|one| one.bundle.is_none() && work.contains_key(&one.id));
        let gone: Vec<&str> = gone.map(|one| one.id.as_str()).collect();
        // A remote that does not answer has said so when the plan was made.
        let known = ask_all(&gone, |id| link.source(id).ok().flatten());
        let known = gone.into_iter().zip(known);
        let known = known.filter(|(_, known)| known.as_ref().is_some_and(|known| known.mirrored));
        known.map(|(id, _)| id.to_owned()).collect()
    }

    /// What downloading each of those that are missing moves, by competition and source; asks their servers if that is
    /// possible.
    pub fn downloads(&self, task: &Task<'_>) -> HashMap<(String, Option<String>), Download> {
        forecast::ask(&self.missing(), task.network)
    }

    /// Disk that downloading what is missing takes, where `bytes` tells how much each moves; none when nothing is
    /// downloaded.
    ///
    /// # Errors
    /// When it cannot be told what is prepared already.
    pub fn peak(
        &self,
        task: &Task<'_>,
        bytes: impl Fn(&Missing<'_>) -> Option<u64>,
    ) -> Result<Option<Peak>, Error> {
        let missing = self.missing();
        if missing.is_empty() || !task.options.download {
            return Ok(None);
        }
        forecast::peak(task.settings, task.options, &missing, bytes).map(Some)
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
            // Without an earlier run there is nothing that its result could agree with.
            (Some(State::Pending { .. }), Some(_)) if !ran => (Runs::Yes, Some(Reason::FirstRun)),
            (Some(State::Pending { .. }), reason) => (Runs::Maybe, reason),
            (_, reason) => (Runs::Yes, reason),
        };
        PlannedStep {
            step: node.name.clone(),
            kind: node.action.kind(),
            runs,
            reason,
        }
    }
}
