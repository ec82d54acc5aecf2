//! The stages of a task, from ids to a summary. Each stage takes the result of the previous one, and this
//! file calls them in order. The last column names the modules that a stage uses in addition to its own module.
//!
//! ```text
//! stage        input               result
//! load         ids                 Chosen: the entries of the catalog, and prep.lock if the data must match it    (lock)
//!              Chosen, an entry    Competition: its checked pipeline, and the contents of its sources         (contents)
//! assemble     Competition         its bundle and further sources, and the steps as a graph
//! resolve      the graphs          Plan: the steps that would run, and why; leaves out competitions with missing bundles
//! forecast     Plan                bytes to download, and the disk space that they need
//! run          Plan                Ended: the report of the engine
//! record       Ended               the records of the published data                                     (origins, lock)
//! summary      Ended, records      Preparation: one summary per competition
//! ```
//!
//! `plan` and `why` stop after `resolve`. `remote push` and `cache verify --rerun` also use only the stages up to `resolve`,
//! and then run steps on their own.

pub(crate) mod assemble;
pub(crate) mod contents;
pub(crate) mod forecast;
pub(crate) mod load;
pub(crate) mod lock;
pub(crate) mod origins;
mod record;
pub(crate) mod resolve;
pub(crate) mod run;
pub(crate) mod summary;

use std::borrow::Cow;
use std::iter;
use std::sync::Arc;

use prep_cache::Store;
use prep_core::{Cancel, Context, LastRuns, NodeError, Reason, Remedy, Reporter, ResolveError};
use prep_steps::{RememberedOptions, Verify};

use self::contents::StatedContents;
use self::load::{Chosen, Competition, Loader};
use self::resolve::Plan;
use self::run::Run;
use self::summary::Preparation;
use crate::bundles::Note;
use crate::catalog::CatalogEntry;
use crate::error::Error;
use crate::prepared;
use crate::run_log::RunLog;
use crate::sealed;
use crate::task::Task;

/// Limits the memory of the results that a run keeps in memory. The limit is the memory limit of the steps, divided by
/// this number. The results use this memory in addition to the memory of the steps.
const HELD_MEMORY_DIVISOR: u64 = 4;

impl Plan {
    /// Creates the plan of a task without writing anything. A missing cache is not created.
    ///
    /// # Errors
    /// Returns an error if a competition does not exist, or if the directory of bundles, `prep.lock` or the cache cannot be
    /// read. Errors of single competitions are in the result.
    pub fn preview(task: &Task, ids: &[String]) -> Result<Plan, Error> {
        let context = Plan::preview_context(task)?;
        Plan::create(task, ids, &prep_sql::Session::planner(), &context)
    }

    /// Returns a context that writes nothing. A missing cache is not created.
    pub(crate) fn preview_context(task: &Task) -> Result<Context, Error> {
        let store = Store::open_or_empty(&task.settings.store_dir)?;
        let store = task.settings.with_remote_tier(store);
        let limits = task.settings.limits();
        Ok(Context::new(store, limits, Cancel::default()))
    }

    /// Creates the plan of a task. `engine` checks the queries, and `context` has the cache. If the task requests it,
    /// leaves out the competitions whose bundle or source is missing.
    pub(crate) fn create(
        task: &Task,
        ids: &[String],
        engine: &prep_sql::Session,
        context: &Context,
    ) -> Result<Plan, Error> {
        let chosen = Chosen::choose(task, ids)?;
        let loader = Loader::new(&context.store, &task.settings.program);
        let assemble = |entry: &CatalogEntry| {
            let record = contents::read(task, &entry.id)?;
            let (options, recalled) = task.options.recalling(&record.options);
            let task = &match recalled == RememberedOptions::default() {
                true => Cow::Borrowed(task),
                false => Cow::Owned(Task {
                    options: options.clone(),
                    ..task.clone()
                }),
            };
            let mut competition = Competition::load(entry, &chosen, options, engine, &loader)?;
            let pipeline = &competition.pipeline;
            let contents = StatedContents::find(task, entry, pipeline, &record, &context.store)?;
            competition.contents = contents;
            let graph = competition.assemble(task, engine);
            let graph = graph.map_err(|error| recalled_error(error, &recalled))?;
            competition.recalled = recalled;
            Ok((competition, graph))
        };
        let assembled = context.map_in_order(&chosen.entries, 0, |entry| Ok(assemble(entry)))?;
        let entries = chosen.entries.iter().map(|entry| entry.id.clone());
        let assembled = entries.zip(assembled);
        // A preview publishes nothing, and a scratch run publishes into a temporary directory. Therefore neither is
        // part of the history of the data directory.
        let last = match task.options.view.is_some() || task.options.scratch.is_some() {
            true => Arc::new(LastRuns::without_history()),
            false => prepared::last_runs(&context.store, &task.settings, &task.options.variant),
        };
        let (others, failed, left_out) = match Plan::resolve(assembled, task, context, &last) {
            Ok(plan) => match resolve::left_out(task, &plan, ids) {
                (left_out, _) if left_out.is_empty() => return Ok(plan),
                (left_out, others) => (others, Vec::new(), left_out),
            },
            Err(ResolveError::Nodes { first, others }) => {
                let failed: Vec<NodeError> = iter::once(*first).chain(others).collect();
                let others = chosen.entries.iter().map(|entry| entry.id.clone());
                let others = others.filter(|id| failed.iter().all(|one| one.competition != *id));
                (others.collect(), failed, Vec::new())
            }
            Err(error) => return Err(error.into()),
        };
        // Nodes cannot be removed from a graph. Therefore the remaining competitions are planned again.
        let mut plan = Plan::create(task, &others, engine, context)?;
        let failed = failed.into_iter();
        let failed = failed.map(|error| (error.competition.clone(), error.into()));
        plan.refused.extend(failed);
        plan.left_out.extend(left_out);
        Ok(plan)
    }
}

