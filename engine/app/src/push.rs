//! Sends results of steps, and bundles, to the remote.

use std::collections::HashSet;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use prep_cache::{Content, Digest, Offer, Store};
use prep_core::{
    Absence, Action, Cancel, Context, Failure, KeyRecord, NodeId, NodeState, NullReporter, Remedy,
    RunOptions, Source as _, Value, resolve, run,
};
use prep_remote::{Link, PutOutcome, Rejection, SendOutcome, SourceOutcome};
use prep_steps::Verify;
use serde::Serialize;

use crate::error::Error;
use crate::run_log::{RunEnd, RunLog};
use crate::settings::Settings;
use crate::stages::assemble;
use crate::stages::load::Competition;
use crate::stages::origins::{UsedValue, origins};
use crate::stages::resolve::Plan;
use crate::stages::with_last_bundle_options;
use crate::task::{RecalledOption, Task, describe};

/// The result of a push for a competition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PushResult {
    pub id: String,
    /// Number of results that were sent, because the remote did not have them.
    pub new: usize,
    /// Number of results that the remote already had.
    pub there: usize,
    /// Steps whose results are not completely on this machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_here: Vec<String>,
    /// Steps for which the remote has a different result, or a result that is not trusted. If there are such steps, the
    /// remote's record of the bundle stays unchanged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// Why the remote's results, or its record of the bundle, are not trusted.
    #[serde(skip)]
    pub rejection: Option<Rejection>,
    /// Whether the bundle is in the mirror now.
    pub mirrored: bool,
    /// Whether the results were not compared with published checksums.
    #[serde(skip)]
    pub skips_verification: bool,
    /// Whether the bundle was not compared with its published MD5.
    #[serde(skip)]
    pub skips_bundle_verification: bool,
}

/// How far a push is, for displays.
#[derive(Debug, Clone, Default)]
pub struct PushProgress {
    /// The number of the competition that is being sent, from 1. It is 0 while the push is planned.
    pub number: usize,
    /// The id of this competition.
    pub id: String,
    /// Number of all competitions.
    pub competitions: usize,
    /// Bytes of all results, and of the bundles if they are sent. Includes bytes that the remote already has.
    pub total_bytes: u64,
}

/// Competitions that cannot be planned, with the reason.
type Refused = Vec<(String, Error)>;

/// Sends the results of competitions to the remote, one competition after the other, and calls `done` after each. Updates
/// `progress` before each competition.
/// Objects that the remote has are not sent again, so an interrupted push can be continued. Tables that a run kept only in
/// memory are first computed again and stored in the cache. Also returns the competitions that cannot be planned.
///
/// # Errors
/// Returns an error if the remote fails, or if `cancel` is set.
pub fn push(
    task: &Task,
    ids: &[String],
    link: &Link,
    cancel: &Cancel,
    progress: &Mutex<PushProgress>,
    done: &dyn Fn(&PushResult),
) -> Result<(Vec<PushResult>, Refused), Error> {
    link.stop_with(cancel);
    let task = Task {
        settings: Settings {
            remote: None,
            ..task.settings.clone()
        },
        ..task.clone()
    };
    let settings = &task.settings;
    let store = Store::open_or_empty(&settings.store_dir)?;
    let context = Context::new(store, settings.limits(), cancel.clone());
    let mut plan = Plan::create(&task, ids, &prep_sql::Session::planner(), &context)?;
    store_unstored(&mut plan, &context, &task)?;
    let pushing = Pushing {
        plan: &plan,
        context: &context,
        link,
    };
    let mut all = Vec::new();
    let competitions = &plan.all.competitions;
    let bytes = competitions.iter().map(|one| pushing.bytes(one));
    let total_bytes = bytes.sum::<Result<u64, Error>>()?;
    for (number, competition) in competitions.iter().enumerate() {
        *progress.lock() = PushProgress {
            number: number + 1,
            id: competition.id.clone(),
            competitions: competitions.len(),
            total_bytes,
        };
        let pushed = pushing.push_competition(competition)?;
        done(&pushed);
        all.push(pushed);
    }
    Ok((all, plan.refused))
}

