//! Third stage: finds the steps that have to run, and why. Used by `plan`, `run` and `why`.
//!
//! Handles missing bundles before any step runs. On request, leaves out the competitions whose bundle is missing. Reports
//! missing credentials for downloads.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use prep_cache::{Content, Digest, History, Store};
use prep_core::{
    Action, Cause, Context, Failure, FileValue, Graph, LastRuns, LastSteps, Node, NodeId,
    NodeState, Publication, Reason, Remedy, Resolution, ResolveError, SourceState, chain, units,
};
use prep_fetch::FetchError;
use prep_steps::{MEMBERS_STEP, TRIAL_STEP};
use serde::Serialize;

use crate::bundles;
use crate::bundles::{BorrowedBundle, Lender};
use crate::error::Error;
use crate::reasons::{print_changes, readable};
use crate::stages::contents::cached_bundle;
use crate::stages::load::Competition;
use crate::stages::with_last_bundle_options;
use crate::task::Task;

/// Competitions, and the graph of all their steps.
pub struct CompetitionGraph {
    pub graph: Arc<Graph>,
    pub competitions: Vec<Competition>,
    /// Nodes of every competition, inputs first.
    nodes: HashMap<String, Vec<NodeId>>,
}

impl CompetitionGraph {
    pub(crate) fn nodes_of(&self, id: &str) -> &[NodeId] {
        self.nodes.get(id).map_or(&[][..], Vec::as_slice)
    }

    pub(crate) fn all_nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values().flatten().map(|id| self.graph.node(*id))
    }
}

