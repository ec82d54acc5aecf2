//! The contents that a competition's results were made of: what the store keeps as the bundle of a competition, and what
//! other machines are told. A bundle that was only looked at is neither: it may have been the wrong one.

use std::path::PathBuf;

use prep_cache::{Digest, SourceRecord, Store};
use prep_core::{Action, FileValue, Graph, NodeId, StepOutcome};

use super::assemble::Competition;
use super::run::Ended;
use super::sources::remembered_as;
use crate::error::Error;

/// The file of a source that steps were given.
pub(crate) struct Origin {
    /// What the store and the remote call the source.
    pub(crate) name: String,
    pub(crate) record: SourceRecord,
    /// Where the file is, if it is here.
    pub(crate) path: Option<PathBuf>,
    pub(crate) is_bundle: bool,
}

/// The files that the steps of a competition were given. `value` returns the digest of a source's value: all keys of the
/// competition's steps follow from those.
pub(crate) fn origins(
    graph: &Graph,
    nodes: &[NodeId],
    competition: &Competition,
    store: &Store,
    value: impl Fn(NodeId) -> Option<Digest>,
) -> Result<Vec<Origin>, Error> {
    let mut origins = Vec::new();
    for id in nodes {
        let node = graph.node(*id);
        let (Action::Source(source), Some(value)) = (&node.action, value(*id)) else {
            continue;
        };
        let further = node.name.strip_prefix("source/");
        let name = match further {
            // A part is not the bundle.
            None if competition.is_partial() => None,
            None => Some(competition.id.clone()),
            Some(name) => {
                let mut sources = competition.sources.iter();
                let file = sources.find(|one| one.name == name);
                // A folder has no content of its own.
                let file = file.and_then(|source| source.file.as_ref());
                file.map(|file| remembered_as(&competition.id, name, file))
            }
        };
        let Some(name) = name else { continue };
        let path = source.location();
        // A bundle that disappeared meanwhile is no error: the cache has its record.
        let here = path.as_deref();
        let here = here.and_then(|path| store.source(path).ok().flatten());
        let at_path = here.as_ref().map(|record| record.digest);
        let mut records = here.into_iter().chain(store.named_sources(&name)?);
        let is_given = |record: &SourceRecord| {
            let given = FileValue::outside(record.digest, record.len());
            given.into_value().digest() == value
        };
        if let Some(record) = records.find(is_given) {
            let path = path.filter(|_| at_path == Some(record.digest));
            origins.push(Origin {
                name,
                record,
                path,
                is_bundle: further.is_none(),
            });
        }
    }
    Ok(origins)
}

/// Keeps the contents that the results of a competition were made of, and offers them to the remote. A competition that is
/// not complete changes nothing; one in which nothing ran has nothing new.
pub(crate) fn confirm(ended: &Ended, competition: &Competition) -> Result<(), Error> {
    let (report, store) = (&ended.report, &ended.context.store);
    let nodes = ended.nodes_of(&competition.id);
    let outcomes = || nodes.iter().map(|id| report.outcomes.get(id));
    let is_good = |outcome: Option<&StepOutcome>| {
        matches!(
            outcome,
            Some(StepOutcome::Done { .. } | StepOutcome::Reused)
        )
    };
    let has_run = |outcome: Option<&StepOutcome>| matches!(outcome, Some(StepOutcome::Done { .. }));
    if !outcomes().all(is_good) || !outcomes().any(has_run) {
        return Ok(());
    }
    let value = |id| report.outputs.get(&id)?.get("value").copied();
    let link = ended.task.settings.remote.as_ref();
    for origin in origins(&ended.graph, nodes, competition, store, value)? {
        store.confirm_source(&origin.name, &origin.record)?;
        if let Some(link) = link.filter(|link| link.remote().takes()) {
            link.offer_source(&origin.name, &origin.record.content());
        }
    }
    Ok(())
}
