//! A part of a bundle: an archive that contains only the required members.
//!
//! Range requests read the central directory, and then the required members. The members are written to a sparse file at
//! their original offsets. The file has a piece map, so an interrupted fetch continues like a full download.
//!
//! Each member is verified by its CRC-32 and copied, still compressed, into `ID.part-KEY.zip`, which later steps read
//! like a bundle. The bundle's MD5 cannot be verified from a part, but the published checksums of the outputs can.
//!
//! If the bundle cannot be read by ranges, the members are fetched one by one.

use std::fs::File;
use std::io;
use std::io::BufWriter;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prep_cache::{Content, Digest};
use prep_core::{Context, Source, SourceState, StepError, Value};
use prep_formats::limits::DecodingLimits;
use prep_formats::zip::{ZipDirectory, ZipEntry, ZipMethod, ZipWriteError, ZipWriter};

use crate::bundle::directory::Members;
use crate::bundle::kaggle::{KaggleBundle, lock, part_name};
use crate::bundle::local::LocalBundle;
use crate::download::Order;
use crate::error::FetchError;
use crate::network::Network;
use crate::resume::partial::{Partial, commit, with_suffix};
use crate::wire::location::Item;

/// A source for some members of a competition's bundle. It uses the entire bundle if that exists.
#[derive(Debug, Clone)]
pub struct PartOfBundle {
    pub(super) whole: KaggleBundle,
    pub(super) members: Members,
    pub(super) target: PathBuf,
    local: LocalBundle,
}

impl PartOfBundle {
    /// Creates a source for the selected members of the bundle `whole`. The part is stored in the directory of this
    /// bundle.
    pub fn new(whole: KaggleBundle, members: Members) -> PartOfBundle {
        let key = Digest::of_bytes(members.patterns().join("\n").as_bytes()).to_string();
        let key = key.get(..12).unwrap_or(&key);
        let stem = whole.target().file_stem().unwrap_or_default();
        let name = part_name(&stem.to_string_lossy(), key);
        let directory = whole.target().parent().unwrap_or(Path::new(""));
        PartOfBundle {
            members,
            target: directory.join(format!("{name}.zip")),
            local: LocalBundle::new(&name, &[directory], None),
            whole,
        }
    }

    /// Same as [`LocalBundle::with_content`], for the part.
    #[must_use]
    pub fn with_content(self, last_used: Option<Content>) -> PartOfBundle {
        PartOfBundle {
            local: self.local.with_content(last_used),
            ..self
        }
    }

    /// Returns whether the part exists and the entire bundle does not.
    pub fn is_part(&self) -> bool {
        self.whole.location().is_none() && self.local.path().is_some()
    }

    fn fetch(&self, context: &Context) -> Result<(), StepError> {
        let network = self.whole.network(context)?;
        let Some(partial) = lock(&self.target, context)? else {
            return Ok(());
        };
        let fetched = self.fetch_into(&network, &partial, context);
        if fetched.is_err() {
            // The error of the download is more useful than an error of the removal.
            let _ = partial.remove_if_empty();
        }
        fetched
    }

    /// Downloads the ranges of the selected members, and copies the members to the archive of the part. If ranges are
    /// not possible, fetches the members one by one.
    fn fetch_into(
        &self,
        network: &Network,
        partial: &Arc<Partial>,
        context: &Context,
    ) -> Result<(), StepError> {
        let id = self.whole.kaggle();
        let mut entries = match network.list(id, &context.cancel) {
            Ok(zip) => zip.entries,
            Err(error) => {
                let is_fetched = error.may_succeed_one_by_one()
                    && self.fetch_one_by_one(network, partial, context)?;
                return match is_fetched {
                    true => Ok(()),
                    false => Err(error.into()),
                };
            }
        };
        let files = entries.iter().filter(|entry| !entry.is_directory);
        if let Some(member) = self.members.missing(files.map(|entry| &*entry.path)) {
            let (id, member) = (id.to_owned(), member.to_owned());
            return Err(FetchError::NoMember { id, member }.into());
        }
        entries.retain(|entry| self.members.selects(entry));
        entries.sort_by_key(|entry| entry.header_offset);
        let ranges: Vec<Range<u64>> = entries
            .iter()
            .map(|entry| entry.header_offset..entry.limit)
            .collect();
        let item = Item::Bundle(id.to_owned());
        let order = Order {
            ranges: Some(ranges),
            ..Order::new(network.shared(), item, partial, &context.progress)
        };
        network.download(&order, &context.cancel)?;
        self.write(partial, &entries, context)?;
        Ok(())
    }

    /// Copies the members from the partial file to the archive of the part.
    fn write(
        &self,
        partial: &Partial,
        entries: &[ZipEntry],
        context: &Context,
    ) -> Result<(), StepError> {
        let new = partial.path.with_extension("new");
        let out = File::create(&new).map_err(|cause| FetchError::io("create", &new, cause))?;
        let mut zip = ZipWriter::new(BufWriter::new(out));
        for entry in entries {
            context.check()?;
            self.check(partial, entry)?;
            zip.copy_member(&entry.path, &*partial.file, entry)
                .map_err(|error| write_error(&new, error))?;
        }
        Ok(self.finish_archive(zip, &new, partial)?)
    }

    /// Completes the archive `new`, moves it to the target, and removes the partial file.
    pub(super) fn finish_archive(
        &self,
        zip: ZipWriter<BufWriter<File>>,
        new: &Path,
        partial: &Partial,
    ) -> Result<(), FetchError> {
        let out = zip.finish().map_err(|error| write_error(new, error))?;
        let out = out
            .into_inner()
            .map_err(|error| FetchError::io("write", new, error.into_error()))?;
        partial.check_lock()?;
        commit(&out, new, &self.target)?;
        partial.remove()
    }

