//! Preparing: what is not up to date is made, nothing else.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use prep_cache::{Digest, LockGuard, Store};
use prep_core::{Cancel, Context, Reporter, RunOptions, RunReport, StepOutcome, Timing};
use prep_digests::{Origin, Trees};
use prep_fetch::PartOfBundle;
use prep_remote::Link;
use prep_steps::Manifest;

use crate::audit;
use crate::comparable::Comparability;
use crate::error::Error;
use crate::lock;
use crate::note::Note;
use crate::origins;
use crate::plan::{Plan, Task};
use crate::prepared;
use crate::provenance::{self, Steps};
use crate::settings::{Options, Settings};
use crate::sources::Missing;
use crate::summary::{State, Summary};
use crate::watch::Watch;

/// Between two looks whether results are sent.
const GLANCE: Duration = Duration::from_millis(20);

/// Beside the memory of running steps, this part of it is for results that are held instead of being stored.
const PART_TO_HOLD: u64 = 4;

/// A run that is about to begin.
pub struct Run {
    pub plan: Plan,
    ids: Vec<String>,
    context: Context,
    settings: Settings,
    options: Options,
    _in_use: LockGuard,
}

/// How a run over several competitions ended.
pub struct Preparation {
    /// One per competition, in the order in which they were asked for.
    pub summaries: Vec<Summary>,
    /// Competitions that could not be planned, and why.
    pub refused: Vec<(String, Error)>,
    /// Stopped before everything was done.
    pub interrupted: bool,
    /// What every step took that ran, the slowest first.
    pub timings: Vec<Timing>,
}

impl Run {
    /// Plans a run and sees that there is room for it. It stops soon after `cancel` is set.
    ///
    /// # Errors
    /// When nothing can be run at all, or too little disk is free for what is downloaded.
    pub fn begin(
        task: &Task<'_>,
        ids: &[String],
        cancel: &Cancel,
        notes: &dyn Fn(Note),
    ) -> Result<Run, Error> {
        let settings = task.settings;
        let store = Store::open(&settings.store_dir)?;
        // From the first lookup and the first note on, nothing is collected.
        let in_use = cancel.in_use(&store)?;
        let engine = prep_sql::Session::new(&store.temp_dir());
        let store = settings.below(store);
        let context = Context::new(store, settings.limits(), cancel.clone());
        // What is not stored is read from the bundle once more, by a later run or by another machine.
        let stays_here = task.options.keep_bundles && settings.remote.is_none();
        let context = match stays_here {
            true => context.with_room_to_hold(settings.memory / PART_TO_HOLD),
            false => context,
        };
        prepared::settle(settings, &task.options.variant, ids, &context, notes)?;
        let mut plan = Plan::make(task, ids, &engine, &context)?;
        if !task.options.keep_going && !plan.refused.is_empty() {
            return Err(plan.refused.swap_remove(0).1);
        }
        require_disk(task, &plan, notes)?;
        Ok(Run {
            plan,
            ids: ids.to_vec(),
            context,
            settings: settings.clone(),
            options: task.options.clone(),
            _in_use: in_use,
        })
    }

    /// Runs no step but checks: what steps make is found in the store or in the remote, or the run fails.
    pub fn find_only(&mut self) {
        self.context.only_found = true;
    }

