//! Third and fourth stage: finds the bundle of a competition and the further sources of its pipeline, and builds the graph of its
//! steps.
//!
//! An absent bundle has the content that the data directory records. If the directory records none, the bundle is missing,
//! whatever the cache saw last: that may have been the bundle of another directory. Only on request are the cache's latest
//! results used ([`PreparationOptions::from_cache`]). A configured remote is such a request, too.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use prep_cache::{Content, SourceRecord, Store, StoreError};
use prep_core::{Failure, Graph, Source};
use prep_digests::LockedDataset;
use prep_fetch::{
    BundleChecksums, KaggleBundle, LocalDirectory, Members, PartOfBundle, SearchPath, WebAddress,
    WebFile,
};
use prep_remote::{MirroredSource, RemoteContent};
use prep_spec::Pipeline;
use prep_spec::model::{RemoteFile, SourceLocation};
use prep_steps::{BuildOptions, PreparationRecord, RecordedSource, RememberedOptions, Sources};
use serde::Serialize;

use crate::bundles::BorrowedBundle;
use crate::catalog::CatalogEntry;
use crate::error::Error;
use crate::settings::Settings;
use crate::stages::load::{LoadedCompetition, Verification};
use crate::task::{PreparationOptions, RecalledOption, Task};
use crate::{prepared, task};

/// A competition whose steps are in the graph.
pub struct Competition {
    pub id: String,
    pub verification: Verification,
    /// The path of the bundle, if it exists.
    pub bundle: Option<PathBuf>,
    /// Sources in addition to the bundle.
    pub sources: Vec<FurtherSource>,
    /// The options of the task, with those of the last run.
    pub options: PreparationOptions,
    /// The options that have the value of the last run.
    pub(crate) recalled: RememberedOptions,
    /// The bundle whose results are used, if it is neither on this machine nor recorded in the data directory.
    pub borrowed: Option<BorrowedBundle>,
    /// The contents of sources whose files do not exist.
    pub(crate) contents: StatedContents,
    /// Kaggle's name of the competition.
    pub(crate) kaggle: String,
    /// Published MD5 with which the bundle is compared. `None` if the comparison is disabled.
    pub(crate) md5: Option<String>,
    /// Published MD5 of the bundle.
    pub(crate) published_md5: Option<String>,
    pub(crate) entry: CatalogEntry,
    /// The members of the bundle that the pipeline reads.
    pub(crate) members: Members,
    /// The part of the bundle that is used instead of the complete bundle, if the user requested a partial download.
    pub(crate) part: Option<PartOfBundle>,
    /// Outputs for which no checksum is published.
    pub(crate) without_checksum: Vec<String>,
    /// Entry of `prep.lock`, without the digests of the trees, which are known only after the competition is prepared.
    pub(crate) locked: LockedDataset,
}

impl Competition {
    /// Returns whether only a part of the bundle was downloaded.
    pub(crate) fn is_partial(&self) -> bool {
        let is_deleted = || self.bundle.is_none() && self.contents.part.is_some();
        let part = self.part.as_ref();
        part.is_some_and(|part| part.is_part() || is_deleted())
    }

    /// Returns the URL of a further source, unless it is a directory.
    pub(crate) fn url_of(&self, source: &str) -> Option<String> {
        let found = self.sources.iter().find(|one| one.name == source);
        found.and_then(|one| one.url.clone())
    }

    /// Returns the directory of the user in which a source was found, or in which it is searched as in the last run.
    pub(crate) fn used_source(&self) -> Option<&Path> {
        let dir = self.options.remembered.source.as_deref()?;
        let further = self.sources.iter().filter_map(|one| one.path.as_deref());
        let mut paths = self.bundle.as_deref().into_iter().chain(further);
        let is_recalled = self.recalled.source.is_some();
        (paths.any(|path| path.starts_with(dir)) || is_recalled).then_some(dir)
    }

    /// Returns the options that have the value of the last run.
    pub fn recalled(&self) -> impl Iterator<Item = RecalledOption> {
        task::describe(&self.recalled).into_iter()
    }
}

/// A competition and the graph of its steps. Each competition gets its own graph, so that the steps of a competition
/// that fails can be left out.
pub(crate) struct AssembledCompetition {
    pub graph: Graph,
    pub competition: Competition,
}

