//! A competition's bundle as a source: a file in the data directory, downloaded from Kaggle if it does not exist.
//! Downloads create these files:
//!
//! ```text
//! DATA/ID/ID.zip                    the bundle (DATA/PACK/ID/ID.zip for the competition PACK/ID)
//! DATA/ID/ID.part-KEY.zip           some members of the bundle
//! DATA/ID/ID.part-KEY.zip.files/    these members while they are fetched one by one
//! DATA/ID/sources/FILE              the file of another source
//! DATA/ID/*.partial                 an incomplete download, interrupted or running
//! DATA/ID/*.partial.map             the map of the pieces that the incomplete download contains
//! DATA/ID/*.partial.holders/        the lease of the downloading process, if several machines share the directory
//! ```
//!
//! `DATA/ID/sources/FILE.url` records the URL from which a file was downloaded. If an edit of the pipeline changes only the
//! URL, the record shows that the file on disk is outdated. A file without this record was provided by the user, and is
//! never treated as outdated.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use prep_cache::{Content, SourceRecord};
use prep_core::{Context, Source, SourceState, StepError, Value};

use crate::bundle::local::{LocalBundle, SearchPath, bundle_stem};
use crate::download::Order;
use crate::error::FetchError;
use crate::network::{LazyNetwork, Network};
use crate::resume::partial::{LockOutcome, Partial, with_suffix};
use crate::wire::location::Item;

const LOCK_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// A source for the bundle of one competition.
#[derive(Debug, Clone)]
pub struct KaggleBundle {
    kaggle: String,
    local: LocalBundle,
    target: PathBuf,
    md5: Option<String>,
    network: LazyNetwork,
}

impl KaggleBundle {
    /// Creates the source. If no directory of `search` contains `ID.zip` or `ID/ID.zip`, the source downloads the
    /// bundle to `DATA/ID/ID.zip`. `kaggle` is Kaggle's id of the competition.
    ///
    /// A file with a different MD5 than `md5` is an error.
    pub fn new(
        kaggle: &str,
        search: SearchPath<'_>,
        md5: Option<&str>,
        network: impl Into<LazyNetwork>,
    ) -> KaggleBundle {
        let id = search.id;
        KaggleBundle {
            kaggle: kaggle.to_owned(),
            local: LocalBundle::new(id, &search.all(), md5),
            target: search
                .data
                .join(id)
                .join(format!("{}.zip", bundle_stem(id))),
            md5: md5.map(str::to_owned),
            network: network.into(),
        }
    }

    /// Same as [`LocalBundle::with_content`].
    #[must_use]
    pub fn with_content(self, last_used: Option<Content>) -> KaggleBundle {
        KaggleBundle {
            local: self.local.with_content(last_used),
            ..self
        }
    }

    pub(crate) fn kaggle(&self) -> &str {
        &self.kaggle
    }

    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Returns the network, or an error that lists the paths at which the bundle was searched.
    pub(crate) fn network(&self, context: &Context) -> Result<Network, StepError> {
        let network = self.network.get();
        network.map_err(|cause| self.local.not_fetched_in(context, cause))
    }

    fn fetch(&self, context: &Context) -> Result<Option<Value>, StepError> {
        let network = self.network(context)?;
        let item = Item::Bundle(self.kaggle.clone());
        let record = fetch_file(&network, item, self.md5.clone(), &self.target, context)?;
        let remember = |record| self.local.remember(context, &self.target, &record);
        record.map(remember).transpose()
    }
}

/// Takes the lock for downloading `target`. Waits while another process holds it. Returns `None` if `target` exists.
pub(crate) fn lock(target: &Path, context: &Context) -> Result<Option<Arc<Partial>>, StepError> {
    loop {
        context.check()?;
        match Partial::try_lock(target)? {
            LockOutcome::Ours(partial) => return Ok(Some(Arc::new(partial))),
            LockOutcome::Complete => return Ok(None),
            LockOutcome::Busy => std::thread::sleep(LOCK_CHECK_INTERVAL),
        }
    }
}

/// Downloads a file to `target` and records its digests. A file with a different MD5 than `md5` is an error. Returns
/// `None` if another process has just downloaded the file.
pub(crate) fn fetch_file(
    network: &Network,
    item: Item,
    md5: Option<String>,
    target: &Path,
    context: &Context,
) -> Result<Option<SourceRecord>, StepError> {
    let Some(partial) = lock(target, context)? else {
        return Ok(None);
    };
    let order = Order {
        md5,
        ..Order::new(network.shared(), item, &partial, &context.progress)
    };
    let downloaded = network.download(&order, &context.cancel);
    if downloaded.is_err() {
        // The error of the download is more useful than an error of the removal.
        let _ = partial.remove_if_empty();
    }
    let Some(digests) = downloaded? else {
        return Ok(None);
    };
    let file = partial.finish()?;
    let store = &context.store;
    let record = store.remember_source(target, &file, digests.digest, &digests.md5)?;
    Ok(Some(record))
}

impl Source for KaggleBundle {
    fn kind(&self) -> &'static str {
        "bundle"
    }

    fn state(&self, context: &Context) -> Result<SourceState, StepError> {
        self.local.state(context)
    }

    fn run(&self, context: &Context) -> Result<Value, StepError> {
        if self.local.path().is_none()
            && self.local.obstruction().is_none()
            && let Some(value) = self.fetch(context)?
        {
            return Ok(value);
        }
        self.local.run(context)
    }

    fn obstacle(&self, context: &Context) -> Option<StepError> {
        self.network(context).err()
    }

    fn location(&self) -> Option<PathBuf> {
        self.local.path().map(Path::to_path_buf)
    }
}

