//! Fetches members of a bundle one by one. This is used if the bundle is not a zip archive, or if its server does not
//! support ranges.
//!
//! The API lists the files of a competition and sends each one, either as it is or in a separate zip archive. They are
//! kept in `ID.part-KEY.zip.files/` until all of them are complete, so that an interrupted fetch can continue. Then
//! they are combined into the same archive that range requests would have produced.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use prep_cache::Digest;
use prep_core::{Context, StepError};
use prep_formats::limits::DecodingLimits;
use prep_formats::zip::{ZipDirectory, ZipMethod, ZipWriter};

use crate::bundle::kaggle::lock;
use crate::bundle::part::PartOfBundle;
use crate::download::Order;
use crate::error::FetchError;
use crate::network::Network;
use crate::resume::partial::{Partial, with_suffix};
use crate::wire::item::Item;

/// Maximum number of files that are fetched one by one. Each file needs an API call, and the API limits the number of
/// calls.
const MAX_FILES: usize = 100;

impl PartOfBundle {
    /// Fetches the members one by one and writes them into the archive, which `partial` has locked. Returns `false` if
    /// the API does not list the files, or if there are too many.
    pub(super) fn fetch_one_by_one(
        &self,
        network: &Network,
        partial: &Partial,
        context: &Context,
    ) -> Result<bool, StepError> {
        let id = self.whole.kaggle();
        // This error is dropped: the caller's error, which explains why range requests failed, is more useful.
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
            // A name that depends on the path, so that a later run with a different list does not mix the files up.
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
        // Errors are ignored: files that remain only use disk space.
        let _ = std::fs::remove_dir_all(&dir);
        Ok(true)
    }
}

/// Adds a file to the archive. If the file is a zip archive with one member of the expected name, adds that member.
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