impl AssembledCompetition {
    /// Adds the options that have the value of the last run.
    pub(super) fn with_recalled(mut self, recalled: RememberedOptions) -> AssembledCompetition {
        self.competition.recalled = recalled;
        self
    }

    /// Builds the graph of a competition. Writes nothing.
    ///
    /// # Errors
    /// Returns an error if the pipeline cannot be built, or if the user's description is missing.
    pub(super) fn assemble(
        loaded: LoadedCompetition,
        found: FoundSources,
        task: &Task,
        engine: &prep_sql::Session,
    ) -> Result<AssembledCompetition, Error> {
        let (options, settings, entry) = (&task.options, &task.settings, &loaded.entry);
        let path = found.bundle.location();
        let given = user_description(options, &entry.id)?;
        let data_dir = task.data_dir();
        let build_options = BuildOptions {
            data_dir: &data_dir,
            boot: settings.boot.as_deref(),
            session: engine,
            checksums: loaded.checksums.as_ref(),
            description: given
                .as_deref()
                .or(entry.description.as_deref())
                .unwrap_or(""),
            metric: loaded.metric(),
            variant: &options.variant,
            expand: options.expand_archives(),
            locked: loaded.trees,
            remove_unpublished: options.remove_unpublished,
            link_mode: options.remembered.link_mode.unwrap_or_default(),
            complete_description: given.is_none(),
        };
        let sources = Sources {
            bundle: found.bundle,
            further: found.further.sources,
        };
        let mut graph = Graph::new();
        let pipeline = &loaded.pipeline;
        let built = match loaded.preview.clone() {
            Some(request) => {
                prep_steps::build_preview(&mut graph, pipeline, sources, &build_options, request)
            }
            None => prep_steps::build(&mut graph, pipeline, sources, &build_options),
        };
        built.map_err(|error| Error::new(Failure::Pipeline, format!("{}: {error}", entry.id)))?;
        let competition = Competition {
            id: entry.id.clone(),
            verification: loaded.verification,
            bundle: path,
            sources: found.further.listed,
            options: options.clone(),
            recalled: RememberedOptions::default(),
            borrowed: None,
            contents: found.contents,
            md5: found.md5,
            members: found.members,
            part: found.part,
            without_checksum: loaded.without_checksum(),
            kaggle: loaded.pipeline.bundle.kaggle,
            published_md5: loaded.pipeline.bundle.md5,
            entry: loaded.entry,
            locked: loaded.locked,
        };
        Ok(AssembledCompetition { graph, competition })
    }
}

/// Returns the description of a competition that the user publishes instead of the built-in one. Returns `None` if the
/// user did not pass a directory with descriptions.
///
/// It changes the text that an agent reads, but nothing that a score depends on. The digest of `public` includes the
/// description, so results record which text was used.
///
/// # Errors
/// Returns an error if the directory has no description of the competition, or if the description is empty or cannot be
/// read.
fn user_description(options: &PreparationOptions, id: &str) -> Result<Option<String>, Error> {
    let Some(dir) = &options.remembered.descriptions else {
        return Ok(None);
    };
    let paths = [
        dir.join(id).join("description.md"),
        dir.join(format!("{id}.md")),
    ];
    for path in &paths {
        match std::fs::read_to_string(path) {
            Ok(text) if text.trim().is_empty() => {
                let message = format!("{} is empty", path.display());
                return Err(Error::new(Failure::Input, message));
            }
            Ok(text) => return Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::reading("read the description", path, &error)),
        }
    }
    let [first, second] = paths.map(|path| path.display().to_string());
    let message = format!("`{id}` has no description: there is neither {first} nor {second}");
    Err(Error::new(Failure::Input, message))
}

/// The sources of a competition.
pub(crate) struct FoundSources {
    pub bundle: Box<dyn Source>,
    /// Published MD5 with which the bundle is compared. `None` if the comparison is disabled.
    pub md5: Option<String>,
    /// The members of the bundle that the pipeline reads.
    pub members: Members,
    /// The part of the bundle that is used instead of the complete bundle, if the user requested a partial download.
    pub part: Option<PartOfBundle>,
    pub further: Further,
    /// The contents of sources whose files do not exist.
    pub contents: StatedContents,
}

