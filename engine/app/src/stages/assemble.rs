//! Second stage of a task: finds the bundle of a competition and the other sources of its pipeline, and builds the graph of
//! its steps.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use prep_core::{Failure, Graph, Source};
use prep_fetch::{
    BundleChecksums, KaggleBundle, LocalDirectory, PartOfBundle, SearchPath, WebFile,
};
use prep_remote::MirroredSource;
use prep_spec::Pipeline;
use prep_spec::model::{Bundle, RemoteFile, SourceLocation};
use prep_sql::Session;
use prep_steps::{BuildOptions, Sources};

use crate::catalog::CatalogEntry;
use crate::error::Error;
use crate::grading::trial::trial;
use crate::packs::inner_directory;
use crate::stages::contents::{StatedContents, source_record_name, web_address};
use crate::stages::load::{Competition, FurtherSource};
use crate::task::{PreparationOptions, Task};

impl Competition {
    /// Finds the sources, and builds the graph of the steps. Writes nothing. Each competition has its own graph. Therefore a
    /// graph that cannot be built does not affect other competitions.
    ///
    /// # Errors
    /// Returns an error if the pipeline names an invalid source or cannot be built, or if the user's description is
    /// missing.
    pub(super) fn assemble(&mut self, task: &Task, engine: &Session) -> Result<Graph, Error> {
        let sources = self.find_sources(task)?;
        let (options, entry) = (&self.options, &self.entry);
        let given = user_description(options, &self.id)?;
        let description = given.as_deref().or(entry.description.as_deref());
        let (metric, submissions) = self.grading_facts();
        let build_options = BuildOptions {
            data_dir: &task.data_dir(),
            boot: task.settings.boot.as_deref(),
            session: engine,
            checksums: self.checksums.as_ref(),
            description: description.unwrap_or(""),
            metric,
            submissions,
            variant: &options.variant,
            expand: options.expand_archives(),
            locked: self.trees,
            remove_unpublished: options.remove_unpublished,
            link_mode: options.remembered.link_mode.unwrap_or_default(),
            complete_description: given.is_none(),
            trial: trial(entry, &self.pipeline),
            finds_members: !entry.is_built_in(),
        };
        let (mut graph, pipeline) = (Graph::new(), &self.pipeline);
        let built = match self.preview.clone() {
            Some(request) => {
                prep_steps::build_preview(&mut graph, pipeline, sources, &build_options, request)
            }
            None => prep_steps::build(&mut graph, pipeline, sources, &build_options),
        };
        built.map_err(|error| Error::new(Failure::Pipeline, format!("{}: {error}", self.id)))?;
        Ok(graph)
    }

    /// Finds the bundle and the further sources. If a file of a source does not exist, its recorded digest from
    /// `self.contents` is used in its place.
    fn find_sources(&mut self, task: &Task) -> Result<Sources, Error> {
        let md5 = self.expected_md5().map(str::to_owned);
        let contents = &mut self.contents;
        let (further, listed) = further_sources(&self.entry, &self.pipeline, task, contents)?;
        self.sources = listed;
        let Some(declared) = &self.pipeline.bundle else {
            let bundle = None;
            return Ok(Sources { bundle, further });
        };
        let whole = bundle(&self.id, declared, task).with_content(contents.bundle.clone());
        self.part = task.options.is_partial().then(|| {
            let part = PartOfBundle::new(whole.clone(), self.members.clone());
            part.with_content(contents.part.clone())
        });
        let source: Box<dyn Source> = match self.part.clone() {
            Some(part) => Box::new(part),
            None => Box::new(whole),
        };
        let sums = BundleChecksums { md5, sha256: None };
        let bundle = mirrored(source, &self.id, &sums, None, (task, contents));
        self.bundle = bundle.location();
        let bundle = Some(bundle);
        Ok(Sources { bundle, further })
    }
}

/// Returns the description of a competition that the user publishes instead of the built-in one. Returns `None` if the
/// user did not pass a directory with descriptions.
///
/// No score depends on the description, but an agent reads it. A grading report shows which description the agent read,
/// because the report contains the digest of the directory `public`, which includes the description.
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

/// Returns the source of a competition's bundle. The source searches the directories that the user named and the data
/// directory. If the bundle is in none of them, the source downloads it.
pub(crate) fn bundle(id: &str, bundle: &Bundle, task: &Task) -> KaggleBundle {
    let search = SearchPath {
        id,
        directories: &task.options.source_dirs(),
        data: &task.settings.data_dir,
    };
    let md5 = task.options.expected_md5(Some(bundle));
    KaggleBundle::new(&bundle.kaggle, search, md5, task.network.clone())
}