struct Pushing<'a> {
    plan: &'a Plan,
    context: &'a Context,
    link: &'a Link,
}

impl Pushing<'_> {
    /// Returns the bytes of a competition's results, and of its bundle and sources if they are sent.
    fn bytes(&self, competition: &Competition) -> Result<u64, Error> {
        let store = &self.context.store;
        let mut bytes = 0;
        for node in self.plan.all.nodes_of(&competition.id) {
            self.context.check()?;
            if let Some(record) = self.record(*node)
                && let Some(entry) = store.lookup(&record.key())?
            {
                let objects: HashSet<&Digest> = entry.objects().collect();
                let lengths = objects.into_iter().filter_map(|one| store.len_of(one));
                bytes += lengths.sum::<u64>();
            }
        }
        let sources = competition.sources.iter().map(|source| &source.path);
        let files = sources.chain([&competition.bundle]).flatten();
        let files = files.filter(|_| self.link.mirrors());
        let files = files.filter_map(|path| path.metadata().ok());
        Ok(bytes + files.map(|file| file.len()).sum::<u64>())
    }

    /// Returns the key record of a step whose results are shared, if the results are completely on this machine.
    fn record(&self, id: NodeId) -> Option<&KeyRecord> {
        match (
            &self.plan.all.graph.node(id).action,
            self.plan.resolution.states.get(&id)?,
        ) {
            (
                Action::Step(step),
                NodeState::Known {
                    record: Some(record),
                    missing,
                    ..
                },
            ) if step.is_shared() && missing.iter().all(|one| one.absence != Absence::Unstored) => {
                Some(record)
            }
            _ => None,
        }
    }

    fn push_competition(&self, competition: &Competition) -> Result<PushResult, Error> {
        let mut pushed = PushResult {
            id: competition.id.clone(),
            skips_verification: competition.options.verify() == Verify::Nothing,
            skips_bundle_verification: competition.options.verify() == Verify::Outputs,
            ..PushResult::default()
        };
        for node in self.plan.all.nodes_of(&competition.id) {
            self.context.check()?;
            self.push_result(*node, &mut pushed)?;
        }
        // If some results are missing, the bundle may be the wrong one, so it is not sent. If the remote has different
        // results, its record of the bundle must stay, because other machines use this record to find those results.
        if pushed.not_here.is_empty() && pushed.refused.is_empty() {
            self.push_sources(competition, &mut pushed)?;
        }
        Ok(pushed)
    }

    /// Sends the result of a step, if the node is a step whose results are shared.
    fn push_result(&self, id: NodeId, pushed: &mut PushResult) -> Result<(), Error> {
        let node = self.plan.all.graph.node(id);
        let Action::Step(step) = &node.action else {
            return Ok(());
        };
        if !step.is_shared() {
            return Ok(());
        }
        let Some(record) = self.record(id) else {
            pushed.not_here.push(node.name.clone());
            return Ok(());
        };
        let (store, key) = (&self.context.store, record.key());
        let Some(entry) = store.lookup(&key)? else {
            return Ok(());
        };
        let given = self.input_objects(id)?;
        let offer = Offer {
            key,
            given: given.unwrap_or_else(|| entry.objects().copied().collect()),
            entry,
            competition: node.competition.clone(),
            step: node.name.clone(),
        };
        match self.link.send(offer, store)? {
            SendOutcome::Recorded(PutOutcome::New) => pushed.new += 1,
            SendOutcome::Recorded(PutOutcome::Same) => pushed.there += 1,
            SendOutcome::Recorded(PutOutcome::Different(_)) => {
                pushed.refused.push(node.name.clone());
            }
            SendOutcome::Recorded(PutOutcome::Rejected(rejection)) => {
                pushed.refused.push(node.name.clone());
                pushed.rejection.get_or_insert(rejection);
            }
            SendOutcome::Incomplete(_) => pushed.not_here.push(node.name.clone()),
        }
        Ok(())
    }

    /// Returns the input objects of a step. Returns `None` if they are no longer known.
    fn input_objects(&self, id: NodeId) -> Result<Option<Vec<Digest>>, Error> {
        let store = &self.context.store;
        let mut given = Vec::new();
        for (_, port) in self.plan.all.graph.inputs(id) {
            let state = self.plan.resolution.states.get(&port.node);
            let value = match state {
                Some(NodeState::Known { outputs, .. }) => outputs.get(&port.output),
                _ => None,
            };
            let Some(value) = value else {
                return Ok(None);
            };
            match Value::load(store, value) {
                Ok(value) => given.extend(value.objects),
                Err(error) if error.lost_object().is_some() => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(given))
    }

    /// Sends facts, such as checksums, about the source files from which a competition's results were computed. Sends the
    /// files themselves if the remote has a mirror.
    fn push_sources(
        &self,
        competition: &Competition,
        pushed: &mut PushResult,
    ) -> Result<(), Error> {
        let (plan, store) = (self.plan, &self.context.store);
        let value = |id| match plan.resolution.states.get(&id) {
            Some(NodeState::Known { outputs, .. }) => UsedValue::of_outputs(outputs),
            _ => UsedValue::NotUsed,
        };
        for origin in origins(&plan.all, competition, store, value)? {
            let Some(name) = &origin.name else { continue };
            let file = match origin.path.as_ref().filter(|_| self.link.mirrors()) {
                Some(path) => {
                    let opened = File::open(path);
                    Some(opened.map_err(|error| Error::reading("read", path, &error))?)
                }
                None => None,
            };
            let content = origin.record.content();
            match self.link.send_source(name, &content, file)? {
                SourceOutcome::Recorded { mirrored } => {
                    pushed.mirrored |= origin.is_bundle() && mirrored;
                }
                SourceOutcome::Rejected(rejection) => {
                    pushed.rejection.get_or_insert(rejection);
                }
            }
        }
        Ok(())
    }
}

