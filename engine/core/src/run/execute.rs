//! Running one node.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use prep_cache::{Digest, LedgerEntry, LockGuard, Offer, Permit, StoreError, Usage, try_lock_file};

use super::Shared;
use crate::figures::millis;
use crate::graph::NodeId;
use crate::held::Held;
use crate::{
    Action, Claim, Context, Event, Figures, Inputs, KeyRecord, Progress, Reason, StepError, Value,
    Waited,
};

/// Memory that a source may hold: it reads in pieces.
const MEMORY_OF_SOURCE: u64 = 16 << 20;

/// A node with all that it needs but memory.
pub(super) struct Task {
    pub id: NodeId,
    pub record: Option<KeyRecord>,
    pub reason: Reason,
    pub digests: BTreeMap<String, Digest>,
    /// A step's key or what a sink looks after; a source sees to itself.
    pub lock: Option<Arc<LockGuard>>,
    pub waited: Waited,
}

/// What a node left behind.
pub(super) enum Ended {
    Outputs {
        record: Option<KeyRecord>,
        outputs: BTreeMap<String, Digest>,
        ran: Option<Figures>,
        /// What it holds in memory.
        held: Vec<Arc<Held>>,
    },
    Sink {
        record: KeyRecord,
        ran: Option<Figures>,
    },
}

/// The lock of a node, if it has one. None when somebody else holds it.
pub(super) fn try_lock(
    shared: &Shared,
    id: NodeId,
    record: Option<&KeyRecord>,
) -> Result<Option<Option<LockGuard>>, StepError> {
    let lock = match (&shared.graph.node(id).action, record) {
        (Action::Step(_), Some(record)) => {
            let name = format!("step-{}", record.key());
            shared.context.store.try_lock(&name)?
        }
        (Action::Sink(sink), _) => match sink.lock() {
            None => return Ok(Some(None)),
            Some(path) => {
                if let Some(folder) = path.parent() {
                    std::fs::create_dir_all(folder).map_err(|cause| {
                        let path = folder.to_owned();
                        StoreError::Io {
                            action: "make the folder",
                            path,
                            cause,
                        }
                    })?;
                }
                try_lock_file(&path)?
            }
        },
        _ => return Ok(Some(None)),
    };
    Ok(lock.map(Some))
}

impl Task {
    /// Waits for memory, runs, records. `thread` is the one that the node works on.
    pub async fn execute(
        mut self,
        shared: Arc<Shared>,
        thread: Permit,
    ) -> Result<Ended, StepError> {
        let (inputs, bytes) = self.load(&shared).await?;
        let memory = shared.context.memory.counted();
        let asked = Instant::now();
        let Some(claim) = memory.claim(bytes).await else {
            return Err(StepError::Cancelled);
        };
        self.waited.memory = millis(asked.elapsed());
        let progress = Arc::new(Progress::default());
        let context = shared.context.of_step(progress, memory, self.lock.clone());
        let work = move || {
            let ended = thread.work(|| self.run(&shared, &context, &claim, &inputs));
            drop((claim, thread));
            ended
        };
        let task = tokio::task::spawn_blocking(work);
        task.await
            .unwrap_or_else(|panic| Err(StepError::internal(panic_message(panic))))
    }

    /// The inputs, and the memory that the node claims for them. They may have to come from afar.
    async fn load(&self, shared: &Arc<Shared>) -> Result<(Inputs, u64), StepError> {
        let (shared, digests, id) = (shared.clone(), self.digests.clone(), self.id);
        let load = move || {
            let mut inputs = Inputs::new();
            for (name, digest) in digests {
                inputs.insert(name, Value::load(&shared.context.store, &digest)?);
            }
            let bytes = match &shared.graph.node(id).action {
                Action::Source(_) => MEMORY_OF_SOURCE,
                Action::Step(step) => step.memory(&inputs),
                Action::Sink(sink) => sink.memory(&inputs),
            };
            Ok((inputs, bytes))
        };
        let task = tokio::task::spawn_blocking(load);
        task.await
            .unwrap_or_else(|panic| Err(StepError::internal(panic_message(panic))))
    }

