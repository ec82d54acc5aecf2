//! A *chunk*: the unit that [`listing`](super::listing) reads and writes. It contains files of a tree, column by column.

use std::io::{self, Read, Write};

use super::columns::{ColumnReader, ColumnWriter, TextColumn, shared_end};
use super::{EMPTY_DIRECTORY, FileKind, FileLocation, MemberName, Tree};

use crate::value::compact::{MAX_TEXT_BYTES, difference, value_from, write_number};

/// A file of a tree as it is written to a listing.
pub(super) struct ListingEntry<'a> {
    pub path: &'a str,
    /// Location of the content. The base is an index into the bases of the listing.
    pub location: FileLocation,
    /// The name of a member in its archive. Unused for other files.
    pub name: &'a str,
}

/// Length in bytes of a zip member's local header without name and extra fields.
const ZIP_RECORD_BYTES: u64 = 30;

/// A chunk contains at most this number of files.
pub(super) const MAX_FILES: usize = 4096;

/// A chunk whose paths and names have this total length in bytes, or more, gets no further file.
const CHUNK_TEXT_BYTES: usize = 1 << 20;

/// The paths and names of a chunk, including those of its last file, have at most this number of bytes.
const MAX_CHUNK_TEXT_BYTES: usize = CHUNK_TEXT_BYTES + 2 * MAX_TEXT_BYTES;

/// Consecutive files of a tree, column by column. A column contains values only for files that have them; see the
/// stored format in `listing`.
#[derive(Default)]
pub(super) struct Chunk {
    kinds: Vec<u8>,
    paths: TextColumn,
    sizes: NumberColumn,
    bases: NumberColumn,
    offsets: NumberColumn,
    /// Compressed lengths of members.
    compressed: NumberColumn,
    /// For each member, the end of its record in the archive. The record consists of header, name and compressed bytes.
    limits: NumberColumn,
    /// CRC-32 of files, 4 bytes each.
    crcs: Vec<u8>,
    /// For reading: how many bytes of `crcs` have been taken.
    crcs_taken: usize,
    /// For each member, the offset in its path of the suffix that path and name share.
    ends: NumberColumn,
    /// For each member, its name without this suffix.
    fronts: TextColumn,
    /// Total length of the paths and names so far.
    text_bytes: usize,
    /// Base of the previous file. The next one is encoded relative to it.
    base: u32,
    /// End of the previous file's bytes in its base.
    end: u64,
}

#[derive(Default)]
struct NumberColumn {
    values: Vec<u64>,
    /// For reading: how many numbers have been taken.
    taken: usize,
}

impl NumberColumn {
    fn push(&mut self, value: u64) {
        self.values.push(value);
    }

    fn write(&mut self, writer: &mut ColumnWriter, out: &mut impl Write) -> io::Result<()> {
        writer.numbers(out, &self.values)?;
        self.values.clear();
        Ok(())
    }

    fn read(&mut self, input: &mut ColumnReader<impl Read>, count: usize) -> io::Result<()> {
        self.taken = 0;
        input.numbers(count, &mut self.values)
    }

    fn take(&mut self) -> Option<u64> {
        let value = self.values.get(self.taken).copied();
        self.taken += 1;
        value
    }
}

impl FileKind {
    fn from_number(number: u8) -> Option<FileKind> {
        Some(match number {
            0 => FileKind::Directory,
            1 => FileKind::Object,
            2 => FileKind::Slice,
            3 => FileKind::Stored,
            4 => FileKind::Deflated,
            5 => FileKind::Row,
            6 => FileKind::LayeredStored,
            7 => FileKind::LayeredDeflated,
            8 => FileKind::LayeredSlice,
            9 => FileKind::LayeredChecked,
            _ => return None,
        })
    }
}

