//! Where a competition's bytes come from: its bundle, and what its pipeline names beside it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prep_core::{Failure, Source};
use prep_fetch::{LazyNetwork, LocalFolder, Sums, WebAddress, WebFile};
use prep_spec::Pipeline;
use prep_spec::model::{Place, RemoteFile};
use serde::Serialize;

use crate::assemble::{Competition, mirrored};
use crate::catalog::Entry;
use crate::error::Error;
use crate::settings::{Options, Settings};

/// A source beside the bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FurtherSource {
    pub name: String,
    /// The address of its file; none of a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The name of its file; none of a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Where it lies; none if it is not there.
    pub path: Option<PathBuf>,
    /// Length of its file, where the pipeline tells it.
    #[serde(skip)]
    pub published_bytes: Option<u64>,
}

impl FurtherSource {
    /// Address and name of a file.
    pub fn remote(&self) -> Option<(&str, &str)> {
        Some((self.url.as_deref()?, self.file.as_deref()?))
    }
}

/// What is wanted and not there: a bundle, or the file of a further source.
#[derive(Clone, Copy)]
pub struct Missing<'p> {
    pub competition: &'p Competition,
    /// None: the bundle.
    pub source: Option<&'p FurtherSource>,
}

impl Missing<'_> {
    /// Competition and source.
    pub fn key(&self) -> (String, Option<String>) {
        let source = self.source.map(|source| source.name.clone());
        (self.competition.id.clone(), source)
    }

    /// Its length in bytes, where that is published.
    pub fn published_bytes(&self) -> Option<u64> {
        match self.source {
            None => self.competition.published_bytes,
            Some(source) => source.published_bytes,
        }
    }
}

/// Where sources are looked for, and how they are got.
pub(crate) struct Asked<'a> {
    pub settings: &'a Settings,
    pub options: &'a Options,
    pub network: &'a LazyNetwork,
}

/// The sources of a competition beside its bundle, and where they lie.
///
/// # Errors
/// When the pipeline names what cannot be one.
pub fn sources(
    entry: &Entry,
    pipeline: &Pipeline,
    settings: &Settings,
    options: &Options,
    network: &LazyNetwork,
) -> Result<Vec<FurtherSource>, Error> {
    let asked = Asked {
        settings,
        options,
        network,
    };
    Ok(further(entry, pipeline, &asked)?.1)
}

/// The further sources of a pipeline, as the graph and as people see them.
pub(crate) type Further = (BTreeMap<String, Box<dyn Source>>, Vec<FurtherSource>);

/// The further sources that a pipeline names.
pub(crate) fn further(
    entry: &Entry,
    pipeline: &Pipeline,
    task: &Asked<'_>,
) -> Result<Further, Error> {
    let mut brings: BTreeMap<String, Box<dyn Source>> = BTreeMap::new();
    let mut all = Vec::new();
    for source in &pipeline.sources {
        let name = source.name.value.clone();
        let (source, url, file, published_bytes): (Box<dyn Source>, _, _, _) = match &source.place {
            Place::Url(remote) => {
                let web = web_file(entry, &name, remote, task)?;
                let (url, file) = (remote.url.clone(), remote.file.clone());
                let known_as = remembered_as(&entry.id, &name, &file);
                let (md5, sha256) = (remote.md5.as_deref(), remote.sha256.as_deref());
                let web = mirrored(task.settings, Box::new(web), &known_as, md5, sha256);
                (web, Some(url), Some(file), remote.size)
            }
            Place::Folder(folder) => {
                let path = resolve(entry, &name, folder)?;
                (Box::new(LocalFolder::new(&name, path)), None, None, None)
            }
        };
        all.push(FurtherSource {
            name: name.clone(),
            url,
            file,
            path: source.location(),
            published_bytes,
        });
        brings.insert(name, source);
    }
    Ok((brings, all))
}

/// Under which the store remembers what the file of a further source held.
pub(crate) fn remembered_as(id: &str, source: &str, file: &str) -> String {
    format!("{id}/{source}/{file}")
}

fn web_file(
    entry: &Entry,
    source: &str,
    remote: &RemoteFile,
    task: &Asked<'_>,
) -> Result<WebFile, Error> {
    let options = task.options;
    let address = WebAddress {
        source,
        file: &remote.file,
        url: &remote.url,
    };
    let folders: Vec<&Path> = options.source.iter().map(PathBuf::as_path).collect();
    let sums = match options.check_outputs && options.check_bundle {
        true => Sums {
            md5: remote.md5.clone(),
            sha256: remote.sha256.clone(),
        },
        false => Sums::default(),
    };
    let (data, network) = (&task.settings.data_dir, task.network.clone());
    let web = WebFile::new(&entry.id, address, data, &folders, sums, network);
    web.map_err(|error| Error::new(Failure::Pipeline, format!("{}: {error}", entry.id)))
}

/// A folder of a pipeline: absolute, or relative to its file.
fn resolve(entry: &Entry, name: &str, folder: &str) -> Result<PathBuf, Error> {
    let folder = Path::new(folder);
    match &entry.folder {
        _ if folder.is_absolute() => Ok(folder.to_path_buf()),
        Some(home) => Ok(home.join(folder)),
        None => {
            let message = format!(
                "{}: the folder {} of the source `{name}` is relative, and a pipeline that is built in lies nowhere",
                entry.id,
                folder.display()
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
    fn a_folder_is_relative_to_its_pipeline() {
        let catalog = Catalog::embedded();
        let mut entry = catalog.get("spooky-author-identification").unwrap().clone();
        let absolute = resolve(&entry, "s", "/a/b").unwrap();
        assert_eq!(absolute, Path::new("/a/b"));
        let error = resolve(&entry, "s", "../b").unwrap_err();
        assert_eq!(error.failure(), Failure::Pipeline);
        entry.folder = Some("/pipelines/x".into());
        let relative = resolve(&entry, "s", "../b").unwrap();
        assert_eq!(relative, Path::new("/pipelines/x/../b"));
    }
}
