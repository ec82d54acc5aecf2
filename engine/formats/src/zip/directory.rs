//! Stores all members of an archive compactly.

use super::entry::{ZipMember, ZipRecord};

/// Number of bits for the length of a name. A name has at most 65,535 bytes in an archive, and three times that in
/// UTF-8.
const LENGTH_BITS: u32 = 20;

/// The members of an archive. Each takes about 50 bytes plus the name. Use this type for archives with millions of
/// members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ZipDirectory {
    /// All names, concatenated.
    names: String,
    members: Vec<ZipRecord<NameRange>>,
}

/// The offset of a name, shifted by [`LENGTH_BITS`], and its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NameRange(u64);

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
        self.members.push(entry.with_path(NameRange(name)));
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
        Some(packed.with_path(self.path(packed.path)))
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

    fn path(&self, NameRange(name): NameRange) -> &str {
        let start = usize::try_from(name >> LENGTH_BITS).unwrap_or(usize::MAX);
        let length = usize::try_from(name & ((1 << LENGTH_BITS) - 1)).unwrap_or(0);
        self.names
            .get(start..start.saturating_add(length))
            .unwrap_or_default()
    }
}