/// Returns a copy of `task` for work on the competition's bundle. The copy has two options of the competition's last
/// run, unless the caller set them: the directory of bundles, and whether the bundle is verified. Also returns the
/// options that come from the last run.
pub(crate) fn with_last_bundle_options(
    task: &Task,
    id: &str,
) -> Result<(Task, RememberedOptions), Error> {
    let last = contents::read(task, id)?.options;
    let skips_bundles = matches!(last.verify, Some(Verify::Outputs | Verify::Nothing));
    let (options, recalled) = task.options.recalling(&RememberedOptions {
        source: last.source,
        verify: skips_bundles.then_some(Verify::Outputs),
        ..RememberedOptions::default()
    });
    let task = Task {
        options,
        ..task.clone()
    };
    Ok((task, recalled))
}

/// Adds a remedy to an error that an option of the last run may have caused.
fn recalled_error(error: Error, recalled: &RememberedOptions) -> Error {
    match error.help {
        None if *recalled != RememberedOptions::default() => error.help(Remedy::ForgetOptions),
        _ => error,
    }
}

impl Run {
    /// Plans a run and checks that the disk has enough space. The run stops soon after `cancel` is set.
    ///
    /// # Errors
    /// Returns an error if the plan cannot be created ([`Plan::preview`]), a competition cannot be planned and the run must
    /// not continue without it, or the free disk space is too small for the downloads.
    pub fn begin(
        task: &Task,
        ids: &[String],
        cancel: &Cancel,
        notes: &dyn Fn(Note),
    ) -> Result<Run, Error> {
        let (settings, options) = (&task.settings, &task.options);
        let store = Store::open(&settings.store_dir)?;
        // Keeps garbage collection from removing objects, from the first lookup to the end of the run.
        let in_use = cancel.in_use(&store)?;
        let engine = prep_sql::Session::new(&store.temp_dir());
        if let Some(link) = &settings.remote {
            link.stop_with(cancel);
        }
        let store = settings.with_remote_tier(store);
        let context = Context::new(store, settings.limits(), cancel.clone());
        // A run may keep tables in memory without storing them if a later run can read them from the bundle again. This is
        // impossible if bundles are deleted, or if other machines use the results.
        let can_read_again = options.keep_bundles && settings.remote.is_none();
        let context = match can_read_again {
            true => context.with_memory_results(settings.memory / HELD_MEMORY_DIVISOR),
            false => context,
        };
        prepared::verify_after_restart(settings, &options.variant, ids, &context, notes)?;
        let (kept_sealed, mut ids) = sealed::kept_sealed(task, ids);
        let mut plan = Plan::create(task, &ids, &engine, &context)?;
        ids.retain(|id| !plan.left_out.contains(id));
        ids.extend(kept_sealed.iter().map(|(id, _)| id.clone()));
        plan.refused.extend(kept_sealed);
        if !options.keep_going {
            plan = plan.complete()?;
        }
        if !options.starts_without_credentials {
            resolve::require_credentials(task, &plan, &context.store)?;
        }
        plan.require_disk(task, notes)?;
        plan.require_writable(task)?;
        for competition in &plan.all.competitions {
            let id = &competition.id;
            if sealed::is_sealed(&settings.data_dir_of(&options.variant), id) {
                notes(Note::Unseals { id });
            }
            if options.from_cache && plan.runs_absent_source(id) {
                notes(Note::NothingCached { id });
            }
            let nodes = plan.all.nodes_of(id).iter();
            let mut reasons = nodes.filter_map(|node| plan.resolution.work.get(node));
            if let Some(Reason::NotCurrent { difference }) = reasons.next_back() {
                notes(Note::Restores { id, difference });
            }
        }
        Ok(Run {
            plan,
            task: task.clone(),
            ids,
            context,
            _in_use: in_use,
        })
    }

    /// Executes the run, and blocks until its end.
    ///
    /// # Errors
    /// Returns an error if the engine itself fails. Errors of single competitions are in the result.
    pub fn execute(self, reporter: Arc<dyn Reporter>) -> Result<Preparation, Error> {
        let log = RunLog::start(&self.task, &self.ids, &self.plan.refused, reporter);
        let preparation = self.prepare(log.clone());
        log.finish(preparation.as_ref().map(Preparation::end));
        preparation
    }

    fn prepare(mut self, reporter: Arc<dyn Reporter>) -> Result<Preparation, Error> {
        let refused = std::mem::take(&mut self.plan.refused);
        let ids = std::mem::take(&mut self.ids);
        let mut left_out = std::mem::take(&mut self.plan.left_out);
        let ended = self.run(reporter)?;
        let mut errors = record::confirm(&ended);
        let is_sent = ended.wait_until_sent();
        let published = record::record(&ended, &mut errors)?;
        left_out.extend(run::left_out_while_running(&ended));
        let mut preparation = Preparation::sum_up(&ended, &published, refused, (&ids, left_out));
        preparation.fail(&errors);
        preparation.interrupted |= !is_sent;
        ended.free();
        Ok(preparation)
    }
}