impl FoundSources {
    /// Finds the bundle and the further sources of a competition. If the file of a source does not exist, the source has
    /// the content in `contents`.
    ///
    /// # Errors
    /// Returns an error if the pipeline names an invalid source.
    pub(super) fn find(
        loaded: &LoadedCompetition,
        task: &Task,
        mut contents: StatedContents,
    ) -> Result<FoundSources, Error> {
        let (entry, pipeline) = (&loaded.entry, &loaded.pipeline);
        let whole = bundle(&entry.id, pipeline, task).with_content(contents.bundle.clone());
        let members = Members::new(prep_steps::members(pipeline))?;
        let part = task.options.is_partial().then(|| {
            let part = PartOfBundle::new(whole.clone(), members.clone());
            part.with_content(contents.part.clone())
        });
        let source: Box<dyn Source> = match part.clone() {
            Some(part) => Box::new(part),
            None => Box::new(whole),
        };
        let md5 = task.options.expected_md5(&pipeline.bundle);
        let md5 = md5.map(str::to_owned);
        let further = Further::find_with(entry, pipeline, task, &mut contents)?;
        let mirror = Mirror {
            settings: &task.settings,
            contents: &mut contents,
        };
        let sums = BundleChecksums {
            md5: md5.clone(),
            sha256: None,
        };
        Ok(FoundSources {
            bundle: mirror.wrap(source, &entry.id, &sums, None),
            md5,
            members,
            part,
            further,
            contents,
        })
    }
}

/// Returns the source of a competition's bundle. The source searches the directories that the user named and the data
/// directory. If the bundle is in none of them, the source downloads it.
pub(crate) fn bundle(id: &str, pipeline: &Pipeline, task: &Task) -> KaggleBundle {
    let bundle = &pipeline.bundle;
    let search = SearchPath {
        id,
        directories: &task.options.source_dirs(),
        data: &task.settings.data_dir,
    };
    let md5 = task.options.expected_md5(bundle);
    KaggleBundle::new(&bundle.kaggle, search, md5, task.network.clone())
}

/// The mirror in which sources are searched that are not on this machine.
struct Mirror<'a> {
    settings: &'a Settings,
    contents: &'a mut StatedContents,
}

impl Mirror<'_> {
    /// Wraps a source so that its file is first searched for in the mirror, if a remote is configured. `name` is the
    /// name of the source in the cache, and `further` its name in the pipeline unless it is the bundle.
    fn wrap(
        self,
        source: Box<dyn Source>,
        name: &str,
        sums: &BundleChecksums,
        further: Option<&str>,
    ) -> Box<dyn Source> {
        let Some(link) = &self.settings.remote else {
            return source;
        };
        let stated = match further {
            None => self.contents.bundle.clone(),
            Some(further) => self.contents.sources.get(further).cloned(),
        };
        let (md5, sha256) = (sums.md5.as_deref(), sums.sha256.as_deref());
        let source = MirroredSource::new(source, name, md5, sha256, link.clone());
        let source = source.with_content(stated);
        let answer = source.remote_answer();
        self.contents
            .remote
            .insert(further.map(str::to_owned), answer);
        Box::new(source)
    }
}

/// A further source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FurtherSource {
    pub name: String,
    /// The URL of the source's file. `None` for a directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The name of the source's file. `None` for a directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The path of the file or directory. `None` if it does not exist.
    pub path: Option<PathBuf>,
    /// The name under which the cache and the remote record the source's file.
    #[serde(skip)]
    pub record_name: Option<String>,
    /// Length of the source's file, if the pipeline declares it.
    #[serde(skip)]
    pub published_bytes: Option<u64>,
}

impl FurtherSource {
    /// Returns the URL and the name of the source's file. Returns `None` for a directory.
    pub fn remote(&self) -> Option<(&str, &str)> {
        Some((self.url.as_deref()?, self.file.as_deref()?))
    }
}

/// The further sources of a pipeline.
#[derive(Default)]
pub(crate) struct Further {
    /// The sources as nodes of the graph, by name.
    pub sources: BTreeMap<String, Box<dyn Source>>,
    /// The same sources, for messages and listings.
    pub listed: Vec<FurtherSource>,
}

impl Further {
    /// Finds the further sources that a pipeline names.
    ///
    /// # Errors
    /// Returns an error if the pipeline names an invalid source.
    pub(crate) fn find(
        entry: &CatalogEntry,
        pipeline: &Pipeline,
        task: &Task,
    ) -> Result<Further, Error> {
        Further::find_with(entry, pipeline, task, &mut StatedContents::default())
    }

