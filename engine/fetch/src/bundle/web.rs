//! A file at a URL as a source.
//!
//! A local file can replace the download. It is a file with the same name in a directory of the user, or a member of
//! the bundle. It must have the published checksum, unless it is a member that the pipeline names.

use std::fs::File;
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};

use md5::{Digest as _, Md5};
use prep_cache::{Content, Digest, hex};
use prep_core::{Context, Failure, Remedy, Source, SourceState, StepError, Value};
use prep_formats::limits::DecodingLimits;
use prep_formats::zip::{ZipDirectory, ZipEntry};
use sha2::Sha256;

use crate::bundle::kaggle::{
    differs_from_origin, fetch_file, lock, record_origin, remove_with_origin, source_path,
};
use crate::bundle::local::{BundleChecksums, FileLabel, LocalBundle, SearchPath};
use crate::error::FetchError;
use crate::network::LazyNetwork;
use crate::wire::location::Item;

const URL_DIGEST_LENGTH: usize = 12;

/// A file at a URL, as a pipeline describes it.
#[derive(Debug, Clone, Copy)]
pub struct WebAddress<'a> {
    /// Name of the source.
    pub source: &'a str,
    /// Name of the file.
    pub file: &'a str,
    /// The URL.
    pub url: &'a str,
    /// Path of the member of the bundle that is used in place of the download.
    pub member: Option<&'a str>,
}

/// A source for a file at a URL.
#[derive(Debug, Clone)]
pub struct WebFile {
    item: Item,
    url: String,
    file: String,
    member: Option<String>,
    /// Files of the user, which are used only if they have the published checksums.
    given: LocalBundle,
    fetched: LocalBundle,
    target: PathBuf,
    bundle: LocalBundle,
    published: BundleChecksums,
    /// Whether a file with a different checksum is an error.
    is_checked: bool,
    network: LazyNetwork,
}

impl WebFile {
    /// Creates the source. It searches for the file in this order, and otherwise downloads it:
    ///
    /// 1. `FILE` and `ID/FILE` in the directories of the user, if the pipeline states checksums (`published`)
    /// 2. the target of the download, `DATA/ID/sources/FILE`
    /// 3. the local bundle, if the pipeline states checksums or names a member of the bundle
    ///
    /// If `is_checked` is true, a file with a different checksum is an error. If it is false, the target is searched first.
    ///
    /// # Errors
    /// If the URL is not valid.
    pub fn new(
        address: WebAddress<'_>,
        search: SearchPath<'_>,
        published: BundleChecksums,
        is_checked: bool,
        network: impl Into<LazyNetwork>,
    ) -> Result<WebFile, FetchError> {
        let WebAddress {
            source, file, url, ..
        } = address;
        let item = Item::file(file, url)?;
        let id = search.id;
        let target = source_path(search.data, id, file);
        let has_sum = published.is_some();
        let directories = search.directories.iter().filter(|_| has_sum);
        let given: Vec<PathBuf> = directories
            .flat_map(|directory| [directory.join(file), directory.join(id).join(file)])
            .collect();
        let what = FileLabel {
            title: format!("file of the source `{source}`"),
            owner: item.owner(),
            remedy: match has_sum {
                true => Remedy::NameSource,
                false => Remedy::Words(format!(
                    "to use a file of your own, add its md5 or sha256 to the pipeline, or put the file at {}",
                    target.display()
                )),
            },
            difference: Remedy::AcceptBundle,
        };
        let looked = given.iter().cloned().chain([target.clone()]).collect();
        let name = WebFile::record_name(id, &address);
        let enforced = match is_checked {
            true => published.clone(),
            false => BundleChecksums::default(),
        };
        Ok(WebFile {
            item,
            url: url.to_owned(),
            file: file.to_owned(),
            member: address.member.map(str::to_owned),
            given: LocalBundle::of_file(what.clone(), &name, given, published.clone()),
            fetched: LocalBundle::of_file(what, &name, vec![target.clone()], enforced)
                .with_looked(looked),
            target,
            bundle: LocalBundle::new(id, &search.all(), None),
            published,
            is_checked,
            network: network.into(),
        })
    }

    /// Same as [`LocalBundle::with_content`], for the file that was at the URL.
    #[must_use]
    pub fn with_content(self, last_used: Option<Content>) -> WebFile {
        WebFile {
            fetched: self.fetched.with_content(last_used),
            ..self
        }
    }

    /// Returns the name of the URL's record in the cache and in remotes. The name contains several slashes, so it differs
    /// from all names of bundles.
    pub fn record_name(id: &str, address: &WebAddress<'_>) -> String {
        let WebAddress {
            source, file, url, ..
        } = address;
        let digest = Digest::of_bytes(url.as_bytes()).to_string();
        let digest = digest.get(..URL_DIGEST_LENGTH).unwrap_or(&digest);
        format!("{id}/{source}/{digest}/{file}")
    }

    fn origin_of_member(path: &str) -> String {
        format!("member {path} of the bundle")
    }

    /// Returns whether the file at the target was created from a different origin, for example an earlier URL.
    fn is_foreign(&self) -> bool {
        let named = self.member.as_deref().map(WebFile::origin_of_member);
        differs_from_origin(&self.target, &self.url)
            && named.is_none_or(|named| differs_from_origin(&self.target, &named))
    }

