//! Updates the history after a run: the record under which each step was last up to date, why it last ran, and which
//! checks failed.

use std::collections::BTreeMap;

use prep_cache::{FailedStep, History, HistoryStep, unix_seconds};

use super::RunShared;
use super::scheduler::Scheduler;
use crate::graph::NodeId;
use crate::resolve::work::NodeState;
use crate::{Action, Failure, LastRun, StepOutcome};

/// Stores, for each step that is now up to date, its key record and why it last ran.
pub(super) fn record(
    shared: &RunShared,
    scheduler: &Scheduler,
) -> Result<(), prep_cache::StoreError> {
    let mut by_competition: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
    for id in scheduler.states.keys() {
        by_competition
            .entry(&shared.graph.node(*id).competition)
            .or_default()
            .push(*id);
    }
    let ran = |id: &NodeId| {
        matches!(
            scheduler.report.outcomes.get(id),
            Some(StepOutcome::Done { .. })
        )
    };
    for (competition, nodes) in by_competition {
        if !nodes
            .iter()
            .any(|id| ran(id) || failed_check(shared, scheduler, *id).is_some())
        {
            continue;
        }
        // A publication loads the history before it changes the directory, because it compares its key with the last
        // one. So this is the history of the directory as it was before the run.
        let history = History::clone(&*shared.last.history(competition)?);
        let old = &history.steps;
        let mut failed = history.failed.clone();
        let mut steps = BTreeMap::new();
        for id in nodes {
            let name = &shared.graph.node(id).name;
            let before = old.get(name);
            if let Some(step) = failed_check(shared, scheduler, id) {
                failed.insert(name.clone(), step);
            }
            let (NodeState::Known {
                record: Some(record),
                ..
            }
            | NodeState::Current { record }) = &scheduler.states[&id]
            else {
                if let Some(before) = before {
                    steps.insert(name.clone(), before.clone());
                }
                continue;
            };
            failed.remove(name);
            let reason = if ran(&id) {
                scheduler.reasons.get(&id).cloned()
            } else {
                before.and_then(|before| {
                    serde_json::from_value::<LastRun>(before.record.clone())
                        .ok()?
                        .reason
                })
            };
            let last = LastRun {
                record: record.clone(),
                reason,
                failed: None,
            };
            if let Ok(last) = serde_json::to_value(last) {
                steps.insert(
                    name.clone(),
                    HistoryStep {
                        key: record.key(),
                        record: last,
                    },
                );
            }
        }
        let history = history.followed_by(unix_seconds(), steps, failed);
        shared
            .last
            .set(&shared.context.store, competition, &history)?;
    }
    Ok(())
}

/// Returns the record of a failed check. Only failed checks are recorded, because the result of a check depends only on
/// its key record. Other failures may not occur again.
fn failed_check(shared: &RunShared, scheduler: &Scheduler, id: NodeId) -> Option<FailedStep> {
    let Some(StepOutcome::Failed {
        failure: Failure::Check,
        message,
    }) = scheduler.report.outcomes.get(&id)
    else {
        return None;
    };
    let Some(NodeState::Stale {
        record: Some(record),
        ..
    }) = scheduler.states.get(&id)
    else {
        return None;
    };
    let Action::Step(_) = shared.graph.node(id).action else {
        return None;
    };
    let last = LastRun {
        record: record.clone(),
        reason: scheduler.reasons.get(&id).cloned(),
        failed: None,
    };
    Some(FailedStep {
        record: serde_json::to_value(last).ok()?,
        message: message.clone(),
    })
}
