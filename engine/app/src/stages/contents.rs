//! Finds the recorded digests of sources whose files are not on this machine.
//!
//! A data directory records the digest of each competition's bundle. If the bundle is not on this machine, `prep` uses this
//! digest, so the competition stays up to date without the bundle. If there is no such record, the bundle is missing.
//!
//! The cache may contain results of a bundle of the same name. These results may belong to another data directory.
//! Therefore `prep` uses them only on request ([`PreparationOptions::from_cache`]). If a remote is configured, `prep` uses
//! the results in the remote without a request.
//!
//! [`PreparationOptions::from_cache`]: crate::PreparationOptions::from_cache

use std::collections::BTreeMap;

use prep_cache::{Content, SourceRecord, Store, StoreError};
use prep_fetch::{WebAddress, WebFile};
use prep_remote::RemoteContent;
use prep_spec::Pipeline;
use prep_spec::model::{RemoteFile, SourceLocation};
use prep_steps::{FailedRun, PreparationRecord, RecordedSource};

use crate::catalog::CatalogEntry;
use crate::error::Error;
use crate::prepared;
use crate::task::Task;

/// Returns the record of a competition in the data directory of the task's variant.
///
/// If the last run was stopped, the record contains the options of this run, because the next run continues it.
///
/// If the competition was never prepared in this data directory, and no run of it was stopped, returns a record that contains
/// only the path of the user's directory of bundles. The path comes from the last failed run, or from the record of another
/// variant.
pub(crate) fn read(task: &Task, id: &str) -> Result<PreparationRecord, Error> {
    if let Some(record) = &task.options.scratch {
        return Ok(record.clone());
    }
    let own = task.options.variant.clone();
    let mut record = PreparationRecord::default();
    // The data directory is listed only if the first record is not enough.
    let others = std::iter::once_with(|| task.settings.variants()).flatten();
    for variant in std::iter::once(own).chain(others) {
        let data_dir = task.settings.data_dir_of(&variant);
        let manifest = prepared::replaceable_manifest(&data_dir, id)?;
        let found = manifest.and_then(|manifest| manifest.preparation);
        let failed = FailedRun::read(&data_dir, id);
        if variant == task.options.variant {
            let stopped = failed.as_ref().filter(|run| run.message.is_none());
            let options = stopped.map(|run| run.preparation.options.clone());
            match (found, options) {
                (Some(found), options) => {
                    let options = options.unwrap_or_else(|| found.options.clone());
                    return Ok(PreparationRecord { options, ..found });
                }
                (None, Some(options)) => {
                    record.options = options;
                    return Ok(record);
                }
                (None, None) => {}
            }
        } else if let Some(found) = found {
            record.options.source = record.options.source.or(found.options.source);
            continue;
        }
        let source = failed.and_then(|run| run.preparation.options.source);
        record.options.source = record.options.source.or(source);
    }
    Ok(record)
}

/// The recorded contents (digests and lengths) of a competition's bundle and further sources. A run uses them if the files do
/// not exist.
#[derive(Debug, Clone, Default)]
pub(crate) struct StatedContents {
    pub bundle: Option<Content>,
    /// The content of a partial bundle, which is a file that contains only some members of the bundle.
    pub part: Option<Content>,
    pub sources: BTreeMap<String, Content>,
    /// The record of `bundle`, if it comes from the cache and not from the data directory.
    pub cached: Option<SourceRecord>,
    /// The contents that the remote records, by the name of the source. The bundle has the name `None`.
    pub remote: BTreeMap<Option<String>, RemoteContent>,
}

impl StatedContents {
    /// Returns the recorded contents of a competition's sources: their digests and lengths. The contents come from the
    /// competition's record in the data directory or, if the user requested it, from the latest results in the cache.
    pub(super) fn find(
        task: &Task,
        entry: &CatalogEntry,
        pipeline: &Pipeline,
        record: &PreparationRecord,
        store: &Store,
    ) -> Result<StatedContents, Error> {
        let id = &entry.id;
        let files = pipeline.sources.iter();
        let files = files.filter_map(|source| match &source.place {
            SourceLocation::Url(remote) => Some((source.name.value.as_str(), remote)),
            SourceLocation::Folder(_) => None,
        });
        let files: Vec<(&str, &RemoteFile)> = files.collect();
        let recorded = StatedContents::of_record(task, id, record, &files)?;
        if !task.options.from_cache {
            return Ok(recorded);
        }
        let md5 = task.options.expected_md5(pipeline.bundle.as_ref());
        let cached = StatedContents::of_cache(store, id, md5, &files)?;
        let digest = |contents: &StatedContents| contents.bundle.as_ref().map(|one| one.digest);
        Ok(match digest(&cached) {
            None => recorded,
            found if found == digest(&recorded) => recorded,
            _ => cached,
        })
    }

    /// Returns the contents that the data directory records. `own` is the record of the task's variant. If `own` names neither
    /// a bundle nor sources, uses the first record of another variant that names any.
    ///
    /// `files` contains the names and files of the further sources. Ignores the recorded content of a further source if that
    /// content came from a different URL.
    fn of_record(
        task: &Task,
        id: &str,
        own: &PreparationRecord,
        files: &[(&str, &RemoteFile)],
    ) -> Result<StatedContents, Error> {
        let mut record = own.clone();
        let names_files =
            |record: &PreparationRecord| record.bundle.is_some() || !record.sources.is_empty();
        let variants = match names_files(&record) {
            true => Vec::new(),
            false => task.settings.variants(),
        };
        for variant in variants {
            if names_files(&record) {
                break;
            }
            let data_dir = task.settings.data_dir_of(&variant);
            let manifest = prepared::replaceable_manifest(&data_dir, id)?;
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

    /// Returns the contents from which the latest results in the cache were computed. Finds the bundle with
    /// [`cached_bundle`]. `files` contains the names and files of the further sources.
    fn of_cache(
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

    /// Returns all known contents of the source with this name, or of the bundle if `source` is `None`.
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

/// Returns the latest bundle from which cached results of a competition were computed. If `md5` is given, only bundles
/// with this MD5 are considered.
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

/// Returns the name under which the cache and the remote record the file at a URL.
pub(super) fn source_record_name(id: &str, source: &str, remote: &RemoteFile) -> String {
    WebFile::record_name(id, &web_address(source, remote))
}

pub(super) fn web_address<'a>(source: &'a str, remote: &'a RemoteFile) -> WebAddress<'a> {
    WebAddress {
        source,
        file: &remote.file,
        url: &remote.url,
        member: remote.member.as_deref(),
    }
}