    /// Reads a member to check its CRC.
    fn check(&self, partial: &Partial, entry: &ZipEntry) -> Result<(), FetchError> {
        let checked = entry
            .open(&*partial.file)
            .map_err(io::Error::other)
            .and_then(|mut reader| io::copy(&mut reader, &mut io::sink()));
        match checked {
            Ok(_) => Ok(()),
            // The pieces may be right, so they are kept.
            Err(cause) if prep_core::is_system_fault(&cause) => {
                Err(FetchError::io("read", &partial.path, cause))
            }
            Err(cause) => {
                // The CRC does not show which piece is wrong, so all pieces are fetched again.
                partial.clear()?;
                Err(FetchError::DamagedMember {
                    id: self.whole.kaggle().to_owned(),
                    member: entry.path.clone(),
                    cause: prep_core::chain(&cause),
                })
            }
        }
    }
}

fn write_error(path: &Path, error: ZipWriteError) -> FetchError {
    FetchError::io("write", path, io::Error::other(error))
}

impl Source for PartOfBundle {
    fn kind(&self) -> &'static str {
        "bundle"
    }

    fn state(&self, context: &Context) -> Result<SourceState, StepError> {
        match self.whole.state(context)? {
            SourceState::Missing => self.local.state(context),
            known => Ok(known),
        }
    }

    fn run(&self, context: &Context) -> Result<Value, StepError> {
        if self.whole.location().is_some() {
            return self.whole.run(context);
        }
        if self.local.path().is_none() {
            self.fetch(context)?;
        }
        self.local.run(context)
    }

    fn obstacle(&self, context: &Context) -> Option<StepError> {
        self.whole.obstacle(context)
    }

    fn location(&self) -> Option<PathBuf> {
        let part = || self.local.path().map(Path::to_path_buf);
        self.whole.location().or_else(part)
    }
}

/// Maximum number of members that are fetched one by one. Each member needs an API call, and the API limits calls.
const MAX_FILES: usize = 100;

impl PartOfBundle {
    /// Fetches the members one by one, and writes them into the archive `partial`. The caller must hold the lock of
    /// `partial`. Returns `false` if the API does not list all required members, or lists more than [`MAX_FILES`] of
    /// them.
    pub(super) fn fetch_one_by_one(
        &self,
        network: &Network,
        partial: &Partial,
        context: &Context,
    ) -> Result<bool, StepError> {
        let id = self.whole.kaggle();
        // The caller's own error explains why range requests failed, so this one is dropped.
        let Ok(listed) = network.files(id, &context.cancel) else {
            context.check()?;
            return Ok(false);
        };
        let mut paths: Vec<String> = listed.into_iter().map(|file| file.path).collect();
        let all = paths.iter().map(String::as_str);
        let is_complete = self.members.missing(all).is_none();
        paths.retain(|path| self.members.matches(path));
        paths.sort();
        paths.dedup();
        if !is_complete || paths.len() > MAX_FILES {
            return Ok(false);
        }
        let dir = with_suffix(&self.target, ".files");
        let mut files = Vec::new();
        for path in paths {
            // The name depends only on the path, so files of an earlier run are found again even if the listing changed.
            let place = dir.join(Digest::of_bytes(path.as_bytes()).to_string());
            let item = Item::Member {
                id: id.to_owned(),
                file: path.clone(),
            };
            // No other process uses this directory, because the archive is locked.
            if let Some(file) = lock(&place, context)? {
                let order = Order::new(network.shared(), item, &file, &context.progress);
                let downloaded = network.download(&order, &context.cancel);
                if downloaded.is_err() {
                    let _ = file.remove_if_empty();
                }
                downloaded?;
                file.finish()?;
            }
            files.push((path, place));
        }
        let new = partial.path.with_extension("new");
        let failed = |cause| FetchError::io("write", &new, cause);
        let out = File::create(&new).map_err(failed)?;
        let mut zip = ZipWriter::new(BufWriter::new(out));
        for (path, place) in &files {
            context.check()?;
            add(&mut zip, path, place).map_err(failed)?;
        }
        self.finish_archive(zip, &new, partial)?;
        let _ = std::fs::remove_dir_all(&dir);
        Ok(true)
    }
}

/// Adds a file to the archive. If it is a zip archive with one member of the expected name, adds that member instead.
fn add(zip: &mut ZipWriter<BufWriter<File>>, path: &str, place: &Path) -> io::Result<()> {
    let file = File::open(place)?;
    let bytes = file.metadata()?.len();
    let listing = ZipDirectory::read(&file, 0..bytes, &DecodingLimits::default().budget(bytes));
    if let Ok(listing) = listing {
        let name = path.rsplit('/').next().unwrap_or(path);
        let entries = listing.entries().into_iter();
        let files: Vec<_> = entries.filter(|entry| !entry.is_directory).collect();
        if let [entry] = files.as_slice()
            && (entry.path == name || entry.path == path)
        {
            // Copying does not check the CRC, so the member is first read completely.
            let mut reader = entry.open(&file).map_err(io::Error::other)?;
            io::copy(&mut reader, &mut io::sink())?;
            return zip
                .copy_member(path, &file, entry)
                .map_err(io::Error::other);
        }
    }
    zip.add_file(path, ZipMethod::Deflate, file)
        .map_err(io::Error::other)
}
