//! Runs steps again, and compares their results with the results in the cache and in the remote.
//!
//! The memory limit, the number of threads and the order of the steps are different in these runs. The key of a step does
//! not contain these three settings. Therefore the result of the step must not depend on them.
//!
//! The steps run in a scratch cache, which is removed before the next competition begins. Nothing is published or
//! downloaded.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use prep_cache::{Digest, StepResult, Store};
use prep_core::{
    Action, Cancel, Context, Failure, NodeId, NodeState, NullReporter, RunOptions, RunReport,
    StepOutcome, resolve, run,
};
use serde::Serialize;
use tempfile::TempDir;

use crate::error::{Error, for_people};
use crate::settings::Settings;
use crate::stages::resolve::Plan;
use crate::task::Task;

/// Divisor of the memory for a rerun, which must compute the same results with less memory.
pub(crate) const MEMORY_DIVISOR: u64 = 4;

/// The results of the steps of a competition that ran again.
#[derive(Debug, Clone, Serialize)]
pub struct Rerun {
    pub id: String,
    pub variant: String,
    pub steps: Vec<RerunStep>,
}

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
    /// There is no entry for the key of the step: it never ran, or it ran with different inputs.
    Unrecorded,
    /// The step could not run.
    Failed { failure: Failure, message: String },
    /// The step did not run, because a step that it depends on failed.
    Skipped { because: String },
}

/// An output that differs from the recorded one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub recorded_in: RerunPlace,
    pub output: String,
    /// `None` if the recorded result does not have this output.
    pub recorded: Option<Digest>,
    /// `None` if the rerun did not produce this output.
    pub made: Option<Digest>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RerunPlace {
    Cache,
    Remote,
}

impl Rerun {
    pub fn count(&self, wanted: impl Fn(&RerunResult) -> bool) -> usize {
        let results = self.steps.iter().map(|step| &step.result);
        results.filter(|result| wanted(result)).count()
    }
}

/// Runs the steps of each competition again, and calls `done` with each result. Creates scratch caches in `scratch`.
///
/// # Errors
/// Returns an error if a competition cannot be planned, a cache or the remote cannot be read, or the run is cancelled.
pub fn rerun(
    task: &Task,
    ids: &[String],
    scratch: &Path,
    cancel: &Cancel,
    done: &dyn Fn(&Rerun),
) -> Result<Vec<Rerun>, Error> {
    let recorded = Store::open_or_empty(&task.settings.store_dir)?;
    let mut all = Vec::new();
    for id in ids {
        let (directory, _lock) = self::scratch(scratch, "rerun-")?;
        let rerunning = Rerunning {
            id,
            recorded: &recorded,
            task: &Task {
                settings: Settings {
                    store_dir: directory.path().join("store"),
                    jobs: different_jobs(task.settings.jobs),
                    memory: task.settings.memory / MEMORY_DIVISOR,
                    ..task.settings.clone()
                },
                ..task.clone()
            },
        };
        let rerun = rerunning.run_steps(cancel)?;
        done(&rerun);
        all.push(rerun);
    }
    Ok(all)
}

/// Creates and locks a scratch directory in `parent`, the directory for temporary files of a cache.
///
/// The cache removes temporary directories that are older than a day, unless a process has locked them. If the file system
/// does not support locks, returns no lock.
pub(crate) fn scratch(parent: &Path, prefix: &str) -> Result<(TempDir, Option<File>), Error> {
    let directory = tempfile::Builder::new().prefix(prefix).tempdir_in(parent);
    let directory =
        directory.map_err(|error| Error::writing("create a directory in", parent, &error))?;
    let lock = File::open(directory.path()).ok();
    let lock = lock.filter(|lock| lock.try_lock().is_ok());
    Ok((directory, lock))
}

/// Returns a number of jobs other than `jobs`, for a run that must give the same results.
pub(crate) fn different_jobs(jobs: usize) -> usize {
    match jobs {
        0 | 1 => 2,
        more => more / 2,
    }
}

/// The inputs for running the steps of one competition again.
struct Rerunning<'a> {
    id: &'a str,
    /// The cache whose results are verified.
    recorded: &'a Store,
    /// The task, with the scratch cache as its cache.
    task: &'a Task,
}