    fn run(
        self,
        shared: &Shared,
        context: &Context,
        _claim: &Claim,
        inputs: &Inputs,
    ) -> Result<Ended, StepError> {
        context.check()?;
        let node = shared.graph.node(self.id);
        let reason = self.reason;
        let begin = || {
            shared.reporter.event(&Event::StepStarted {
                competition: node.competition.clone(),
                step: node.name.clone(),
                kind: node.action.kind(),
                reason,
                progress: context.progress.clone(),
            });
            Watch::start(self.waited)
        };
        match (&node.action, self.record) {
            (Action::Source(source), _) => {
                let watch = begin();
                let digest = source.run(context)?.save(&context.store)?;
                Ok(Ended::Outputs {
                    record: None,
                    outputs: BTreeMap::from([("value".to_owned(), digest)]),
                    ran: Some(watch.stop(shared, context)),
                    held: Vec::new(),
                })
            }
            (Action::Step(step), Some(record)) => {
                let key = record.key();
                // Another process may have done it while this one waited.
                if let Some(entry) = context.store.lookup(&key)?
                    && context.missing(&entry).is_empty()
                {
                    return Ok(Ended::Outputs {
                        record: Some(record),
                        outputs: entry.outputs,
                        ran: None,
                        held: Vec::new(),
                    });
                }
                if context.only_found && step.is_shared() {
                    let name = &node.name;
                    return Err(StepError::input(format!(
                        "what `{name}` makes was not found in the remote; `prep run` makes it"
                    )));
                }
                let watch = begin();
                let values = step.run(context, inputs)?;
                context.check_locks()?;
                let mut outputs = BTreeMap::new();
                let mut references = Vec::new();
                for (name, value) in values {
                    references.extend(&value.objects);
                    outputs.insert(name, value.save(&context.store)?);
                }
                references.sort();
                references.dedup();
                let is_unstored = |object: &Digest| {
                    context.is_held(object) && context.store.len_of(object).is_none()
                };
                let (unstored, references) = references.into_iter().partition(is_unstored);
                let ran = watch.stop(shared, context);
                let entry = LedgerEntry {
                    record: record.to_json(),
                    outputs: outputs.clone(),
                    references,
                    unstored,
                    created: unix_seconds(),
                    millis: ran.wall,
                    lengths: Vec::new(),
                    elsewhere: false,
                };
                context.store.record(&key, &entry)?;
                if step.is_shared() {
                    context.store.offer(|| Offer {
                        key,
                        entry: entry.clone(),
                        competition: node.competition.clone(),
                        step: node.name.clone(),
                        given: given(inputs),
                    });
                }
                Ok(Ended::Outputs {
                    record: Some(record),
                    outputs,
                    ran: Some(ran),
                    held: context.take_holding(),
                })
            }
            (Action::Sink(sink), Some(record)) => {
                let key = record.key();
                if self.waited.lock > 0 && sink.is_current(context, &key)? {
                    return Ok(Ended::Sink { record, ran: None });
                }
                let watch = begin();
                sink.run(context, &key, inputs)?;
                let ran = Some(watch.stop(shared, context));
                Ok(Ended::Sink { record, ran })
            }
            (_, None) => Err(StepError::internal(
                "a step was started before its inputs were known",
            )),
        }
    }
}

/// All objects that the inputs are made of.
fn given(inputs: &Inputs) -> Vec<Digest> {
    let objects = inputs.values().flat_map(|value| &value.objects);
    objects.copied().collect()
}

/// Measures a step on its thread.
struct Watch {
    started: Instant,
    before: Usage,
    waited: Waited,
}

impl Watch {
    fn start(waited: Waited) -> Watch {
        Watch {
            started: Instant::now(),
            before: Usage::of_this_thread(),
            waited,
        }
    }

    fn stop(self, shared: &Shared, context: &Context) -> Figures {
        let own = Usage::of_this_thread().since(self.before);
        let used = own.and(context.threads.usage());
        Figures {
            began: millis(self.started - shared.began),
            wall: millis(self.started.elapsed()),
            cpu: millis(used.cpu),
            read: used.read,
            written: used.written,
            memory: context.memory.peak(),
            waited: self.waited,
        }
    }
}

pub(super) fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

fn panic_message(error: tokio::task::JoinError) -> String {
    let panic: Box<dyn Any + Send> = match error.try_into_panic() {
        Ok(panic) => panic,
        Err(error) => return error.to_string(),
    };
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    format!(
        "a step panicked: {}",
        text.unwrap_or_else(|| "no message".into())
    )
}
