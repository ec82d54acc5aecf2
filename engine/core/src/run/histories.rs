//! Writes the histories of competitions after a run.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use prep_cache::{Digest, FailedStep, History, HistoryStep, StoreError};

use super::RunShared;
use super::scheduler::Scheduler;
use crate::graph::NodeId;
use crate::resolve::changed;
use crate::resolve::work::NodeState;
use crate::{Action, Failure, KeyRecord, LastRun, LastSteps, StepOutcome};

/// Writes the history of each competition in which a step ran or a check failed. If a history cannot be written, its
/// competition fails, because its next run could not explain why steps run. The other competitions keep their outcomes.
pub(super) fn record(shared: &RunShared, scheduler: &mut Scheduler) {
    let mut by_competition: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
    for id in scheduler.states.keys() {
        by_competition
            .entry(&shared.graph.node(*id).competition)
            .or_default()
            .push(*id);
    }
    for (competition, nodes) in by_competition {
        let ended = EndedRun { shared, scheduler };
        if let Err(error) = ended.record(competition, &nodes) {
            scheduler.fail_competition(&nodes, error.into());
        }
    }
}

/// How a run changed the target directory of a competition.
enum Target {
    /// The run published, or found the earlier publication up to date.
    Published,
    /// Nothing was published before this run.
    First,
    /// The run published nothing, so the target still has the earlier publication.
    Kept,
}

struct EndedRun<'a> {
    shared: &'a RunShared,
    scheduler: &'a Scheduler,
}

impl EndedRun<'_> {
    fn record(&self, competition: &str, nodes: &[NodeId]) -> Result<(), StoreError> {
        let is_new = |id: &NodeId| self.ran(*id) || self.failed_check(*id).is_some();
        if !nodes.iter().any(is_new) {
            return Ok(());
        }
        // `last` reads each history only once, before the run changes the target directory. Therefore this history does not
        // contain this run.
        let last = &self.shared.last;
        let history = History::clone(&*last.history(competition)?);
        let published = last.published(competition)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default();
        let mut failed = history.failed.clone();
        let mut steps = BTreeMap::new();
        for &id in nodes {
            let name = &self.shared.graph.node(id).name;
            if let Some(step) = self.failed_check(id) {
                failed.insert(name.clone(), step);
            }
            let Some((key, record)) = self.key_record(id) else {
                let before = history.steps.get(name);
                steps.extend(before.map(|before| (name.clone(), before.clone())));
                continue;
            };
            failed.remove(name);
            let before = published.get(name);
            let reason = before.and_then(|before| changed(&before.record, &record));
            let last = match before {
                Some(before) if reason.is_none() && !self.ran(id) => before.clone(),
                _ => LastRun {
                    reason: reason.or_else(|| self.scheduler.reasons.get(&id).cloned()),
                    at: u64::try_from(now.as_millis()).unwrap_or_default(),
                    reused: !self.ran(id),
                    failed: None,
                    record,
                },
            };
            if let Ok(record) = serde_json::to_value(last) {
                steps.insert(name.clone(), HistoryStep { key, record });
            }
        }
        let now = now.as_secs();
        let history = match self.target(nodes, &published) {
            Target::Kept => history.followed_by_unpublished(now, &steps, failed),
            Target::Published => history.followed_by(now, steps, failed),
            Target::First => History::default().followed_by(now, steps, failed),
        };
        last.set(&self.shared.context.store, competition, &history)
    }

    fn target(&self, nodes: &[NodeId], published: &LastSteps) -> Target {
        let (graph, states) = (&self.shared.graph, &self.scheduler.states);
        let is_sink = |id: &&NodeId| matches!(graph.node(**id).action, Action::Sink(_));
        let mut sinks = nodes.iter().filter(is_sink);
        if sinks
            .clone()
            .any(|id| !published.contains_key(&graph.node(*id).name))
        {
            return Target::First;
        }
        match sinks.all(|id| matches!(states[id], NodeState::Current { .. })) {
            true => Target::Published,
            false => Target::Kept,
        }
    }

    fn ran(&self, id: NodeId) -> bool {
        let outcome = self.scheduler.report.outcomes.get(&id);
        matches!(outcome, Some(StepOutcome::Done { .. }))
    }

    /// Returns the key and the key record of a node with known outputs. The key of a source is the digest of its value.
    fn key_record(&self, id: NodeId) -> Option<(Digest, KeyRecord)> {
        match (
            &self.scheduler.states[&id],
            &self.shared.graph.node(id).action,
        ) {
            (NodeState::Known { outputs, .. }, Action::Source(source)) => {
                let value = outputs.get("value").copied()?;
                let store = &self.shared.context.store;
                Some((value, KeyRecord::of_source(store, &**source, Some(value))))
            }
            (
                NodeState::Known {
                    record: Some(record),
                    ..
                }
                | NodeState::Current { record },
                _,
            ) => Some((record.key(), record.clone())),
            _ => None,
        }
    }

    /// Returns a record of the failure if the node is a failed check. A check depends only on its key record, so with the
    /// same key record, it would fail again. Other failures are not recorded, because the next run may succeed.
    fn failed_check(&self, id: NodeId) -> Option<FailedStep> {
        let Some(StepOutcome::Failed {
            failure: Failure::Check,
            message,
        }) = self.scheduler.report.outcomes.get(&id)
        else {
            return None;
        };
        let Some(NodeState::Stale {
            record: Some(record),
            ..
        }) = self.scheduler.states.get(&id)
        else {
            return None;
        };
        let Action::Step(_) = self.shared.graph.node(id).action else {
            return None;
        };
        let last = LastRun {
            record: record.clone(),
            reason: self.scheduler.reasons.get(&id).cloned(),
            at: 0,
            reused: false,
            failed: None,
        };
        Some(FailedStep {
            record: serde_json::to_value(last).ok()?,
            message: message.clone(),
        })
    }
}