    /// Returns whether the file at the target is used. With `is_checked`, a user's file takes precedence.
    fn uses_fetched(&self) -> bool {
        let is_given = self.is_checked && self.given.path().is_some();
        !is_given && self.fetched.path().is_some() && !self.is_foreign()
    }

    /// Returns the local bundle, and a member that may be the file at the URL. Does not verify the member's checksum.
    fn candidate(&self) -> Option<(File, ZipEntry)> {
        if self.member.is_none() && !self.published.is_some() {
            return None;
        }
        let path = self.member.as_ref().unwrap_or(&self.file);
        let file = File::open(self.bundle.path()?).ok()?;
        let bytes = file.metadata().ok()?.len();
        // The step that reads the bundle reports defects of the bundle.
        let listing =
            ZipDirectory::read(&file, 0..bytes, &DecodingLimits::default().budget(bytes)).ok()?;
        let mut entries = listing.entries().into_iter();
        let entry = entries.find(|entry| !entry.is_directory && entry.path == *path)?;
        Some((file, entry))
    }

    /// Returns the local bundle, and the member that is the file at the URL: the pipeline names this member, or the
    /// member has the published checksums.
    fn proven_member(&self, context: &Context) -> Result<Option<(File, ZipEntry)>, StepError> {
        let Some((bundle, entry)) = self.candidate() else {
            return Ok(None);
        };
        if self.member.is_some() {
            return Ok(Some((bundle, entry)));
        }
        let Ok(reader) = entry.open(&bundle) else {
            return Ok(None);
        };
        let mut sums = Sums::default();
        let read = io::copy(&mut context.cancel.reader(reader), &mut sums);
        context.check()?;
        let is_same = read.is_ok() && sums.finish().fits(&self.published);
        Ok(is_same.then_some((bundle, entry)))
    }

    /// Extracts the file from the bundle, unless another process has just created the file.
    fn take(&self, bundle: &File, entry: &ZipEntry, context: &Context) -> Result<(), StepError> {
        let Some(partial) = lock(&self.target, context)? else {
            return Ok(());
        };
        // The file may contain bytes of an incomplete download.
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

    /// Downloads the file, unless another process has just created the file.
    fn fetch(&self, context: &Context) -> Result<(), StepError> {
        // Without an encrypted connection, only a verified checksum protects the file from modification.
        if !(self.item.is_private() || self.is_checked && self.published.is_some()) {
            let item = self.item.to_string();
            return Err(self
                .fetched
                .not_fetched_in(context, FetchError::Plain { item }));
        }
        let network = self.network.any();
        let network = network.map_err(|cause| self.fetched.not_fetched_in(context, cause))?;
        self.prepare_target(&self.url)?;
        let md5 = self.published.md5.clone().filter(|_| self.is_checked);
        fetch_file(&network, self.item.clone(), md5, &self.target, context)?;
        Ok(())
    }

    /// Removes a file of a different origin, and records the origin of the new file.
    fn prepare_target(&self, origin: &str) -> Result<(), FetchError> {
        if self.is_foreign() {
            remove_with_origin(&self.target);
        }
        match self.target.exists() {
            true => Ok(()),
            false => record_origin(&self.target, origin),
        }
    }

    /// Creates the file at the target. Extracts the file from the bundle if possible, and otherwise downloads it.
    fn create(&self, context: &Context) -> Result<(), StepError> {
        let Some((bundle, entry)) = self.proven_member(context)? else {
            return self.fetch(context);
        };
        let named = self.member.as_deref().map(WebFile::origin_of_member);
        self.prepare_target(&named.unwrap_or_else(|| self.url.clone()))?;
        self.take(&bundle, &entry, context)
    }
}

impl Source for WebFile {
    fn kind(&self) -> &'static str {
        "download"
    }

    fn state(&self, context: &Context) -> Result<SourceState, StepError> {
        if self.uses_fetched() {
            return self.fetched.state(context);
        }
        if self.given.path().is_some() && (self.is_checked || !self.given.is_wrong(context)?) {
            return self.given.state(context);
        }
        match self.fetched.absent(context)? {
            SourceState::Missing => Ok(match self.candidate() {
                Some((_, entry)) => SourceState::Unread { bytes: entry.size },
                None => SourceState::Missing,
            }),
            known => Ok(known),
        }
    }

    fn run(&self, context: &Context) -> Result<Value, StepError> {
        if self.uses_fetched() {
            return self.fetched.run(context);
        }
        if self.given.path().is_some() {
            match self.given.run(context) {
                // The file has the right name, but it is a different file.
                Err(error) if !self.is_checked && error.failure() == Failure::Check => {}
                ended => return ended,
            }
        }
        self.create(context)?;
        let value = self.fetched.run(context);
        if value
            .as_ref()
            .is_err_and(|error| error.failure() == Failure::Check)
        {
            // After another failure, such as a full disk, the file at the target is complete, so it stays.
            remove_with_origin(&self.target);
        }
        value
    }

    fn location(&self) -> Option<PathBuf> {
        let path = match self.uses_fetched() {
            true => self.fetched.path(),
            false => self.given.path(),
        };
        path.map(Path::to_path_buf)
    }
}

#[derive(Default)]
struct Sums {
    md5: Md5,
    sha256: Sha256,
}

impl Write for Sums {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.md5.update(bytes);
        self.sha256.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sums {
    fn finish(self) -> BundleChecksums {
        BundleChecksums {
            md5: Some(hex(&self.md5.finalize())),
            sha256: Some(hex(&self.sha256.finalize())),
        }
    }
}
