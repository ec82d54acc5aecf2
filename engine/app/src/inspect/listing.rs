//! Lists the files of a bundle. If the bundle is not on this machine, Kaggle lists its files, without a download.

use std::path::PathBuf;

use prep_core::Cancel;
use prep_fetch::Members;
use prep_formats::zip::ZipEntry;
use prep_spec::BASE_VARIANT;
use serde::Serialize;

use crate::bundles;
use crate::error::Error;
use crate::stages::sources::{Further, FurtherSource};
use crate::task::Task;

/// The files of a bundle.
#[derive(Debug, Default, Serialize)]
pub struct BundleListing {
    pub id: String,
    /// The path of the bundle. `None` if Kaggle listed it.
    pub bundle: Option<PathBuf>,
    pub bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub md5: Option<String>,
    /// Size of a partial download, in bytes. `None` if the competition has no pipeline.
    pub used_bytes: Option<u64>,
    pub files: Vec<ListedFile>,
    /// Sources in addition to the bundle.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<ListedSource>,
}

/// A file of a bundle.
#[derive(Debug, Serialize)]
pub struct ListedFile {
    pub path: String,
    pub bytes: u64,
    pub compressed_bytes: u64,
    /// Whether the pipeline reads the file.
    pub used: bool,
}

/// A source in addition to the bundle.
#[derive(Debug, Serialize)]
pub struct ListedSource {
    #[serde(flatten)]
    pub source: FurtherSource,
    /// The length of the source's file, if it is known.
    pub bytes: Option<u64>,
}

/// Lists the bundle of `id`, and the further sources of its pipeline. The competition need not have a pipeline.
///
/// # Errors
/// Returns an error if the local bundle cannot be read, or if there is no local bundle and Kaggle does not list it.
pub fn listing(task: &Task, id: &str) -> Result<BundleListing, Error> {
    let entry = task.catalog.find(id);
    let pipeline = entry.and_then(|entry| entry.load(BASE_VARIANT).ok());
    let members = match &pipeline {
        Some(pipeline) => Some(Members::new(prep_steps::members(pipeline))?),
        None => None,
    };
    let sources = match (entry, &pipeline) {
        (Some(entry), Some(pipeline)) => Further::find(entry, pipeline, task)?.listed,
        _ => Vec::new(),
    };
    let sources = sources.into_iter();
    let sources = sources.map(|source| ListedSource {
        bytes: bytes(task, &source),
        source,
    });
    let sources = sources.collect();
    let local = bundles::local(&task.settings, id, &task.options.source_dirs());
    let (bundle, bytes, md5, entries) = match local.path() {
        Some(path) => {
            let limits = task.settings.content_limits(1);
            let (_, bytes, entries) = bundles::list(path, &limits)?;
            (Some(path.to_owned()), bytes, None, entries)
        }
        None => {
            let near = task.catalog.suggestion(id).filter(|_| entry.is_none());
            let network = task.network.get();
            let network =
                network.map_err(|cause| Error::from(local.not_fetched(cause)).suggest(near))?;
            let kaggle = entry.map_or_else(|| id.to_owned(), |entry| entry.kaggle());
            let listed = network.list(&kaggle, &Cancel::default())?;
            (None, listed.bytes, listed.md5, listed.entries)
        }
    };
    let used_bytes = members.as_ref().map(|members| members.bytes(&entries));
    let files = entries.into_iter();
    let files = files.filter(|entry| !entry.is_directory);
    let file = |entry: ZipEntry| ListedFile {
        used: members
            .as_ref()
            .is_some_and(|members| members.selects(&entry)),
        bytes: entry.size,
        compressed_bytes: entry.compressed_size,
        path: entry.path,
    };
    Ok(BundleListing {
        id: id.to_owned(),
        bundle,
        bytes,
        md5,
        used_bytes,
        files: files.map(file).collect(),
        sources,
    })
}

/// Returns the length of the file of a source: the length of the local file, otherwise the length that its server
/// reports, otherwise the published length.
fn bytes(task: &Task, source: &FurtherSource) -> Option<u64> {
    match (&source.path, source.remote()) {
        (Some(path), Some(_)) => path.metadata().map(|file| file.len()).ok(),
        (None, Some((url, file))) => {
            let network = task.network.any().ok();
            let length =
                network.and_then(|network| network.file_length(file, url, &Cancel::default()).ok());
            length.or(source.published_bytes)
        }
        _ => None,
    }
}
