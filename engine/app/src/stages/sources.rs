//! Third stage: finds the bundle of a competition, and the further sources of its pipeline.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prep_core::{Failure, Source};
use prep_fetch::{
    BundleChecksums, KaggleBundle, LocalDirectory, Members, PartOfBundle, SearchPath, WebAddress,
    WebFile,
};
use prep_remote::MirroredSource;
use prep_spec::Pipeline;
use prep_spec::model::{RemoteFile, SourceLocation};
use serde::Serialize;

use super::load::LoadedCompetition;
use super::recorded::StatedContents;
use crate::catalog::CatalogEntry;
use crate::error::Error;
use crate::settings::Settings;
use crate::task::Task;

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