/// Returns the configured remote.
///
/// # Errors
/// Returns an error if no remote is configured.
pub fn remote_of(settings: &Settings) -> Result<&Link, Error> {
    let remote = settings.remote.as_ref();
    remote.ok_or_else(|| Error::request("no remote is configured").help(Remedy::NameRemote))
}

/// Stores tables that a run only kept in memory. Otherwise a machine that pulls the results, but has no bundle, would lack
/// these tables and could not compute them. Reruns the steps of a plan whose results were not stored, and stores the
/// results. Results of failed steps stay unstored. If all results are stored already, writes nothing.
fn store_unstored(plan: &mut Plan, context: &Context, task: &Task) -> Result<(), Error> {
    if plan.resolution.unstored(&plan.all.graph).is_empty() {
        return Ok(());
    }
    let settings = &task.settings;
    let store = Store::open(&settings.store_dir)?;
    let context = Context::new(store, settings.limits(), context.cancel.clone());
    let last = plan.resolution.last.clone();
    let mut resolution = resolve(&plan.all.graph, &context, &last)?;
    resolution.work = resolution.unstored(&plan.all.graph);
    let options = RunOptions {
        keep_going: true,
        oldest_first: false,
    };
    let ids = plan.all.competitions.iter().map(|one| one.id.clone());
    let ids: Vec<String> = ids.collect();
    let log = RunLog::start(task, &ids, &[], Arc::new(NullReporter));
    let (graph, reporter) = (plan.all.graph.clone(), log.clone());
    let report = run(graph, context.clone(), resolution, options, reporter).map_err(Error::from);
    log.finish(report.as_ref().map(RunEnd::of_report));
    report?;
    plan.resolution = resolve(&plan.all.graph, &context, &last)?;
    Ok(())
}

