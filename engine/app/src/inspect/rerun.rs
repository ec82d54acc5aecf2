//! Runs steps again, with other limits and in another order, and compares their results with the cache.
//!
//! A step's key does not have memory, threads or order, so its result must not depend on them. The steps of a competition run in a
//! scratch cache: with a quarter of the memory, with another number of jobs, and with the ready step first that waited longest. Each
//! result is compared with the entry of the same key in the cache, and in the remote, if there is one. The cache is only read, nothing
//! is published or downloaded, and the scratch cache of a competition is removed before the next one begins.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use prep_cache::{Digest, LedgerEntry, Store};
use prep_core::{
    Action, Cancel, Context, Failure, NodeId, NodeState, Reporter, RunOptions, RunReport,
    StepOutcome, resolve, run,
};
use serde::Serialize;

use crate::error::{Error, for_people};
use crate::settings::Settings;
use crate::stages::resolve::Plan;
use crate::task::Task;

/// The memory of a rerun is the memory of a run divided by this number.
const PART_OF_MEMORY: u64 = 4;

/// The results of the steps of a competition that ran again.
#[derive(Debug, Clone, Serialize)]
pub struct Rerun {
    pub id: String,
    pub variant: String,
    pub steps: Vec<RerunStep>,
}

/// The result of a step that ran again.
#[derive(Debug, Clone, Serialize)]
pub struct RerunStep {
    pub step: String,
    pub kind: &'static str,
    /// `None` if the step could not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<Digest>,
    #[serde(flatten)]
    pub result: RerunResult,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum RerunResult {
    /// The result equals the recorded one.
    Equal,
    /// The result differs.
    Differs { differences: Vec<Difference> },
    /// The cache has no entry for its key: it never ran, or ran with other inputs.
    Unrecorded,
    /// The step could not run.
    Failed { failure: Failure, message: String },
    /// The step did not run, because another step did not.
    Skipped { because: String },
}

/// An output that differs from the recorded one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub recorded_in: RerunPlace,
    pub output: String,
    /// `None` if there is no such output.
    pub recorded: Option<Digest>,
    pub made: Option<Digest>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RerunPlace {
    Cache,
    Remote,
}

impl Rerun {
    /// Returns the number of steps with this result.
    pub fn count(&self, wanted: impl Fn(&RerunResult) -> bool) -> usize {
        let results = self.steps.iter().map(|step| &step.result);
        results.filter(|result| wanted(result)).count()
    }
}

/// Runs the steps of competitions again, one competition after the other. `done` gets each result. Scratch caches are made
/// in the directory `scratch`.
///
/// # Errors
/// When a competition cannot be planned, the cache or the remote cannot be read, or the run is cancelled.
pub fn rerun(
    task: &Task,
    ids: &[String],
    scratch: &Path,
    cancel: &Cancel,
    reporter: &Arc<dyn Reporter>,
    done: &dyn Fn(&Rerun),
) -> Result<Vec<Rerun>, Error> {
    let recorded = Store::open_or_empty(&task.settings.store_dir)?;
    let mut all = Vec::new();
    for id in ids {
        let directory = tempfile::Builder::new()
            .prefix("rerun-")
            .tempdir_in(scratch);
        let directory =
            directory.map_err(|error| Error::writing("create a directory in", scratch, &error))?;
        // While the directory is locked, the cache does not treat it as left over by a killed process. Without locks, only its age
        // decides.
        let lock = File::open(directory.path());
        let _lock = lock.map(|lock| lock.try_lock().map(|()| lock));
        let one = Rerunning {
            id,
            recorded: &recorded,
            task: &Task {
                settings: Settings {
                    store_dir: directory.path().join("store"),
                    jobs: other_jobs(task.settings.jobs),
                    memory: task.settings.memory / PART_OF_MEMORY,
                    ..task.settings.clone()
                },
                ..task.clone()
            },
        };
        let rerun = one.call(cancel, reporter)?;
        done(&rerun);
        all.push(rerun);
    }
    Ok(all)
}

fn other_jobs(jobs: usize) -> usize {
    match jobs {
        0 | 1 => 2,
        more => more / 2,
    }
}

struct Rerunning<'a> {
    id: &'a str,
    /// The cache that is verified.
    recorded: &'a Store,
    /// With the scratch cache.
    task: &'a Task,
}