/// Returns the file name, without `.zip`, of an archive with some members of a bundle. `key` identifies the selection.
pub(crate) fn part_name(stem: &str, key: &str) -> String {
    format!("{stem}.part-{key}")
}

pub(crate) const SOURCES: &str = "sources";

pub(crate) fn source_path(data: &Path, id: &str, file: &str) -> PathBuf {
    data.join(id).join(SOURCES).join(file)
}

/// Returns the disk space in bytes that an interrupted download occupies. `file` is the file of a source. `None` means
/// the bundle.
pub fn partial_bytes(data: &Path, id: &str, file: Option<&str>) -> u64 {
    let partial = match file {
        None => data
            .join(id)
            .join(format!("{}.zip.partial", bundle_stem(id))),
        Some(file) => source_path(data, id, &format!("{file}.partial")),
    };
    partial.metadata().map_or(0, |file| file.blocks() * 512)
}

/// Lists the files and directories in `DATA/ID` that belong to downloads of the competition.
///
/// # Errors
/// If the directory `DATA/ID` exists and cannot be listed.
pub fn bundle_files(data: &Path, id: &str) -> io::Result<Vec<PathBuf>> {
    let entries = match data.join(id).read_dir() {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let stem = bundle_stem(id);
    let (bundle, part) = (format!("{stem}.zip"), part_name(stem, ""));
    let is_of_bundle = |name: &str| {
        let suffix = name.strip_prefix(&bundle);
        name == SOURCES
            || name.starts_with(&part)
            || suffix.is_some_and(|suffix| suffix.is_empty() || suffix.starts_with('.'))
    };
    let entries = entries.flatten();
    let files = entries.filter(|entry| is_of_bundle(&entry.file_name().to_string_lossy()));
    Ok(files.map(|entry| entry.path()).collect())
}

/// Removes `DATA/ID/ID.zip`, parts of this bundle, and the files of other sources. Keeps files outside the data
/// directory, because they belong to the user.
pub fn discard(data_dir: &Path, id: &str) {
    let directory = data_dir.join(id);
    discard_sources(&directory.join(SOURCES));
    let Ok(entries) = directory.read_dir() else {
        return;
    };
    let id_stem = bundle_stem(id);
    let part = part_name(id_stem, "");
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_bundle = name.strip_suffix(".zip").is_some_and(|stem| {
            stem == id_stem
                || stem
                    .strip_prefix(&part)
                    .is_some_and(|key| !key.contains('.'))
        });
        let is_of_part = name.starts_with(&part) && name.ends_with(".zip.files");
        // A file that remains only uses disk space, and the next run removes it.
        let _ = match (is_bundle, is_of_part) {
            (true, _) => std::fs::remove_file(entry.path()),
            (_, true) => std::fs::remove_dir_all(entry.path()),
            _ => Ok(()),
        };
    }
}

/// Removes the files of other sources, but keeps incomplete downloads.
fn discard_sources(directory: &Path) {
    let Ok(entries) = directory.read_dir() else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_of_download = [".partial", ".partial.map", ".partial.holders"]
            .iter()
            .any(|end| name.ends_with(end));
        if !is_of_download {
            let _ = std::fs::remove_file(entry.path());
        }
    }
    let _ = std::fs::remove_dir(directory);
}

fn origin_path(file: &Path) -> PathBuf {
    with_suffix(file, ".url")
}

pub(crate) fn record_origin(file: &Path, origin: &str) -> Result<(), FetchError> {
    let path = origin_path(file);
    if let Some(directory) = path.parent() {
        prep_cache::create_directory(directory)
            .map_err(|cause| FetchError::io("create the directory of", &path, cause))?;
    }
    fs::write(&path, format!("{origin}\n")).map_err(|cause| FetchError::io("write", &path, cause))
}

pub(crate) fn differs_from_origin(file: &Path, origin: &str) -> bool {
    fs::read_to_string(origin_path(file)).is_ok_and(|recorded| recorded.trim_end() != origin)
}

/// Removes a file, and then the record of its origin. If the file cannot be removed, the record must remain, because a file
/// without a record is treated as a file of the user.
pub(crate) fn remove_with_origin(file: &Path) {
    if fs::remove_file(file).is_ok() {
        let _ = fs::remove_file(origin_path(file));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_bundle_and_its_parts_are_listed_and_discarded() {
        for id in ["a", "pack/a"] {
            check_listing(id);
        }
    }

    fn check_listing(id: &str) {
        let dir = tempfile::tempdir().unwrap();
        let directory = dir.path().join(id);
        std::fs::create_dir_all(&directory).unwrap();
        for name in [
            "a.zip",
            "a.part-0123.zip",
            "a.zip.partial",
            "b.zip",
            "prepared.json",
        ] {
            std::fs::write(directory.join(name), "").unwrap();
        }
        let running = [
            "y.partial",
            "y.partial.map",
            "y.partial.holders/exclusive-1",
        ];
        for name in running.into_iter().chain(["x.csv"]) {
            let path = source_path(dir.path(), id, name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let mut listed = bundle_files(dir.path(), id).unwrap();
        listed.sort();
        let names = ["a.part-0123.zip", "a.zip", "a.zip.partial", "sources"];
        assert_eq!(listed, names.map(|name| directory.join(name)));
        assert!(bundle_files(dir.path(), "missing").unwrap().is_empty());
        discard(dir.path(), id);
        discard(dir.path(), "missing");
        assert!(!source_path(dir.path(), id, "x.csv").exists());
        for name in running {
            assert!(source_path(dir.path(), id, name).exists(), "{name}");
        }
        let mut left: Vec<_> = directory
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["a.zip.partial", "b.zip", "prepared.json", "sources"]);
    }
}