    /// Carries it out, and blocks until its end.
    ///
    /// # Errors
    /// When the engine itself fails; how single competitions ended is in the result.
    pub fn execute(self, reporter: Arc<dyn Reporter>) -> Result<Preparation, Error> {
        let Run {
            plan,
            ids,
            context,
            settings,
            options,
            _in_use,
        } = self;
        let cancel = context.cancel.clone();
        let discard_from = (!options.keep_bundles).then(|| settings.data_dir.clone());
        let watch = Arc::new(Watch::new(discard_from, reporter));
        let run_options = RunOptions {
            keep_going: options.keep_going,
            variant: options.variant.clone(),
            oldest_first: false,
        };
        let Plan {
            graph,
            competitions,
            refused,
            resolution,
            nodes,
            ..
        } = plan;
        // What there is to say is said after an interruption, too.
        let mut around = context.clone();
        around.cancel = Cancel::default();
        let report = prep_core::run(
            graph.clone(),
            context,
            resolution,
            run_options,
            watch.clone(),
        )?;
        for competition in &competitions {
            let nodes = nodes.get(&competition.id).map_or(&[][..], Vec::as_slice);
            let (store, link) = (&around.store, settings.remote.as_ref());
            origins::confirm(&graph, nodes, competition, store, &report, link)?;
        }
        if let Some(link) = &settings.remote {
            wait_until_sent(link, &cancel);
        }
        let mut summaries = Vec::new();
        let mut locked = Vec::new();
        let ready: Vec<String> = competitions.iter().map(|one| one.id.clone()).collect();
        let data_dir = &settings.folder_of(&options.variant);
        let published = prepared::each_manifest(data_dir, &ready, &around, |_, manifest| {
            Some(Published::of(manifest))
        })?;
        let mut published: HashMap<&str, Published> = published.into_iter().collect();
        for competition in &competitions {
            let nodes = nodes.get(&competition.id).map_or(&[][..], Vec::as_slice);
            let mut summary = Summary::of(
                &graph,
                nodes,
                &report,
                &competition.id,
                &options.variant,
                competition.verification,
            );
            summary.seconds = watch.time_of(&competition.id).as_secs_f64();
            if competition.part.as_ref().is_some_and(PartOfBundle::is_part) {
                summary.fetched_in_part(&competition.without_checksum);
            }
            // Those that had something to do lost theirs when they were through.
            if !options.keep_bundles && summary.state == State::UpToDate {
                prep_fetch::discard(&settings.data_dir, &competition.id);
            }
            if let Some(md5) = &competition.md5
                && summary.is_complete()
                && competition.part.is_none()
            {
                let sources: Vec<&Path> = options.source.iter().map(PathBuf::as_path).collect();
                audit::remember_bundle(&settings, &competition.id, &sources, md5);
            }
            if summary.failures.is_empty()
                && let Some(published) = published.remove(competition.id.as_str())
            {
                summary.files = Some(published.files);
                summary.bytes = Some(published.bytes);
                let is_done = matches!(summary.state, State::Prepared | State::UpToDate);
                if let Some(trees) = published.trees.filter(|_| is_done) {
                    let steps = Steps {
                        store: &around.store,
                        variant: &options.variant,
                        graph: &graph,
                        nodes,
                        report: &report,
                    };
                    let bundle = provenance::bundle(competition, &steps);
                    let origin = provenance::origin(competition, bundle.as_ref(), &steps)?;
                    let origin = published.note(data_dir, &competition.id, origin);
                    let comparable = Comparability::of_data(
                        &competition.entry,
                        &options.variant,
                        Some(&origin),
                    )?;
                    let facts = competition.locked.clone().with_trees(&trees);
                    let facts = facts
                        .with_bundle(bundle.as_ref())
                        .with_comparability(&comparable.obstacles());
                    locked.push((&*competition.id, facts));
                }
            }
            summaries.push(summary);
        }
        // What is locked is what is made, however it is published.
        if !options.locked && options.expand.is_none() {
            lock::note(&settings.data_dir, &options.variant, &locked)?;
        }
        // Freeing the plan of many competitions takes longer than showing what became of them, and nobody waits for it.
        let timings = report.timings(&graph);
        let freed = std::thread::Builder::new().spawn(move || drop((graph, nodes)));
        // Where there is no thread, it is freed already.
        drop(freed);
        summaries.extend(
            refused
                .iter()
                .map(|(id, error)| Summary::refused(id, &options.variant, error)),
        );
        summaries.sort_by_key(|summary| ids.iter().position(|id| *id == summary.id));
        Ok(Preparation {
            summaries,
            refused,
            interrupted: cancel.is_cancelled() && unfinished(&report),
            timings,
        })
    }
}

/// What a summary says of a publication.
struct Published {
    files: u64,
    bytes: u64,
    /// Of one that is complete.
    trees: Option<Trees>,
    key: Digest,
    origin: Option<Origin>,
}

impl Published {
    fn of(manifest: Manifest) -> Published {
        Published {
            files: manifest.files,
            bytes: manifest.bytes,
            trees: manifest.trees.filter(|_| manifest.complete),
            key: manifest.key,
            origin: manifest.origin,
        }
    }

    /// Notes how it came to be, beside what was noted before; returns all that is known of it.
    fn note(&self, data_dir: &Path, id: &str, origin: Origin) -> Origin {
        let known = match &self.origin {
            Some(before) => origin.or(before),
            None => origin,
        };
        if self.origin.as_ref() != Some(&known) {
            // What cannot be noted stays unknown, and counts against the data when they are graded.
            let _ = prep_steps::note_origin(data_dir, id, &self.key, known.clone());
        }
        known
    }
}

/// Waits for results that are on their way to the remote. What the remote does not take is not waited for.
fn wait_until_sent(link: &Link, cancel: &Cancel) {
    while link.pending() > 0 && !cancel.is_cancelled() {
        std::thread::sleep(GLANCE);
    }
}

/// Refuses downloads for which there is no room.
fn require_disk(task: &Task<'_>, plan: &Plan, notes: &dyn Fn(Note)) -> Result<(), Error> {
    // Where downloads are not wanted or not possible, none takes disk: every bundle's own step says what is in the way.
    let network = |one: &Missing<'_>| match one.source {
        None => task.network.get(),
        Some(_) => task.network.any(),
    };
    if !plan.missing().iter().any(|one| network(one).is_ok()) {
        return Ok(());
    }
    // How much a part takes is not known before its listing.
    let peak = plan.peak(task, |one| {
        let is_part = one.source.is_none() && one.competition.part.is_some();
        one.published_bytes().filter(|_| !is_part)
    })?;
    if let Some(peak) = peak
        && let Some(warning) = peak.check(&task.settings.data_dir)?
    {
        notes(Note::LittleDisk(&warning));
    }
    Ok(())
}

/// Whether a step did not come to an end. A signal that arrives when all have is none: what was asked for is done.
fn unfinished(report: &RunReport) -> bool {
    let mut outcomes = report.outcomes.values();
    outcomes.any(|outcome| matches!(outcome, StepOutcome::Cancelled))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prep_core::NodeId;

    #[test]
    fn a_run_is_unfinished_when_a_step_was_stopped() {
        let mut report = RunReport::default();
        let ends = [StepOutcome::Reused, StepOutcome::Done { millis: 1 }];
        for (number, outcome) in ends.into_iter().enumerate() {
            report.outcomes.insert(NodeId::new(number), outcome);
        }
        assert!(!unfinished(&report));
        report
            .outcomes
            .insert(NodeId::new(2), StepOutcome::Cancelled);
        assert!(unfinished(&report));
    }
}