impl Rerunning<'_> {
    fn call(&self, cancel: &Cancel, reporter: &Arc<dyn Reporter>) -> Result<Rerun, Error> {
        let (settings, variant) = (&self.task.settings, &self.task.options.variant);
        // The remote may have the bundle. It is not a tier of this store, so no result is read from it or sent to it.
        let store = Store::open(&settings.store_dir)?;
        let context = Context::new(store.clone(), settings.limits(), cancel.clone());
        let engine = prep_sql::Session::new(&store.temp_dir());
        let ids = [self.id.to_owned()];
        let plan = Plan::make(self.task, &ids, &engine, &context)?.complete()?;
        let graph = plan.graph.clone();
        let mut resolution = plan.resolution;
        resolution
            .work
            .retain(|node, _| !matches!(graph.node(*node).action, Action::Sink(_)));
        let order = resolution.order.clone();
        let options = RunOptions {
            keep_going: true,
            variant: variant.clone(),
            oldest_first: true,
        };
        let report = run(
            graph.clone(),
            context.clone(),
            resolution,
            options,
            reporter.clone(),
        )?;
        context.check()?;
        // Now every step that ran has a key and outputs.
        let made = resolve(&graph, &context, variant)?;
        let mut steps = Vec::new();
        for node in order {
            let step = match &graph.node(node).action {
                Action::Step(step) => step,
                Action::Source(source) => {
                    // A source has no result of its own, but without it there are no results.
                    if let result @ RerunResult::Failed { .. } = without_result(&report, node) {
                        steps.push(RerunStep {
                            step: graph.node(node).name.clone(),
                            kind: source.kind(),
                            key: None,
                            result,
                        });
                    }
                    continue;
                }
                Action::Sink(_) => continue,
            };
            let (key, result) = match made.states.get(&node) {
                Some(NodeState::Known {
                    record: Some(record),
                    outputs,
                    ..
                }) => {
                    let key = record.key();
                    (
                        Some(key),
                        self.compare(&key, outputs, step.is_shared(), &store)?,
                    )
                }
                _ => (None, without_result(&report, node)),
            };
            steps.push(RerunStep {
                step: graph.node(node).name.clone(),
                kind: step.kind(),
                key,
                result,
            });
        }
        Ok(Rerun {
            id: self.id.to_owned(),
            variant: variant.clone(),
            steps,
        })
    }

    /// Compares the result of a step with the entry of its key.
    fn compare(
        &self,
        key: &Digest,
        made: &BTreeMap<String, Digest>,
        is_shared: bool,
        scratch: &Store,
    ) -> Result<RerunResult, Error> {
        let mut entries = vec![(RerunPlace::Cache, self.recorded.lookup(key)?)];
        if let Some(link) = self.task.settings.remote.as_ref().filter(|_| is_shared) {
            // This store has no entries and is only read, so it finds only the remote's entries.
            let nothing = Store::open_or_empty(&scratch.root().join("nothing"))?;
            entries.push((
                RerunPlace::Remote,
                link.attach(&nothing).find(key, self.id)?,
            ));
        }
        let mut is_recorded = false;
        let mut differences = Vec::new();
        for (place, entry) in entries {
            let Some(entry) = entry else { continue };
            is_recorded = true;
            differences.extend(differing(place, &entry, made));
        }
        Ok(match (is_recorded, differences.is_empty()) {
            (false, _) => RerunResult::Unrecorded,
            (true, true) => RerunResult::Equal,
            (true, false) => RerunResult::Differs { differences },
        })
    }
}

fn differing(
    recorded_in: RerunPlace,
    entry: &LedgerEntry,
    made: &BTreeMap<String, Digest>,
) -> Vec<Difference> {
    let further = made
        .keys()
        .filter(|name| !entry.outputs.contains_key(*name));
    let names = entry.outputs.keys().chain(further);
    let difference = |output: &String| Difference {
        recorded_in,
        output: output.clone(),
        recorded: entry.outputs.get(output).copied(),
        made: made.get(output).copied(),
    };
    names
        .map(difference)
        .filter(|difference| difference.recorded != difference.made)
        .collect()
}

fn without_result(report: &RunReport, node: NodeId) -> RerunResult {
    match report.outcomes.get(&node) {
        Some(StepOutcome::Failed { failure, message }) => RerunResult::Failed {
            failure: *failure,
            message: for_people(message),
        },
        Some(StepOutcome::Skipped { because }) => RerunResult::Skipped {
            because: because.clone(),
        },
        // Only a source has no entry.
        _ => RerunResult::Unrecorded,
    }
}
