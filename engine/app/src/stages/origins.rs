//! Determines and records the bundle and the sources from which a competition's results were computed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prep_cache::{Digest, SourceRecord, Store, unix_seconds};
use prep_core::{Action, FileValue, NodeId};
use prep_steps::{FailedRun, PreparationRecord, RecordedPipeline, RecordedSource};

use crate::error::Error;
use crate::outline;
use crate::stages::load::{Competition, Verification};
use crate::stages::resolve::CompetitionGraph;

/// The file of a source that steps used.
pub(crate) struct Origin {
    /// The name of the source in the pipeline. `None` for the bundle.
    pub(crate) source: Option<String>,
    /// The name of the source in the cache and the remote. `None` for a file that contains only some members of the
    /// bundle, because such a file must not be recorded as the bundle.
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

/// The content that steps read from a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsedValue {
    NotUsed,
    /// The content that the source has now.
    Current,
    /// The content that is the [`Value`](prep_core::Value) with this digest.
    Exactly(Digest),
}

impl UsedValue {
    /// Looks up the output named `value` in the outputs of a source. Returns `NotUsed` if there is no such output.
    pub(crate) fn of_outputs(outputs: &BTreeMap<String, Digest>) -> UsedValue {
        let value = outputs.get("value").copied();
        value.map_or(UsedValue::NotUsed, UsedValue::Exactly)
    }
}

/// Returns the files that the steps of a competition used.
///
/// `value` identifies the content that the steps read from a source. The file of the source may have changed after the
/// steps read it.
pub(crate) fn origins(
    all: &CompetitionGraph,
    competition: &Competition,
    store: &Store,
    value: impl Fn(NodeId) -> UsedValue,
) -> Result<Vec<Origin>, Error> {
    let mut origins = Vec::new();
    for id in all.nodes_of(&competition.id) {
        let node = all.graph.node(*id);
        let (Action::Source(source), value) = (&node.action, value(*id)) else {
            continue;
        };
        let further = node.name.strip_prefix("source/");
        let name = match further {
            None if competition.is_partial() => None,
            None => Some(competition.id.clone()),
            Some(name) => {
                let source = competition.source(name);
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
        let digest_at_path = local_record.as_ref().map(|record| record.digest);
        let stated = competition.contents.of_source(further);
        let part = competition.contents.part.iter().cloned();
        let part = part.filter(|_| further.is_none() && name.is_none());
        let stated = stated.chain(part);
        let stated = stated.map(|content| SourceRecord::of_content(&content));
        let has_value = |record: &SourceRecord| {
            let file_value = FileValue::outside(record.digest, record.len());
            match value {
                UsedValue::NotUsed => false,
                UsedValue::Current => true,
                UsedValue::Exactly(value) => file_value.into_value().digest() == value,
            }
        };
        let found = local_record.into_iter().chain(stated).find(has_value);
        let found = match &name {
            Some(name) if found.is_none() => store.named_sources(name)?.into_iter().find(has_value),
            _ => found,
        };
        if let Some(record) = found {
            let path = path.filter(|_| digest_at_path == Some(record.digest));
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

/// Creates the record of a preparation for the data directory. `origins` are the files from which the competition was
/// prepared. `before` is the previous record in the data directory.
pub(super) fn record(
    competition: &Competition,
    origins: &[Origin],
    before: Option<&PreparationRecord>,
) -> PreparationRecord {
    let now = unix_seconds();
    let text = outline::digest_of_text(&competition.entry);
    let compared_at = before.and_then(|before| before.compared_at);
    let recorded = |origin: &Origin| RecordedSource {
        content: origin.record.content(),
        is_part: origin.name.is_none(),
        url: origin
            .source
            .as_deref()
            .and_then(|name| competition.source(name)?.url.clone()),
    };
    let bundle = origins.iter().find(|origin| origin.is_bundle());
    let sources = origins.iter().filter_map(|origin| {
        let name = origin.source.clone()?;
        Some((name, recorded(origin)))
    });
    let record = PreparationRecord {
        at: before.map_or(now, |before| before.at),
        // If the comparison with the checksums had failed, the run would not have published the data.
        compared_at: match competition.verification {
            Verification::Checked => compared_at.or(Some(now)),
            Verification::Skipped | Verification::NotPublished => compared_at,
        },
        bundle: bundle.map(recorded),
        sources: sources.collect(),
        options: competition.options.to_record(
            competition.used_source(),
            before.map(|before| &before.options),
        ),
        pipeline: Some(match before.and_then(|before| before.pipeline) {
            Some(known) if known.text == text => known,
            _ => RecordedPipeline {
                text,
                data: outline::digest_of_data(&competition.pipeline),
                grading: Some(outline::digest_of_grading(&competition.pipeline)),
            },
        }),
    };
    match before {
        Some(before) if *before != record => PreparationRecord { at: now, ..record },
        _ => record,
    }
}

/// Records how a competition was prepared.
///
/// The run calls this function as soon as the competition is published, and deletes the bundle only afterwards.
/// Therefore the record exists even if the run is killed before the stage `record`.
///
/// Ignores errors. Without the record, the next run needs the bundle again.
pub(super) fn record_publication(
    all: &CompetitionGraph,
    (store, data_dir): (&Store, &Path),
    id: &str,
    key: &Digest,
) {
    FailedRun::remove(data_dir, id);
    let Some(competition) = all.competitions.iter().find(|one| one.id == id) else {
        return;
    };
    let Ok(found) = origins(all, competition, store, |_| UsedValue::Current) else {
        return;
    };
    let change = |before: Option<PreparationRecord>| PreparationRecord {
        at: unix_seconds(),
        ..record(competition, &found, before.as_ref())
    };
    // If this fails, the stage `record` tries again.
    let _ = prep_steps::record_preparation(data_dir, id, key, change);
}