/// Ensures that the complete bundle of a competition is in the data directory or the directory of bundles. Downloads it
/// if necessary, and checks the published MD5 unless that is disabled. Returns the bundle's path.
///
/// # Errors
/// Returns an error if the bundle does not exist and cannot be downloaded, or differs from the published one.
pub fn fetch(task: &Task, id: &str, cancel: &Cancel) -> Result<PathBuf, Error> {
    task.options.require_source()?;
    let (task, _) = &with_last_bundle_options(task, id)?;
    let entry = task.catalog.get(id)?;
    let pipeline = entry.load(&task.options.variant)?;
    let store = Store::open(&task.settings.store_dir)?;
    let in_use = cancel.in_use(&store)?;
    let context = Context::new(store, task.settings.limits(), cancel.clone()).with_lock(in_use);
    let no_bundle = || {
        let message = format!("`{id}` has no bundle, because all its files are in `sources`");
        Error::request(message).help(Remedy::Prepare { id: id.to_owned() })
    };
    let declared = pipeline.bundle.as_ref().ok_or_else(no_bundle)?;
    let bundle = assemble::bundle(id, declared, task);
    bundle.run(&context)?;
    let missing = || {
        Error::new(
            Failure::Internal,
            format!("the bundle of `{id}` is missing after the download"),
        )
    };
    // `run` may have created the directory that contains the bundle, so the bundle is located again.
    bundle.location().ok_or_else(missing)
}

/// Returns the options that [`fetch`] takes from the last run, because the caller did not set them.
///
/// # Errors
/// Returns an error if the record of the last run cannot be read.
pub fn recalled_for_fetch(task: &Task, id: &str) -> Result<Vec<RecalledOption>, Error> {
    Ok(describe(&with_last_bundle_options(task, id)?.1))
}

/// Ensures that the bundle of a competition is in the mirror. If the mirror lacks it, downloads the bundle if
/// necessary, sends it, and then deletes it if bundles are not kept. Returns whether the bundle was sent.
///
/// # Errors
/// Same as [`fetch`]. Also returns an error if the remote does not accept the bundle, or if the results in the remote were
/// computed from a different bundle.
pub fn mirror(task: &Task, id: &str, cancel: &Cancel) -> Result<bool, Error> {
    let link = remote_of(&task.settings)?;
    let store = Store::open(&task.settings.store_dir)?;
    link.remember_in(&store);
    let pipeline = task.catalog.get(id)?.load(&task.options.variant)?;
    let published = pipeline.bundle.as_ref();
    let published = published.and_then(|bundle| bundle.md5.as_deref());
    let is_published = |content: &Content| {
        published.is_none_or(|published| {
            let recorded = content.md5.as_deref();
            recorded.is_some_and(|recorded| recorded.eq_ignore_ascii_case(published))
        })
    };
    let known = link.source(id)?;
    if let Some(known) = &known
        && is_published(&known.content)
        && link.has_bundle(&known.content)?
    {
        return Ok(false);
    }
    let path = fetch(task, id, cancel)?;
    let record = match store.source(&path)? {
        Some(record) => record,
        None => store.ingest(&path, true, &|_| Ok(cancel.check()?))?,
    };
    let content = record.content();
    // If the results in the remote were computed from a different bundle, sending the local bundle is an error. An
    // exception is a local bundle with the published checksum.
    if let Some(known) = known
        && known.content.digest != content.digest
        && (published.is_none() || !is_published(&content))
    {
        let message = format!(
            "{} differs from the bundle from which the results of `{id}` in the remote were computed",
            path.display()
        );
        let remedy = Remedy::PrepareAndSend { id: id.to_owned() };
        return Err(Error::new(Failure::Check, message).help(remedy));
    }
    let file = std::fs::File::open(&path);
    let file = file.map_err(|error| Error::reading("read", &path, &error))?;
    if let SourceOutcome::Rejected(rejection) = link.send_source(id, &content, Some(file))? {
        let message =
            format!("the remote's record of the bundle of `{id}` is not replaced: {rejection}");
        return Err(Error {
            help: rejection.remedy(),
            ..Error::new(Failure::Check, message)
        });
    }
    if !task.options.keep_bundles {
        prep_fetch::discard(&task.settings.data_dir, id);
    }
    Ok(true)
}