/// Competitions and their steps, with the state of each step.
pub struct Plan {
    pub all: Arc<CompetitionGraph>,
    /// Competitions that cannot be prepared, with the reason.
    pub refused: Vec<(String, Error)>,
    /// Competitions that are left out because their bundle or a source is missing.
    pub left_out: Vec<String>,
    /// For each bundle or source that a step needs but cannot use: the kind of the error.
    pub rejected: Vec<Failure>,
    pub(crate) resolution: Resolution,
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

/// A step that runs or may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepWork {
    pub competition: String,
    pub step: String,
    /// Estimated bytes to process: the size of the bundle for a source or a publication, otherwise zero.
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedStep {
    pub step: String,
    pub kind: &'static str,
    pub runs: Runs,
    /// Why the step runs or may run. If the result of the step is in the cache, but differs from the result in the last
    /// publication, the reason is the change of its key record.
    #[serde(serialize_with = "crate::reasons::serialize")]
    pub reason: Option<Reason>,
}

impl Plan {
    /// Joins the graphs of competitions in the given order, and finds the steps that have to run.
    pub(super) fn resolve(
        assembled: impl Iterator<Item = (String, Result<(Competition, Graph), Error>)>,
        task: &Task,
        context: &Context,
        last: &Arc<LastRuns>,
    ) -> Result<Plan, ResolveError> {
        let mut graph = Graph::new();
        let (mut competitions, mut refused) = (Vec::new(), Vec::new());
        for (id, assembled) in assembled {
            match assembled {
                Ok((competition, own)) => {
                    graph.append(own)?;
                    competitions.push(competition);
                }
                Err(error) => refused.push((id, error)),
            }
        }
        let resolution = prep_core::resolve(&graph, context, last)?;
        let mut nodes: HashMap<String, Vec<NodeId>> = HashMap::new();
        for node in &resolution.order {
            let competition = graph.node(*node).competition.clone();
            nodes.entry(competition).or_default().push(*node);
        }
        for competition in &mut competitions {
            let mut nodes = nodes.get(&competition.id).into_iter().flatten();
            let node = nodes.find(|node| graph.node(**node).name == "bundle");
            let state = node.and_then(|node| resolution.states.get(node));
            if let Some(NodeState::Known { outputs, .. }) = state {
                competition.borrowed = borrowed(task, competition);
                competition.replaced = replaced(competition, outputs.get("value"));
            }
        }
        let failed = resolution.work.iter();
        let failed = failed.filter(|(_, reason)| matches!(reason, Reason::Failed { .. }));
        let rejected = failed.filter_map(|(node, _)| match &graph.node(*node).action {
            Action::Source(source) => match source.state(context) {
                Ok(SourceState::Rejected { failure, .. }) => Some(failure),
                _ => None,
            },
            _ => None,
        });
        let rejected = rejected.collect();
        let graph = Arc::new(graph);
        Ok(Plan {
            all: Arc::new(CompetitionGraph {
                graph,
                competitions,
                nodes,
            }),
            refused,
            left_out: Vec::new(),
            rejected,
            resolution,
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

    /// Returns the steps of a competition. Each step comes after the steps whose results it reads.
    ///
    /// # Errors
    /// Returns an error if the history cannot be read.
    pub fn steps(&self, id: &str) -> Result<Vec<PlannedStep>, Error> {
        let last = self.last_runs(id)?;
        let published = self.resolution.last.published(id)?;
        let nodes = self.all.nodes_of(id).iter();
        Ok(nodes
            .map(|node| self.step(&last, &published, *node))
            .collect())
    }

    /// Returns the last publication of a competition, and the causes of differences between its results and current
    /// results.
    ///
    /// # Errors
    /// Returns an error if the history cannot be read.
    pub fn changes(&self, id: &str) -> Result<(Option<Publication>, Vec<Cause>), Error> {
        let Plan {
            all, resolution, ..
        } = self;
        let published = resolution.last.published(id)?;
        let history = resolution.last.history(id)?;
        let (graph, nodes) = (&all.graph, all.nodes_of(id));
        let mut publication = resolution.publication(graph, nodes, (&history, &published));
        let causes = resolution.causes(graph, nodes, &published);
        if let Some(publication) = &mut publication {
            publication.reason = publication.reason.take().map(readable);
            publication.causes = of_files(std::mem::take(&mut publication.causes));
        }
        Ok((publication, of_files(causes)))
    }

    /// Returns the record of the last run of each step of a competition.
    ///
    /// # Errors
    /// Returns an error if the history cannot be read.
    pub fn last_runs(&self, id: &str) -> Result<Arc<LastSteps>, Error> {
        Ok(self.resolution.last.load(id)?)
    }

    /// Returns the history of a competition: the recorded runs of its steps in the data directory of the plan.
    ///
    /// # Errors
    /// Returns an error if the history cannot be read.
    pub fn history(&self, id: &str) -> Result<Arc<History>, Error> {
        Ok(self.resolution.last.history(id)?)
    }

    /// Returns the steps that run or may run.
    pub fn work(&self) -> Vec<StepWork> {
        let competitions = self.all.competitions.iter();
        let bundles: HashMap<&str, u64> = competitions
            .map(|one| (one.id.as_str(), one.bundle_bytes().unwrap_or_default()))
            .collect();
        let work = self.resolution.work.keys().map(|node| {
            let node = self.all.graph.node(*node);
            let bytes = match node.action {
                Action::Step(_) => None,
                Action::Source(_) | Action::Sink(_) => {
                    bundles.get(node.competition.as_str()).copied()
                }
            };
            StepWork {
                competition: node.competition.clone(),
                step: node.name.clone(),
                bytes: bytes.unwrap_or_default(),
            }
        });
        work.collect()
    }

    fn step(&self, last: &LastSteps, published: &LastSteps, id: NodeId) -> PlannedStep {
        let node = self.all.graph.node(id);
        let ran = last.contains_key(&node.name);
        let state = self.resolution.states.get(&id);
        let changed = || {
            let changes = self.resolution.changes(&self.all.graph, id, published);
            (!changes.is_empty()).then_some(Reason::Changed { changes })
        };
        let (runs, reason) = match (state, self.resolution.work.get(&id).cloned()) {
            (_, None) => (Runs::No, changed()),
            // The step has never run, so it runs whether or not its inputs change.
            (Some(NodeState::Pending { .. }), Some(_)) if !ran => {
                (Runs::Yes, Some(Reason::FirstRun))
            }
            (Some(NodeState::Pending { .. }), reason) => (Runs::Maybe, changed().or(reason)),
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

/// Removes the causes that come from the steps `TRIAL_STEP` and `MEMBERS_STEP`, because these steps only check the data
/// and influence no file. Replaces serialized queries in the remaining causes by readable SQL.
fn of_files(mut causes: Vec<Cause>) -> Vec<Cause> {
    causes.retain(|cause| ![TRIAL_STEP, MEMBERS_STEP].contains(&&*cause.step));
    let changes = causes.iter_mut().map(|cause| &mut cause.changes);
    changes.for_each(|changes| print_changes(changes));
    causes
}

/// Splits `ids` into the ids of competitions that the run leaves out, and the remaining ids. The run leaves out
/// competitions only if the task prepares only available competitions. It then leaves out those whose bundle or source
/// is missing.
pub(crate) fn left_out(task: &Task, plan: &Plan, ids: &[String]) -> (Vec<String>, Vec<String>) {
    let missing: HashSet<&str> = match task.options.available_only {
        true => plan.without_sources(),
        false => HashSet::new(),
    };
    let ids = ids.iter().cloned();
    ids.partition(|id| missing.contains(id.as_str()))
}

/// Fails with one error for all missing bundles, if there are no credentials to download them.
///
/// Never fails for a plan of a single competition. The step that reads the bundle then fails, and its error also lists
/// the searched directories.
pub(crate) fn require_credentials(task: &Task, plan: &Plan, store: &Store) -> Result<(), Error> {
    let missing = plan
        .missing()
        .into_iter()
        .filter(|input| input.source.is_none());
    let missing: Vec<&Competition> = missing.map(|input| input.competition).collect();
    if plan.all.competitions.len() < 2 {
        return Ok(());
    }
    let has_results = |one: &&Competition| {
        let cached = cached_bundle(store, &one.id, one.expected_md5());
        cached.is_ok_and(|cached| cached.is_some())
    };
    let ids: Vec<&str> = missing.iter().map(|one| one.id.as_str()).collect();
    check_credentials(task, &ids).map_err(|error| match &error.help {
        Some(help) if missing.iter().any(has_results) => {
            let help = help.clone().or(Remedy::UseCachedResults);
            error.help(help)
        }
        _ => error,
    })
}

/// Same as `require_credentials`, for bundles that are fetched without preparing their competitions.
///
/// # Errors
/// Fails with one error for all missing bundles, if at least two are missing and there are no credentials.
pub fn require_credentials_for(task: &Task, ids: &[String]) -> Result<(), Error> {
    let mut missing: Vec<&str> = Vec::new();
    for id in ids {
        let options = with_last_bundle_options(task, id)?.0.options;
        if bundles::path(&task.settings, id, &options.source_dirs()).is_none() {
            missing.push(id);
        }
    }
    match missing.len() {
        ..2 => Ok(()),
        _ => check_credentials(task, &missing),
    }
}

fn check_credentials(task: &Task, missing: &[&str]) -> Result<(), Error> {
    if missing.is_empty() {
        return Ok(());
    }
    let error = match task.network.get() {
        Err(error @ FetchError::Credentials(_)) => error,
        _ => return Ok(()),
    };
    let count = units::count(missing.len() as u64, "bundle");
    let missing = missing.join(", ");
    let message = format!(
        "{count} cannot be downloaded: {}\n  missing: {missing}",
        chain(&error)
    );
    let remedies = error.remedy().into_iter();
    let remedies = remedies.chain([Remedy::NameSource, Remedy::PrepareAvailable]);
    let remedy = Remedy::AnyOf(remedies.collect());
    Err(Error::new(error.failure(), message).help(remedy))
}

/// Returns the bundle that the data directory records, if it differs from `value`, the bundle on this machine.
fn replaced(competition: &Competition, value: Option<&Digest>) -> Option<Content> {
    let recorded = competition.contents.bundle.clone()?;
    let before = FileValue::outside(recorded.digest, recorded.bytes).into_value();
    let is_other = competition.bundle.is_some() && competition.part.is_none();
    (is_other && value.is_some_and(|value| before.digest() != *value)).then_some(recorded)
}

/// Returns the [`BorrowedBundle`] of a competition, if it uses one.
fn borrowed(task: &Task, competition: &Competition) -> Option<BorrowedBundle> {
    if competition.bundle.is_some() {
        return None;
    }
    let contents = &competition.contents;
    let (content, lender) = match (&contents.cached, &contents.bundle, &contents.part) {
        (Some(record), ..) => {
            let path = Some(record.path.clone()).filter(|path| !path.is_empty());
            let at = record.named_at();
            (record.content(), Lender::Cache { at, path })
        }
        (None, None, None) => {
            let link = task.settings.remote.as_ref()?;
            let remote = link.remote().name().to_owned();
            (contents.of_source(None).next()?, Lender::Remote { remote })
        }
        _ => return None,
    };
    Some(BorrowedBundle {
        blake3: content.digest,
        md5: content.md5,
        bytes: content.bytes,
        lender,
    })
}