impl Chunk {
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.kinds.len() >= MAX_FILES || self.text_bytes >= CHUNK_TEXT_BYTES
    }

    pub fn push(&mut self, entry: &ListingEntry<'_>) {
        let ListingEntry {
            path,
            location,
            name,
        } = entry;
        self.kinds.push(location.kind as u8);
        self.paths.push(path.as_bytes());
        self.text_bytes += path.len();
        if location.kind == FileKind::Directory {
            return;
        }
        self.sizes.push(location.bytes);
        if !location.kind.has_base() {
            return;
        }
        let (base, before) = (u64::from(location.base), u64::from(self.base));
        self.bases.push(difference(base, before));
        self.base = location.base;
        if location.kind == FileKind::Object {
            return;
        }
        self.offsets.push(difference(location.offset, self.end));
        self.end = location.offset.wrapping_add(location.bytes);
        if location.kind.has_crc() {
            self.crcs.extend(location.crc32.to_le_bytes());
        }
        if !location.kind.is_member() {
            return;
        }
        let least = min_record_end(location, name.len());
        self.compressed
            .push(difference(location.compressed, location.bytes));
        self.limits.push(difference(location.limit, least));
        self.end = location.limit;
        let (front, end) = match location.name {
            MemberName::EndOfPath(from) => ("", from as usize),
            MemberName::Separate(_) => split_shared_end(path, name),
        };
        self.ends.push(end as u64);
        self.fronts.push(front.as_bytes());
        self.text_bytes += name.len();
    }

    pub fn write(&mut self, writer: &mut ColumnWriter, out: &mut impl Write) -> io::Result<()> {
        write_number(out, self.kinds.len() as u64)?;
        writer.bytes(out, &self.kinds)?;
        self.paths.write(writer, out)?;
        self.sizes.write(writer, out)?;
        self.bases.write(writer, out)?;
        self.offsets.write(writer, out)?;
        self.compressed.write(writer, out)?;
        self.limits.write(writer, out)?;
        out.write_all(&self.crcs)?;
        self.ends.write(writer, out)?;
        self.fronts.write(writer, out)?;
        self.kinds.clear();
        self.crcs.clear();
        self.text_bytes = 0;
        Ok(())
    }

    /// Reads the columns of the next `count` files, which replace the current content.
    pub fn read(&mut self, input: &mut ColumnReader<impl Read>, count: usize) -> io::Result<()> {
        input.bytes(count, &mut self.kinds)?;
        let kinds = || {
            self.kinds
                .iter()
                .filter_map(|kind| FileKind::from_number(*kind))
        };
        let files = kinds().filter(|kind| *kind != FileKind::Directory).count();
        let based = kinds().filter(|kind| kind.has_base()).count();
        let objects = kinds().filter(|kind| *kind == FileKind::Object).count();
        let members = kinds().filter(|kind| kind.is_member()).count();
        let crcs = kinds().filter(|kind| kind.has_crc()).count();
        self.paths.read(input, count, MAX_CHUNK_TEXT_BYTES)?;
        self.sizes.read(input, files)?;
        self.bases.read(input, based)?;
        self.offsets.read(input, based - objects)?;
        self.compressed.read(input, members)?;
        self.limits.read(input, members)?;
        input.plain(4 * crcs, &mut self.crcs)?;
        self.ends.read(input, members)?;
        self.fronts.read(input, members, MAX_CHUNK_TEXT_BYTES)?;
        self.text_bytes = 0;
        self.crcs_taken = 0;
        Ok(())
    }

    /// Adds the next file of the chunk to a tree. Returns `None` if the file is invalid.
    pub fn take(&mut self, file: usize, tree: &mut Tree) -> Option<()> {
        let kind = FileKind::from_number(*self.kinds.get(file)?)?;
        let path = std::str::from_utf8(self.paths.take()?).ok()?;
        self.text_bytes += path.len();
        let before = tree.len().checked_sub(1);
        if self.text_bytes > MAX_CHUNK_TEXT_BYTES
            || before.is_some_and(|before| tree.paths.get(before) >= path)
        {
            return None;
        }
        let mut location = FileLocation {
            kind,
            ..EMPTY_DIRECTORY
        };
        if kind != FileKind::Directory {
            location.bytes = self.sizes.take()?;
        }
        if kind.has_base() {
            let base = value_from(self.bases.take()?, u64::from(self.base));
            location.base = u32::try_from(base).ok()?;
            self.base = location.base;
            if self.base as usize >= tree.bases.len() {
                return None;
            }
        }
        if kind.is_slice() || kind.is_member() {
            location.offset = value_from(self.offsets.take()?, self.end);
            self.end = location.offset.wrapping_add(location.bytes);
        }
        if kind.has_crc() {
            let crc = self.crcs.get(self.crcs_taken..)?.first_chunk()?;
            location.crc32 = u32::from_le_bytes(*crc);
            self.crcs_taken += 4;
        }
        if kind.is_member() {
            location.compressed = value_from(self.compressed.take()?, location.bytes);
            let from = u32::try_from(self.ends.take()?).ok()?;
            let end = path.get(from as usize..)?;
            let front = std::str::from_utf8(self.fronts.take()?).ok()?;
            let name = front.len() + end.len();
            self.text_bytes += name;
            if self.text_bytes > MAX_CHUNK_TEXT_BYTES {
                return None;
            }
            location.name = if front.is_empty() {
                MemberName::EndOfPath(from)
            } else {
                tree.names.push_joined(front, end);
                MemberName::Separate(u32::try_from(tree.names.len() - 1).ok()?)
            };
            location.limit = value_from(self.limits.take()?, min_record_end(&location, name));
            self.end = location.limit;
        }
        tree.paths.push(path);
        tree.locations.push(location);
        Some(())
    }
}

/// Returns where the record of a zip member would end if it had no extra fields. The record consists of header, name
/// and compressed bytes.
fn min_record_end(location: &FileLocation, name: usize) -> u64 {
    location
        .offset
        .wrapping_add(ZIP_RECORD_BYTES)
        .wrapping_add(name as u64)
        .wrapping_add(location.compressed)
}

/// Splits `name` before the longest suffix that it shares with `path`. Returns the front, and the suffix's offset in `path`.
fn split_shared_end<'a>(path: &str, name: &'a str) -> (&'a str, usize) {
    let shared = shared_end(path.as_bytes(), name.as_bytes());
    let mut front = name.len() - shared;
    while !name.is_char_boundary(front) {
        front += 1;
    }
    let end = path.len() - (name.len() - front);
    (name.get(..front).unwrap_or(name), end)
}
