//! Determines the bundle and the sources from which a competition's results were computed. Records them in the cache and
//! in the remote. A bundle is recorded there only after all steps succeeded, because it may be the wrong one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use prep_cache::{Digest, SourceRecord, Store};
use prep_core::{Action, FileValue, Graph, NodeId};

use super::assemble::Competition;
use super::ended::{CompetitionState, Ended};
use crate::error::Error;

/// The file of a source that steps used.
pub(crate) struct Origin {
    /// The name of the source in the pipeline. `None` for the bundle.
    pub(crate) source: Option<String>,
    /// The name of the source in the cache and the remote. `None` for a part of the bundle, which is not recorded as
    /// the bundle.
    pub(crate) name: Option<String>,
    pub(crate) record: SourceRecord,
    /// The path of the file, if it exists.
    pub(crate) path: Option<PathBuf>,
}

impl Origin {
    pub(crate) fn is_bundle(&self) -> bool {
        self.source.is_none()
    }
}

/// The value of a source that steps used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsedValue {
    NotUsed,
    /// The value that the source has now.
    Current,
    /// The value with this digest.
    Exactly(Digest),
}

impl UsedValue {
    /// Returns the value in the outputs of a source.
    pub(crate) fn of_outputs(outputs: &BTreeMap<String, Digest>) -> UsedValue {
        let value = outputs.get("value").copied();
        value.map_or(UsedValue::NotUsed, UsedValue::Exactly)
    }
}

/// Returns the files that the steps of a competition used. `value` returns a source's value. The keys of all steps
/// depend on these values.
pub(crate) fn origins(
    graph: &Graph,
    nodes: &[NodeId],
    competition: &Competition,
    store: &Store,
    value: impl Fn(NodeId) -> UsedValue,
) -> Result<Vec<Origin>, Error> {
    let mut origins = Vec::new();
    for id in nodes {
        let node = graph.node(*id);
        let (Action::Source(source), value) = (&node.action, value(*id)) else {
            continue;
        };
        let further = node.name.strip_prefix("source/");
        let name = match further {
            None if competition.is_partial() => None,
            None => Some(competition.id.clone()),
            Some(name) => {
                let mut sources = competition.sources.iter();
                let source = sources.find(|source| source.name == name);
                // A directory is not recorded, because it is not a single file.
                let record_name = source.and_then(|source| source.record_name.clone());
                let Some(record_name) = record_name else {
                    continue;
                };
                Some(record_name)
            }
        };
        let path = source.location();
        // A bundle that was deleted during the run is not an error, because the cache has its record.
        let local_record = path.as_deref();
        let local_record = local_record.and_then(|path| store.source(path).ok().flatten());
        let at_path = local_record.as_ref().map(|record| record.digest);
        let stated = competition.contents.of_source(further);
        let part = competition.contents.part.iter().cloned();
        let part = part.filter(|_| further.is_none() && name.is_none());
        let stated = stated.chain(part);
        let stated = stated.map(|content| SourceRecord::of_content(&content));
        let named = match &name {
            Some(name) => store.named_sources(name)?,
            None => Vec::new(),
        };
        let mut records = local_record.into_iter().chain(stated).chain(named);
        let has_value = |record: &SourceRecord| {
            let file_value = FileValue::outside(record.digest, record.len());
            match value {
                UsedValue::NotUsed => false,
                UsedValue::Current => true,
                UsedValue::Exactly(value) => file_value.into_value().digest() == value,
            }
        };
        if let Some(record) = records.find(has_value) {
            let path = path.filter(|_| at_path == Some(record.digest));
            origins.push(Origin {
                source: further.map(str::to_owned),
                name,
                record,
                path,
            });
        }
    }
    Ok(origins)
}

/// Returns the files that the steps of a competition used in a run.
pub(super) fn of_run(ended: &Ended, competition: &Competition) -> Result<Vec<Origin>, Error> {
    let (report, store) = (&ended.report, &ended.context.store);
    let value = |id| {
        let outputs = report.outputs.get(&id);
        outputs.map_or(UsedValue::NotUsed, UsedValue::of_outputs)
    };
    let nodes = ended.nodes_of(&competition.id);
    origins(&ended.graph, nodes, competition, store, value)
}

/// Records the files from which the results of competitions were computed, in the cache and in the remote. Records
/// nothing about a competition if a step failed, or if no step ran.
pub(super) fn confirm(ended: &Ended) -> Result<(), Error> {
    let store = &ended.context.store;
    let link = ended.task.settings.remote.as_ref();
    for competition in ended.competitions.iter() {
        if ended.state_of(&competition.id) != CompetitionState::Prepared {
            continue;
        }
        for origin in of_run(ended, competition)? {
            let Some(name) = &origin.name else { continue };
            store.confirm_source(name, &origin.record)?;
            if let Some(link) = link.filter(|link| link.remote().is_writable()) {
                link.offer_source(name, &origin.record.content());
            }
        }
    }
    Ok(())
}