impl Rerunning<'_> {
    /// Runs the steps of the competition, and compares their results.
    fn run_steps(&self, cancel: &Cancel) -> Result<Rerun, Error> {
        let (settings, variant) = (&self.task.settings, &self.task.options.variant);
        // Steps must run instead of reading their results from the remote. Therefore the scratch cache has no remote. The
        // bundle may still come from the remote's mirror.
        let store = Store::open(&settings.store_dir)?;
        let context = Context::new(store.clone(), settings.limits(), cancel.clone());
        let engine = prep_sql::Session::new(&store.temp_dir());
        let ids = [self.id.to_owned()];
        let plan = Plan::create(self.task, &ids, &engine, &context)?.complete()?;
        let graph = plan.all.graph.clone();
        let mut resolution = plan.resolution;
        resolution
            .work
            .retain(|node, _| !matches!(graph.node(*node).action, Action::Sink(_)));
        let (order, last) = (resolution.order.clone(), resolution.last.clone());
        let options = RunOptions {
            keep_going: true,
            oldest_first: true,
        };
        let report = run(
            graph.clone(),
            context.clone(),
            resolution,
            options,
            Arc::new(NullReporter),
        )?;
        context.check()?;
        // Resolving again finds the key and the outputs of every step that ran.
        let made = resolve(&graph, &context, &last)?;
        let mut steps = Vec::new();
        for id in order {
            let node = graph.node(id);
            let (key, result) = match (&node.action, made.states.get(&id)) {
                (
                    Action::Step(step),
                    Some(NodeState::Known {
                        record: Some(record),
                        outputs,
                        ..
                    }),
                ) => {
                    let key = record.key();
                    let result = self.compare(&key, outputs, step.is_shared(), &store)?;
                    (Some(key), result)
                }
                (Action::Step(_), _) => (None, without_result(&report, id)),
                // A failed source is listed, because its failure explains why the steps that use it have no result.
                (Action::Source(_), _) => match without_result(&report, id) {
                    failed @ RerunResult::Failed { .. } => (None, failed),
                    _ => continue,
                },
                (Action::Sink(_), _) => continue,
            };
            steps.push(RerunStep {
                step: node.name.clone(),
                kind: node.action.kind(),
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

    /// Compares a result with the entry of `key` in the cache and, if `is_shared` is true, in the remote.
    fn compare(
        &self,
        key: &Digest,
        made: &BTreeMap<String, Digest>,
        is_shared: bool,
        scratch: &Store,
    ) -> Result<RerunResult, Error> {
        let mut entries = vec![(RerunPlace::Cache, self.recorded.lookup_result(key)?)];
        if let Some(link) = self.task.settings.remote.as_ref().filter(|_| is_shared) {
            // This store is empty, so a lookup finds only entries of the remote.
            let empty_store = Store::open_or_empty(&scratch.root().join("nothing"))?;
            entries.push((
                RerunPlace::Remote,
                link.attach(&empty_store).find(key, self.id)?,
            ));
        }
        let mut is_recorded = false;
        let mut differences = Vec::new();
        for (place, entry) in entries {
            let Some(entry) = entry else { continue };
            is_recorded = true;
            differences.extend(differing_outputs(place, &entry, made));
        }
        Ok(match (is_recorded, differences.is_empty()) {
            (false, _) => RerunResult::Unrecorded,
            (true, true) => RerunResult::Equal,
            (true, false) => RerunResult::Differs { differences },
        })
    }
}

/// Returns the outputs that differ between `entry`, the recorded result of a step, and `made`, the result of the rerun.
fn differing_outputs(
    recorded_in: RerunPlace,
    entry: &StepResult,
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

/// Returns why a node has no result that can be compared.
fn without_result(report: &RunReport, node: NodeId) -> RerunResult {
    match report.outcomes.get(&node) {
        Some(StepOutcome::Failed { failure, message }) => RerunResult::Failed {
            failure: *failure,
            message: for_people(message),
        },
        Some(StepOutcome::Skipped { because }) => RerunResult::Skipped {
            because: because.clone(),
        },
        // A source that did not fail. Steps have one of the outcomes above.
        _ => RerunResult::Unrecorded,
    }
}
