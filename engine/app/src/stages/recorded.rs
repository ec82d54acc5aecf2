//! The record of a competition in a data directory, and the contents of sources that are not on this machine.
//!
//! An absent bundle has the content that the data directory records. If the directory records none, the bundle is
//! missing, whatever the cache saw last: that may have been the bundle of another directory. Only on request are the
//! cache's latest results used ([`PreparationOptions::from_cache`]). A configured remote is such a request, too. See
//! [`borrowed`](super::borrowed).
//!
//! [`PreparationOptions::from_cache`]: crate::PreparationOptions::from_cache

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use prep_cache::{Content, SourceRecord, Store, StoreError, unix_seconds};
use prep_core::{Graph, NodeId};
use prep_remote::RemoteContent;
use prep_spec::model::RemoteFile;
use prep_steps::{PreparationRecord, RecordedSource};

use super::assemble::Competition;
use super::load::Verification;
use super::origins::{Origin, UsedValue, origins};
use super::sources::source_record_name;
use crate::error::Error;
use crate::prepared;
use crate::task::Task;

/// Returns the record of a competition in the data directory of the task's variant.
pub(super) fn read(task: &Task, id: &str) -> Result<PreparationRecord, Error> {
    let manifest = prepared::manifest(&task.data_dir(), id)?;
    let record = manifest.and_then(|manifest| manifest.preparation);
    Ok(record.unwrap_or_default())
}

/// The contents of sources for the case that their files do not exist. The bundle has the name `None`.
#[derive(Debug, Clone, Default)]
pub(crate) struct StatedContents {
    pub bundle: Option<Content>,
    /// The content of the file with some members of the bundle.
    pub part: Option<Content>,
    pub sources: BTreeMap<String, Content>,
    /// The bundle, if it comes from the cache and not from a record of the data directory.
    pub cached: Option<SourceRecord>,
    /// The contents that the remote records, by the name of the source.
    pub remote: BTreeMap<Option<String>, RemoteContent>,
}

impl StatedContents {
    /// Returns the contents that the data directory records. `own` is the record of the task's variant. If it names no
    /// bundle, another variant in the same data directory does. `files` has the names of further sources and their
    /// files. A content from a different URL is not theirs.
    pub(super) fn of_record(
        task: &Task,
        id: &str,
        own: &PreparationRecord,
        files: &[(&str, &RemoteFile)],
    ) -> Result<StatedContents, Error> {
        let mut record = own.clone();
        for variant in task.settings.variants() {
            if record.bundle.is_some() {
                break;
            }
            let data_dir = task.settings.data_dir_of(&variant);
            let manifest = prepared::manifest(&data_dir, id)?;
            record = manifest.and_then(|one| one.preparation).unwrap_or_default();
        }
        let (part, bundle): (Vec<_>, Vec<_>) =
            record.bundle.into_iter().partition(|one| one.is_part);
        let first = |found: Vec<RecordedSource>| Some(found.into_iter().next()?.content);
        let is_current = |name: &str, recorded: &RecordedSource| {
            let mut files = files.iter().filter(|(file, _)| *file == name);
            files.any(|(_, remote)| recorded.url.as_ref() == Some(&remote.url))
        };
        let sources = record.sources.into_iter();
        let sources = sources.filter(|(name, one)| is_current(name, one));
        Ok(StatedContents {
            bundle: first(bundle),
            part: first(part),
            sources: sources.map(|(name, one)| (name, one.content)).collect(),
            ..StatedContents::default()
        })
    }

    /// Returns the contents from which the latest results in the cache were computed. The bundle is that of
    /// [`cached_bundle`]. `files` has the names of further sources and their files.
    pub(super) fn of_cache(
        store: &Store,
        id: &str,
        md5: Option<&str>,
        files: &[(&str, &RemoteFile)],
    ) -> Result<StatedContents, Error> {
        let cached = cached_bundle(store, id, md5)?;
        let mut sources = BTreeMap::new();
        for (name, file) in files {
            let record = store.named_sources(&source_record_name(id, name, file))?;
            if let Some(record) = record.first() {
                sources.insert((*name).to_owned(), record.content());
            }
        }
        Ok(StatedContents {
            bundle: cached.as_ref().map(SourceRecord::content),
            sources,
            cached,
            ..StatedContents::default()
        })
    }

