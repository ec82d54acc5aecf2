//! The contents from which a competition's results were made. The store records them as the bundle of the competition, and the remote
//! gets the same record. A bundle that was only read is not recorded, because it may be the wrong one.

use std::path::PathBuf;

use prep_cache::{Digest, SourceRecord, Store};
use prep_core::{Action, FileValue, Graph, NodeId, StepOutcome};

use super::assemble::Competition;
use super::run::Ended;
use super::sources::remembered_as;
use crate::error::Error;

/// The file of a source that steps used.
pub(crate) struct Origin {
    /// The name of the source in the store and the remote.
    pub(crate) name: String,
    pub(crate) record: SourceRecord,
    /// The path of the file, if it exists.
    pub(crate) path: Option<PathBuf>,
    pub(crate) is_bundle: bool,
}

/// Returns the files that the steps of a competition used. `value` returns the digest of a source's value, from which all keys of the
/// competition's steps follow.
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
                // A directory has no content of its own.
                let file = file.and_then(|source| source.file.as_ref());
                file.map(|file| remembered_as(&competition.id, name, file))
            }
        };
        let Some(name) = name else { continue };
        let path = source.location();
        // A bundle that was deleted during the run is not an error, because the cache has its record.
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

/// Records the contents from which the results of a competition were made, here and in the remote. An incomplete competition changes
/// nothing. If no step ran, there is nothing new.
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
        if let Some(link) = link.filter(|link| link.remote().is_writable()) {
            link.offer_source(&origin.name, &origin.record.content());
        }
    }
    Ok(())
}
