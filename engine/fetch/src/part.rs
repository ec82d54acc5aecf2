//! A part of a bundle: only the members that are wanted, as an archive of its own.
//!
//! The central directory is read by ranges, then the wanted members; neighbours are one range, because pieces are the
//! unit. What arrived lies at its own place in a sparse file with a piece map, so an interrupted fetch goes on as a
//! full one does. Then the members are checked by their CRC-32 and copied, compressed as they are, into
//! `ID.part-KEY.zip`, which every later step reads as it would read the bundle. The MD5 of the bundle cannot be checked
//! this way; the published checksums of what is prepared still can.

use std::fs::File;
use std::io::{self, BufWriter};
use std::ops::Range;
use std::path::{Path, PathBuf};

use prep_cache::Digest;
use prep_core::{Context, Source, SourceState, StepError, Value};
use prep_formats::zip::{EntryKind, ZipEntry, ZipWriteError, ZipWriter};

use crate::error::FetchError;
use crate::kaggle::{fill, lock};
use crate::local::LocalBundle;
use crate::network::Network;
use crate::partial::Partial;

/// Some members of one competition's bundle.
#[derive(Debug, Clone)]
pub struct PartOfBundle {
    id: String,
    /// Paths of members; with `/` at the end, everything below.
    members: Vec<String>,
    target: PathBuf,
    local: LocalBundle,
    network: Network,
}

impl PartOfBundle {
    /// The members `members` of the bundle of `id`, kept beside where the bundle itself would be. A path that ends with
    /// `/` stands for everything below it.
    pub fn new(id: &str, data: &Path, members: &[&str], network: Network) -> PartOfBundle {
        let mut members: Vec<String> = members.iter().map(|&member| member.to_owned()).collect();
        members.sort();
        members.dedup();
        let key = Digest::of(members.join("\n").as_bytes()).to_string();
        let name = format!("{id}.part-{}", key.get(..12).unwrap_or(&key));
        let folder = data.join(id);
        PartOfBundle {
            id: id.to_owned(),
            members,
            target: folder.join(format!("{name}.zip")),
            local: LocalBundle::new(&name, &[&folder], None),
            network,
        }
    }

    fn wants(&self, entry: &ZipEntry) -> bool {
        let stands = |member: &String| stands_for(member, &entry.path);
        entry.kind == EntryKind::File && self.members.iter().any(stands)
    }

    fn fetch(&self, context: &Context) -> Result<(), StepError> {
        let Some(partial) = lock(&self.target, context)? else {
            return Ok(());
        };
        let mut entries = self.network.list(&self.id, &context.cancel)?.entries;
        entries.retain(|entry| self.wants(entry));
        self.require_all(&entries)?;
        entries.sort_by_key(|entry| entry.header_offset);
        let wanted: Vec<Range<u64>> = entries
            .iter()
            .map(|entry| entry.header_offset..entry.limit)
            .collect();
        fill(
            &self.network,
            &self.id,
            None,
            &partial,
            Some(wanted),
            context,
        )?;
        self.write(&partial, &entries, context)?;
        Ok(())
    }

    /// A member that is named and not there is a mistake, not an empty wish.
    fn require_all(&self, entries: &[ZipEntry]) -> Result<(), FetchError> {
        let missing = self.members.iter().find(|member| {
            let stands = |entry: &ZipEntry| stands_for(member, &entry.path);
            !entries.iter().any(stands)
        });
        match missing {
            None => Ok(()),
            Some(member) => Err(FetchError::NoMember {
                id: self.id.clone(),
                member: member.clone(),
            }),
        }
    }

    /// Checks the members and copies them into the archive under its final name.
    fn write(
        &self,
        partial: &Partial,
        entries: &[ZipEntry],
        context: &Context,
    ) -> Result<(), StepError> {
        let new = partial.path.with_extension("new");
        let failed = |action| {
            let new = new.clone();
            move |cause| FetchError::io(action, &new, cause)
        };
        let out = File::create(&new).map_err(failed("create"))?;
        let mut zip = ZipWriter::new(BufWriter::new(out));
        for entry in entries {
            context.check()?;
            self.check(partial, entry)?;
            zip.copy_member(&entry.path, &*partial.file, entry)
                .map_err(|error| write_error(&new, error))?;
        }
        let out = zip.finish().map_err(|error| write_error(&new, error))?;
        let out = out
            .into_inner()
            .map_err(|error| failed("write")(error.into_error()))?;
        out.sync_data().map_err(failed("flush"))?;
        std::fs::rename(&new, &self.target).map_err(failed("rename"))?;
        partial.remove()?;
        Ok(())
    }

    fn check(&self, partial: &Partial, entry: &ZipEntry) -> Result<(), FetchError> {
        let checked = entry
            .open(&*partial.file)
            .map_err(io::Error::other)
            .and_then(|mut reader| io::copy(&mut reader, &mut io::sink()));
        match checked {
            Ok(_) => Ok(()),
            Err(cause) => {
                // Which piece is wrong cannot be told: all of them are fetched again.
                partial.clear()?;
                Err(FetchError::DamagedMember {
                    id: self.id.clone(),
                    member: entry.path.clone(),
                    cause: cause.to_string(),
                })
            }
        }
    }
}

/// Whether a member's path is this one, or below this folder.
fn stands_for(member: &str, path: &str) -> bool {
    match member.strip_suffix('/') {
        Some(folder) => path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/')),
        None => path == member,
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
        self.local.state(context)
    }

    fn run(&self, context: &Context) -> Result<Value, StepError> {
        if self.local.path().is_none() {
            self.fetch(context)?;
        }
        self.local.run(context)
    }

    fn location(&self) -> Option<PathBuf> {
        self.local.path().map(Path::to_path_buf)
    }
}

/// Bytes that fetching these members would move, as [`PartOfBundle`] does it; without the listing itself.
pub fn part_bytes(entries: &[ZipEntry], wants: impl Fn(&ZipEntry) -> bool) -> u64 {
    let wanted = entries.iter().filter(|entry| wants(entry));
    wanted
        .map(|entry| entry.limit.saturating_sub(entry.header_offset))
        .sum()
}