    /// Returns all known contents of a source.
    pub(super) fn of_source(&self, source: Option<&str>) -> impl Iterator<Item = Content> {
        let stated = match source {
            None => self.bundle.as_ref(),
            Some(name) => self.sources.get(name),
        };
        let remote = self.remote.get(&source.map(str::to_owned));
        let remote = remote.and_then(|answer| answer.get().cloned().flatten());
        stated.cloned().into_iter().chain(remote)
    }
}

/// Returns the latest bundle from which the cache has results of a competition. It has the MD5 `md5`, if that is given.
pub(super) fn cached_bundle(
    store: &Store,
    id: &str,
    md5: Option<&str>,
) -> Result<Option<SourceRecord>, StoreError> {
    let has_md5 = |record: &SourceRecord| {
        let found = record.md5.as_deref();
        md5.is_none_or(|md5| found.is_some_and(|found| found.eq_ignore_ascii_case(md5)))
    };
    Ok(store.named_sources(id)?.into_iter().find(has_md5))
}

/// Returns the record of a tree that was prepared from `origins`. `before` is the earlier record of the same tree.
pub(super) fn record(
    competition: &Competition,
    origins: &[Origin],
    before: Option<&PreparationRecord>,
) -> PreparationRecord {
    let now = unix_seconds();
    let compared_at = before.and_then(|before| before.compared_at);
    let recorded = |origin: &Origin| RecordedSource {
        content: origin.record.content(),
        is_part: origin.name.is_none(),
        url: origin
            .source
            .as_deref()
            .and_then(|name| competition.url_of(name)),
    };
    let bundle = origins.iter().find(|origin| origin.is_bundle());
    let sources = origins.iter().filter_map(|origin| {
        let name = origin.source.clone()?;
        Some((name, recorded(origin)))
    });
    let record = PreparationRecord {
        at: before.map_or(now, |before| before.at),
        // If the checksums had not matched, the tree would not be complete.
        compared_at: match competition.verification {
            Verification::Checked => compared_at.or(Some(now)),
            Verification::Skipped | Verification::NotPublished => compared_at,
        },
        bundle: bundle.map(recorded),
        sources: sources.collect(),
        options: competition.options.to_record(competition.used_source()),
    };
    match before {
        Some(before) if *before != record => PreparationRecord { at: now, ..record },
        _ => record,
    }
}

/// Records how trees were prepared as soon as they are published. A later stage would be too late for a run of many
/// competitions that deletes bundles and is killed.
pub(super) struct PublicationRecorder {
    pub graph: Arc<Graph>,
    pub nodes: Arc<HashMap<String, Vec<NodeId>>>,
    pub competitions: Arc<Vec<Competition>>,
    pub store: Store,
    pub data_dir: PathBuf,
}

impl PublicationRecorder {
    /// Records how the tree of a competition was prepared, which was published just now or `was_current`. If that is
    /// impossible, nothing is recorded, and the tree depends on its bundle.
    pub(super) fn published(&self, id: &str, was_current: bool) {
        let mut competitions = self.competitions.iter();
        let (Some(competition), Some(nodes)) =
            (competitions.find(|one| one.id == id), self.nodes.get(id))
        else {
            return;
        };
        let value = |_| UsedValue::Current;
        let found = origins(&self.graph, nodes, competition, &self.store, value);
        let Ok(found) = found else { return };
        let change = |before: Option<PreparationRecord>| {
            let record = record(competition, &found, before.as_ref());
            match was_current {
                true => record,
                false => PreparationRecord {
                    at: unix_seconds(),
                    ..record
                },
            }
        };
        // The last stage tries again.
        let _ = prep_steps::record_preparation(&self.data_dir, id, None, change);
    }
}