    /// Same as [`find`](Self::find), for sources that may have a content in `contents`.
    fn find_with(
        entry: &CatalogEntry,
        pipeline: &Pipeline,
        task: &Task,
        contents: &mut StatedContents,
    ) -> Result<Further, Error> {
        let mut found = Further::default();
        for source in &pipeline.sources {
            let name = source.name.value.clone();
            let (source, remote): (Box<dyn Source>, _) = match &source.place {
                SourceLocation::Url(remote) => {
                    let web = web_file(entry, &name, remote, task)?;
                    let web = web.with_content(contents.sources.get(&name).cloned());
                    let record_name = source_record_name(&entry.id, &name, remote);
                    let sums = BundleChecksums {
                        md5: remote.md5.clone(),
                        sha256: remote.sha256.clone(),
                    };
                    let mirror = Mirror {
                        settings: &task.settings,
                        contents: &mut *contents,
                    };
                    let web = mirror.wrap(Box::new(web), &record_name, &sums, Some(&name));
                    (web, Some(remote))
                }
                SourceLocation::Folder(directory) => {
                    let path = resolve(entry, &name, directory)?;
                    (Box::new(LocalDirectory::new(&name, path)), None)
                }
            };
            found.listed.push(FurtherSource {
                name: name.clone(),
                url: remote.map(|remote| remote.url.clone()),
                file: remote.map(|remote| remote.file.clone()),
                path: source.location(),
                record_name: remote.map(|remote| source_record_name(&entry.id, &name, remote)),
                published_bytes: remote.and_then(|remote| remote.size),
            });
            found.sources.insert(name, source);
        }
        Ok(found)
    }
}

/// Returns the name under which the cache and the remote record the file at a URL.
pub(super) fn source_record_name(id: &str, source: &str, remote: &RemoteFile) -> String {
    WebFile::record_name(id, &web_address(source, remote))
}

fn web_address<'a>(source: &'a str, remote: &'a RemoteFile) -> WebAddress<'a> {
    WebAddress {
        source,
        file: &remote.file,
        url: &remote.url,
        member: remote.member.as_deref(),
    }
}

fn web_file(
    entry: &CatalogEntry,
    source: &str,
    remote: &RemoteFile,
    task: &Task,
) -> Result<WebFile, Error> {
    let address = web_address(source, remote);
    let published = BundleChecksums {
        md5: remote.md5.clone(),
        sha256: remote.sha256.clone(),
    };
    let is_checked = task.options.checks_sources();
    let search = SearchPath {
        id: &entry.id,
        directories: &task.options.source_dirs(),
        data: &task.settings.data_dir,
    };
    let web = WebFile::new(address, search, published, is_checked, task.network.clone());
    web.map_err(|error| Error::new(Failure::Pipeline, format!("{}: {error}", entry.id)))
}

/// Returns the directory of a source: absolute, or relative to the pipeline's file.
fn resolve(entry: &CatalogEntry, name: &str, directory: &str) -> Result<PathBuf, Error> {
    let directory = Path::new(directory);
    match &entry.directory {
        _ if directory.is_absolute() => Ok(directory.to_path_buf()),
        Some(home) => Ok(home.join(directory)),
        None => {
            let message = format!(
                "{}: the directory {} of the source `{name}` is relative, but a built-in pipeline has no directory",
                entry.id,
                directory.display()
            );
            Err(Error::new(Failure::Pipeline, message).help("write it as an absolute path"))
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;

    #[test]
    fn a_source_directory_is_relative_to_its_pipeline() {
        let catalog = Catalog::embedded();
        let mut entry = catalog.get("spooky-author-identification").unwrap().clone();
        let absolute = resolve(&entry, "s", "/a/b").unwrap();
        assert_eq!(absolute, Path::new("/a/b"));
        let error = resolve(&entry, "s", "../b").unwrap_err();
        assert_eq!(error.failure(), Failure::Pipeline);
        entry.directory = Some("/pipelines/x".into());
        let relative = resolve(&entry, "s", "../b").unwrap();
        assert_eq!(relative, Path::new("/pipelines/x/../b"));
    }
}
