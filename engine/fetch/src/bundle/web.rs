//! A file of another source. It is read from a directory of the user, from the local bundle or from the data directory,
//! or downloaded from its URL.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use prep_cache::Content;
use prep_core::{Context, Source, SourceState, StepError, Value};
use prep_formats::limits::DecodingLimits;
use prep_formats::zip::{EntryKind, ZipEntry, ZipListing};

use crate::bundle::downloaded::source_path;
use crate::bundle::kaggle::{fetch_file, lock};
use crate::bundle::local::{BundleChecksums, FileLabel, LocalBundle, SearchPath};
use crate::error::FetchError;
use crate::network::LazyNetwork;
use crate::wire::item::Item;

/// A file at a URL, as a pipeline describes it.
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
    /// Bundles that may contain the file as a member.
    bundles: LocalBundle,
    target: PathBuf,
    md5: Option<String>,
    /// Whether the download is allowed, because encryption or a checksum protects it.
    may_fetch: bool,
    network: LazyNetwork,
}

impl WebFile {
    /// Creates the source. It searches for `FILE` and `ID/FILE` in the directories of the user, then for the target of
    /// the download, `DATA/ID/sources/FILE`, then in the local bundle. If the file is in none of them, the source
    /// downloads it.
    ///
    /// # Errors
    /// If the URL is not valid.
    pub fn new(
        address: WebAddress<'_>,
        search: SearchPath<'_>,
        sums: BundleChecksums,
        network: impl Into<LazyNetwork>,
    ) -> Result<WebFile, FetchError> {
        let WebAddress { source, file, url } = address;
        let item = Item::file(file, url)?;
        let id = search.id;
        let target = source_path(search.data, id, file);
        let in_directory = |dir: &&Path| [dir.join(file), dir.join(id).join(file)];
        let candidates = search.directories.iter().flat_map(in_directory);
        let candidates = candidates.chain([target.clone()]).collect();
        let what = FileLabel {
            title: format!("file of the source `{source}`"),
            owner: item.owner(),
        };
        // Names of bundles contain no slash, so this name cannot be that of a bundle.
        let name = format!("{id}/{source}/{file}");
        let md5 = sums.md5.clone();
        let may_fetch = sums.md5.is_some() || sums.sha256.is_some() || item.is_private();
        Ok(WebFile {
            item,
            file: file.to_owned(),
            local: LocalBundle::of_file(what, &name, candidates, sums),
            bundles: LocalBundle::new(id, &search.all(), None),
            target,
            md5,
            may_fetch,
            network: network.into(),
        })
    }

    /// Same as [`LocalBundle::with_content`].
    #[must_use]
    pub fn with_content(self, stated: Option<Content>) -> WebFile {
        WebFile {
            local: self.local.with_content(stated),
            ..self
        }
    }

    /// Returns the local bundle and the file's entry in it, if the bundle contains the file.
    fn member(&self) -> Option<(File, ZipEntry)> {
        let file = File::open(self.bundles.path()?).ok()?;
        let bytes = file.metadata().ok()?.len();
        // The step that reads the bundle reports defects of the bundle.
        let listing =
            ZipListing::read(&file, 0..bytes, &DecodingLimits::default().budget(bytes)).ok()?;
        let mut entries = listing.entries.into_iter();
        let entry =
            entries.find(|entry| entry.kind == EntryKind::File && entry.path == self.file)?;
        Some((file, entry))
    }

    /// Extracts the file from the bundle, unless another process has just done so.
    fn take(&self, bundle: &File, entry: &ZipEntry, context: &Context) -> Result<(), StepError> {
        let Some(partial) = lock(&self.target, context)? else {
            return Ok(());
        };
        // Bytes of an incomplete download cannot be used for the extraction.
        partial.clear()?;
        context.progress.set_total_bytes(entry.size);
        let reader = entry.open(bundle).map_err(StepError::input)?;
        let failed = |cause| FetchError::io("write", &partial.path, cause);
        let copied = io::copy(&mut context.cancel.reader(reader), &mut &*partial.file);
        let finished = copied.map_err(failed).and_then(|_| partial.finish());
        if finished.is_err() {
            // A failed extraction cannot be continued.
            let _ = partial.remove();
        }
        finished?;
        Ok(())
    }

    /// Downloads the file, unless another process has just done so.
    fn fetch(&self, context: &Context) -> Result<(), StepError> {
        if !self.may_fetch {
            let item = self.item.to_string();
            return Err(self
                .local
                .not_fetched_in(context, FetchError::Plain { item }));
        }
        let network = self.network.any();
        let network = network.map_err(|cause| self.local.not_fetched_in(context, cause))?;
        let (item, md5) = (self.item.clone(), self.md5.clone());
        fetch_file(&network, item, md5, &self.target, context)?;
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
            // The file was just fetched and has the wrong checksum, so it is removed.
            let _ = std::fs::remove_file(&self.target);
        }
        value
    }

    fn location(&self) -> Option<PathBuf> {
        self.local.path().map(Path::to_path_buf)
    }
}
