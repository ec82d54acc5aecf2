//! The file of a further source: in a folder of the user, inside of the bundle that lies there, in the data folder, or
//! fetched from its address.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use prep_core::{Context, Source, SourceState, StepError, Value};
use prep_formats::limits::Limits;
use prep_formats::zip::{EntryKind, ZipEntry, ZipListing};

use crate::bundle::downloaded::source_path;
use crate::bundle::kaggle::{fill, lock};
use crate::bundle::local::{LocalBundle, Sums, What};
use crate::error::FetchError;
use crate::network::LazyNetwork;
use crate::wire::item::Item;

/// What a pipeline says of a file at an address.
#[derive(Debug, Clone, Copy)]
pub struct WebAddress<'a> {
    /// Name of the source.
    pub source: &'a str,
    pub file: &'a str,
    pub url: &'a str,
}

/// A file at an address.
#[derive(Debug, Clone)]
pub struct WebFile {
    item: Item,
    file: String,
    local: LocalBundle,
    /// Bundles that may hold the file.
    bundles: LocalBundle,
    target: PathBuf,
    md5: Option<String>,
    /// Encryption or a checksum tells whether the right bytes arrive.
    may_fetch: bool,
    network: LazyNetwork,
}

impl WebFile {
    /// Looks for `FILE` and `ID/FILE` in these folders, then in the data folder and in the bundle, if that is there, and
    /// fetches it to `DATA/ID/sources/FILE` if it is nowhere.
    ///
    /// # Errors
    /// When the address is none.
    pub fn new(
        id: &str,
        address: WebAddress<'_>,
        data: &Path,
        folders: &[&Path],
        sums: Sums,
        network: impl Into<LazyNetwork>,
    ) -> Result<WebFile, FetchError> {
        let WebAddress { source, file, url } = address;
        let item = Item::file(file, url)?;
        let target = source_path(data, id, file);
        let places = folders.iter();
        let mut candidates: Vec<PathBuf> = places
            .flat_map(|folder| [folder.join(file), folder.join(id).join(file)])
            .collect();
        candidates.push(target.clone());
        let what = What {
            title: format!("file of the source `{source}`"),
            owner: item.owner(),
        };
        let mut bundles = folders.to_vec();
        bundles.push(data);
        // No bundle's name has a slash.
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

    /// The file in the bundle, if the bundle is there and has it.
    fn member(&self) -> Option<(File, ZipEntry)> {
        let file = File::open(self.bundles.path()?).ok()?;
        let bytes = file.metadata().ok()?.len();
        // What is wrong with the bundle is for its own step to say.
        let listing = ZipListing::read(&file, 0..bytes, &Limits::default().budget(bytes)).ok()?;
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
        // What a download left does not help.
        partial.clear()?;
        context.progress.set_total_bytes(entry.size);
        let reader = entry.open(bundle).map_err(StepError::input)?;
        let failed = |cause| FetchError::io("write", &partial.path, cause);
        let copied = io::copy(&mut context.cancel.reader(reader), &mut &*partial.file);
        let finished = copied.map_err(failed).and_then(|_| partial.finish());
        if finished.is_err() {
            // It is no download that could go on.
            let _ = partial.remove();
        }
        finished?;
        Ok(())
    }

    /// Fetches the file, unless another process has just done so.
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
            // What was fetched just now and has other sums is of no use to anybody.
            let _ = std::fs::remove_file(&self.target);
        }
        value
    }

    fn location(&self) -> Option<PathBuf> {
        self.local.path().map(Path::to_path_buf)
    }
}
