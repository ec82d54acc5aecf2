//! The file of another source: in a directory of the user, in the local bundle, in the data directory, or downloaded
//! from its URL.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use prep_core::{Context, Source, SourceState, StepError, Value};
use prep_formats::limits::DecodingLimits;
use prep_formats::zip::{EntryKind, ZipEntry, ZipListing};

use crate::bundle::downloaded::source_path;
use crate::bundle::kaggle::{fill, lock};
use crate::bundle::local::{BundleChecksums, FileLabel, LocalBundle};
use crate::error::FetchError;
use crate::network::LazyNetwork;
use crate::wire::item::Item;

/// A file at a URL, as described in a pipeline.
#[derive(Debug, Clone, Copy)]
pub struct WebAddress<'a> {
    /// Name of the source.
    pub source: &'a str,
    /// Name of the file.
    pub file: &'a str,
    /// The URL.
    pub url: &'a str,
}

/// A source for a file at a URL.
#[derive(Debug, Clone)]
pub struct WebFile {
    item: Item,
    file: String,
    local: LocalBundle,
    /// Bundles that may contain the file.
    bundles: LocalBundle,
    target: PathBuf,
    md5: Option<String>,
    /// Whether encryption or a checksum protects the download.
    may_fetch: bool,
    network: LazyNetwork,
}

impl WebFile {
    /// Creates the source. It looks for `FILE` and `ID/FILE` in `directories`, then in the data directory, then in the
    /// local bundle. If there is none, it downloads the file to `DATA/ID/sources/FILE`.
    ///
    /// # Errors
    /// If the URL is not valid.
    pub fn new(
        id: &str,
        address: WebAddress<'_>,
        data: &Path,
        directories: &[&Path],
        sums: BundleChecksums,
        network: impl Into<LazyNetwork>,
    ) -> Result<WebFile, FetchError> {
        let WebAddress { source, file, url } = address;
        let item = Item::file(file, url)?;
        let target = source_path(data, id, file);
        let places = directories.iter();
        let mut candidates: Vec<PathBuf> = places
            .flat_map(|directory| [directory.join(file), directory.join(id).join(file)])
            .collect();
        candidates.push(target.clone());
        let what = FileLabel {
            title: format!("file of the source `{source}`"),
            owner: item.owner(),
        };
        let mut bundles = directories.to_vec();
        bundles.push(data);
        // Names of bundles contain no slash.
        let name = format!("{id}/{source}/{file}");
        let md5 = sums.md5.clone();
        let may_fetch = sums.md5.is_some() || sums.sha256.is_some() || item.is_private();
        Ok(WebFile {
            item,
            file: file.to_owned(),
            local: LocalBundle::of_file(what, &name, candidates, sums),
            bundles: LocalBundle::new(id, &bundles, None),
            target,
            md5,
            may_fetch,
            network: network.into(),
        })
    }

    /// Returns the file in the local bundle, if there is one.
    fn member(&self) -> Option<(File, ZipEntry)> {
        let file = File::open(self.bundles.path()?).ok()?;
        let bytes = file.metadata().ok()?.len();
        // Defects of the bundle are reported by the step that reads it.
        let listing =
            ZipListing::read(&file, 0..bytes, &DecodingLimits::default().budget(bytes)).ok()?;
        let mut entries = listing.entries.into_iter();
        let entry =
            entries.find(|entry| entry.kind == EntryKind::File && entry.path == self.file)?;
        Some((file, entry))
    }

    /// Copies the file out of the bundle, unless another process has just done so.
    fn take(&self, bundle: &File, entry: &ZipEntry, context: &Context) -> Result<(), StepError> {
        let Some(partial) = lock(&self.target, context)? else {
            return Ok(());
        };
        // Data of an incomplete download are of no use here.
        partial.clear()?;
        context.progress.set_total_bytes(entry.size);
        let reader = entry.open(bundle).map_err(StepError::input)?;
        let failed = |cause| FetchError::io("write", &partial.path, cause);
        let copied = io::copy(&mut context.cancel.reader(reader), &mut &*partial.file);
        let finished = copied.map_err(failed).and_then(|_| partial.finish());
        if finished.is_err() {
            // This is not a download that could continue.
            let _ = partial.remove();
        }
        finished?;
        Ok(())
    }

    /// Downloads the file, unless another process has just done so.
    fn fetch(&self, context: &Context) -> Result<(), StepError> {
        if !self.may_fetch {
            let item = self.item.to_string();
            return Err(self.local.not_fetched(FetchError::Plain { item }));
        }
        let network = self.network.any();
        let network = network.map_err(|cause| self.local.not_fetched(cause))?;
        let Some(partial) = lock(&self.target, context)? else {
            return Ok(());
        };
        let (item, md5) = (self.item.clone(), self.md5.clone());
        let digests = fill(&network, item, md5, &partial, None, context)?;
        if let Some(digests) = digests {
            let file = partial.finish()?;
            let store = &context.store;
            store.remember_source(&self.target, &file, digests.digest, &digests.md5)?;
        }
        Ok(())
    }
}

impl Source for WebFile {
    fn kind(&self) -> &'static str {
        "download"
    }

    fn state(&self, context: &Context) -> Result<SourceState, StepError> {
        match self.local.state(context)? {
            SourceState::Missing => Ok(match self.member() {
                Some((_, entry)) => SourceState::Unread { bytes: entry.size },
                None => SourceState::Missing,
            }),
            known => Ok(known),
        }
    }

    fn run(&self, context: &Context) -> Result<Value, StepError> {
        if self.local.path().is_some() {
            return self.local.run(context);
        }
        match self.member() {
            Some((bundle, entry)) => self.take(&bundle, &entry, context)?,
            None => self.fetch(context)?,
        }
        let value = self.local.run(context);
        if value.is_err() && self.local.path() == Some(&self.target) {
            // A file with the wrong checksum that was just fetched is useless.
            let _ = std::fs::remove_file(&self.target);
        }
        value
    }

    fn location(&self) -> Option<PathBuf> {
        self.local.path().map(Path::to_path_buf)
    }
}