/// Wraps a source so that it first searches the mirror for its file. Returns the source unchanged if no remote is
/// configured.
///
/// `name` is the name of the source in the cache. `further` is the name of the source in the pipeline, or `None` for the
/// bundle.
fn mirrored(
    source: Box<dyn Source>,
    name: &str,
    sums: &BundleChecksums,
    further: Option<&str>,
    (task, contents): (&Task, &mut StatedContents),
) -> Box<dyn Source> {
    let Some(link) = &task.settings.remote else {
        return source;
    };
    let stated = match further {
        None => contents.bundle.clone(),
        Some(further) => contents.sources.get(further).cloned(),
    };
    let (md5, sha256) = (sums.md5.as_deref(), sums.sha256.as_deref());
    let source = MirroredSource::new(source, name, md5, sha256, link.clone()).with_content(stated);
    let answer = source.remote_answer();
    contents.remote.insert(further.map(str::to_owned), answer);
    Box::new(source)
}

/// Further sources as nodes of the graph, by name, and the same sources for messages and listings.
pub(crate) type FurtherSources = (BTreeMap<String, Box<dyn Source>>, Vec<FurtherSource>);

/// Finds the further sources that a pipeline names. If the file of a source does not exist, its recorded digest from
/// `contents` is used in its place.
///
/// # Errors
/// Returns an error if the pipeline names an invalid source.
pub(crate) fn further_sources(
    entry: &CatalogEntry,
    pipeline: &Pipeline,
    task: &Task,
    contents: &mut StatedContents,
) -> Result<FurtherSources, Error> {
    let (mut nodes, mut listed) = (BTreeMap::new(), Vec::new());
    for source in &pipeline.sources {
        let name = source.name.value.clone();
        let (source, remote): (Box<dyn Source>, _) = match &source.place {
            SourceLocation::Url(remote) => {
                let sums = BundleChecksums {
                    md5: remote.md5.clone(),
                    sha256: remote.sha256.clone(),
                };
                let web = web_file(entry, &name, remote, sums.clone(), task)?;
                let web = Box::new(web.with_content(contents.sources.get(&name).cloned()));
                let record_name = source_record_name(&entry.id, &name, remote);
                let web = mirrored(web, &record_name, &sums, Some(&name), (task, contents));
                (web, Some(remote))
            }
            SourceLocation::Folder(directory) => {
                let path = resolve_directory(entry, &name, directory)?;
                (Box::new(LocalDirectory::new(&name, path)), None)
            }
        };
        listed.push(FurtherSource {
            name: name.clone(),
            url: remote.map(|remote| remote.url.clone()),
            file: remote.map(|remote| remote.file.clone()),
            path: source.location(),
            record_name: remote.map(|remote| source_record_name(&entry.id, &name, remote)),
            published_bytes: remote.and_then(|remote| remote.size),
        });
        nodes.insert(name, source);
    }
    Ok((nodes, listed))
}

fn web_file(
    entry: &CatalogEntry,
    source: &str,
    remote: &RemoteFile,
    published: BundleChecksums,
    task: &Task,
) -> Result<WebFile, Error> {
    let address = web_address(source, remote);
    let is_checked = task.options.checks_sources();
    let search = SearchPath {
        id: &entry.id,
        directories: &task.options.source_dirs(),
        data: &task.settings.data_dir,
    };
    let web = WebFile::new(address, search, published, is_checked, task.network.clone());
    web.map_err(|error| Error::new(Failure::Pipeline, format!("{}: {error}", entry.id)))
}

/// Resolves `directory`, the directory of the source `name`. A relative `directory` is relative to the pipeline's
/// directory. If the pipeline is in a pack, the directory of the source must be inside the pack.
fn resolve_directory(entry: &CatalogEntry, name: &str, directory: &str) -> Result<PathBuf, Error> {
    if entry.pack.is_some() {
        return inner_directory(entry, name, directory);
    }
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
            Err(Error::new(Failure::Pipeline, message)
                .help("write the directory as an absolute path"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::catalog::Catalog;

    #[test]
    fn a_source_directory_is_relative_to_its_pipeline() {
        let catalog = Catalog::embedded();
        let mut entry = catalog.get("spooky-author-identification").unwrap().clone();
        let absolute = resolve_directory(&entry, "s", "/a/b").unwrap();
        assert_eq!(absolute, Path::new("/a/b"));
        let error = resolve_directory(&entry, "s", "../b").unwrap_err();
        assert_eq!(error.failure, Failure::Pipeline);
        entry.directory = Some("/pipelines/x".into());
        let relative = resolve_directory(&entry, "s", "../b").unwrap();
        assert_eq!(relative, Path::new("/pipelines/x/../b"));
        entry.pack = Some(Arc::default());
        for (folder, is_inside) in [
            ("data", true),
            ("../shared", true),
            ("a/../../b", true),
            ("..", true),
            ("../..", false),
            ("../../other", false),
            ("a/../../../b", false),
            ("/home/u", false),
        ] {
            assert_eq!(
                resolve_directory(&entry, "s", folder).is_ok(),
                is_inside,
                "{folder}"
            );
        }
    }
}
