//! Stores all members of an archive compactly.

use super::entry::{EntryKind, ZipEntry, ZipMethod};

/// Number of bits for the length of a name. A name has at most 65,535 bytes in an archive, and three times that in
/// UTF-8.
const LENGTH_BITS: u32 = 20;

/// The members of an archive. Each takes about 50 bytes plus the name. Use this type for archives with millions of
/// members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ZipDirectory {
    /// All names, concatenated.
    names: String,
    members: Vec<PackedMember>,
}

/// A member without its name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PackedMember {
    /// Offset of the name, shifted by [`LENGTH_BITS`], and its length.
    name: u64,
    header_offset: u64,
    limit: u64,
    compressed_size: u64,
    size: u64,
    crc32: u32,
    kind: EntryKind,
    method: ZipMethod,
}

/// A member of a [`ZipDirectory`]. The fields are those of [`ZipEntry`].
#[derive(Debug, Clone, Copy)]
pub struct ZipMember<'a> {
    /// Same as [`ZipEntry::path`].
    pub path: &'a str,
    /// Same as [`ZipEntry::kind`].
    pub kind: EntryKind,
    /// Same as [`ZipEntry::method`].
    pub method: ZipMethod,
    /// Same as [`ZipEntry::header_offset`].
    pub header_offset: u64,
    /// Same as [`ZipEntry::limit`].
    pub limit: u64,
    /// Same as [`ZipEntry::compressed_size`].
    pub compressed_size: u64,
    /// Same as [`ZipEntry::size`].
    pub size: u64,
    /// Same as [`ZipEntry::crc32`].
    pub crc32: u32,
}

impl ZipMember<'_> {
    /// Converts to a [`ZipEntry`], which does not borrow from the directory.
    pub fn to_entry(&self) -> ZipEntry {
        ZipEntry {
            path: self.path.to_owned(),
            kind: self.kind,
            method: self.method,
            header_offset: self.header_offset,
            limit: self.limit,
            compressed_size: self.compressed_size,
            size: self.size,
            crc32: self.crc32,
        }
    }
}

impl ZipDirectory {
    pub(super) fn with_capacity(members: usize) -> Self {
        Self {
            names: String::new(),
            members: Vec::with_capacity(members),
        }
    }

    pub(super) fn push(&mut self, entry: &ZipMember<'_>) {
        let name = (self.names.len() as u64) << LENGTH_BITS | entry.path.len() as u64;
        self.names.push_str(entry.path);
        self.members.push(PackedMember {
            name,
            header_offset: entry.header_offset,
            limit: entry.limit,
            compressed_size: entry.compressed_size,
            size: entry.size,
            crc32: entry.crc32,
            kind: entry.kind,
            method: entry.method,
        });
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether the archive has no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns a member by its index in the central directory.
    pub fn get(&self, index: usize) -> Option<ZipMember<'_>> {
        let packed = self.members.get(index)?;
        Some(ZipMember {
            path: self.path(packed),
            kind: packed.kind,
            method: packed.method,
            header_offset: packed.header_offset,
            limit: packed.limit,
            compressed_size: packed.compressed_size,
            size: packed.size,
            crc32: packed.crc32,
        })
    }

    /// Iterates over the members in the order of the central directory.
    pub fn iter(&self) -> impl Iterator<Item = ZipMember<'_>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    pub(super) fn set_limit(&mut self, index: usize, limit: u64) {
        if let Some(packed) = self.members.get_mut(index) {
            packed.limit = limit;
        }
    }

    /// Removes the members with these ascending indices. Their names stay in memory.
    pub(super) fn remove(&mut self, indices: &[usize]) {
        let mut indices = indices.iter().peekable();
        let mut index = 0;
        self.members.retain(|_| {
            let drop = indices.next_if(|removed| **removed == index).is_some();
            index += 1;
            !drop
        });
    }

    fn path(&self, packed: &PackedMember) -> &str {
        let start = usize::try_from(packed.name >> LENGTH_BITS).unwrap_or(usize::MAX);
        let length = usize::try_from(packed.name & ((1 << LENGTH_BITS) - 1)).unwrap_or(0);
        self.names
            .get(start..start.saturating_add(length))
            .unwrap_or_default()
    }
}
