//! Records the bundle and the sources from which a competition's results were computed, in the cache and in the remote.
//! A bundle is recorded only after all steps succeeded, because it may be the wrong one.

use std::path::PathBuf;

use prep_cache::{Digest, SourceRecord, Store};
use prep_core::{Action, FileValue, Graph, NodeId};

use super::assemble::Competition;
use super::ended::{Ended, State};
use crate::error::Error;

/// The file of a source that steps used.
pub(crate) struct Origin {
    /// The name of the source in the cache and the remote.
    pub(crate) name: String,
    pub(crate) record: SourceRecord,
    /// The path of the file, if it exists.
    pub(crate) path: Option<PathBuf>,
    pub(crate) is_bundle: bool,
}

/// Returns the files that the steps of a competition used. `value` returns the digest of a source's value. The keys of
/// all steps depend on these digests.
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
            // A part of the bundle is not recorded as the bundle.
            None if competition.is_partial() => None,
            None => Some(competition.id.clone()),
            Some(name) => {
                let mut sources = competition.sources.iter();
                let source = sources.find(|source| source.name == name);
                // A directory is not recorded, because it is not a single file.
                source.and_then(|source| source.record_name.clone())
            }
        };
        let Some(name) = name else { continue };
        let path = source.location();
        // A bundle that was deleted during the run is not an error, because the cache has its record.
        let local_record = path.as_deref();
        let local_record = local_record.and_then(|path| store.source(path).ok().flatten());
        let at_path = local_record.as_ref().map(|record| record.digest);
        let mut records = local_record.into_iter().chain(store.named_sources(&name)?);
        let has_value = |record: &SourceRecord| {
            let file_value = FileValue::outside(record.digest, record.len());
            file_value.into_value().digest() == value
        };
        if let Some(record) = records.find(has_value) {
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

/// Records the files from which the results of competitions were computed, in the cache and in the remote. Records
/// nothing about a competition if a step failed, or if no step ran.
pub(super) fn confirm(ended: &Ended) -> Result<(), Error> {
    let (report, store) = (&ended.report, &ended.context.store);
    let value = |id| report.outputs.get(&id)?.get("value").copied();
    let link = ended.task.settings.remote.as_ref();
    for competition in &ended.competitions {
        if ended.state_of(&competition.id) != State::Prepared {
            continue;
        }
        let nodes = ended.nodes_of(&competition.id);
        for origin in origins(&ended.graph, nodes, competition, store, value)? {
            store.confirm_source(&origin.name, &origin.record)?;
            if let Some(link) = link.filter(|link| link.remote().is_writable()) {
                link.offer_source(&origin.name, &origin.record.content());
            }
        }
    }
    Ok(())
}
