//! A tree: a set of files, each with a path and a content reference.
//!
//! A tree may have millions of files. In memory, all paths are in one buffer, and each file takes about 60 more bytes. For
//! the stored format, see [`listing`]. Concurrent steps share a loaded tree.

mod chunk;
mod columns;
mod listing;

use std::sync::Arc;

use prep_cache::Digest;
use prep_core::{Cancel, Context, StepError, Value};
use prep_formats::zip::{ZipEntry, ZipMember, ZipMethod};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::ContentRef;
use super::compact::TextList;
use super::positions::sorted;

/// A file or an empty directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Path relative to the tree.
    pub path: String,
    /// `None` for an empty directory.
    pub content: Option<ContentRef>,
}

/// Approximate memory in bytes of a file in a tree, including its path.
const FILE_BYTES: u64 = 130;

/// Returns the memory in bytes of a step's loaded input trees.
pub(crate) fn memory_of_trees(inputs: &prep_core::Inputs) -> u64 {
    let files = inputs
        .values()
        .filter_map(|value| value.body.get("files")?.as_u64());
    files.sum::<u64>().saturating_mul(FILE_BYTES)
}

/// Files with unique paths, sorted by path in code-point order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    paths: TextList,
    locations: Vec<FileLocation>,
    /// Names of members in their archives, except names that are a suffix of the member's path in the tree.
    names: TextList,
    /// Digests of the objects and files that contain the bytes.
    bases: Vec<Digest>,
}

/// The location of a file's content. Fields that a kind does not need have the values of [`EMPTY_DIRECTORY`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileLocation {
    kind: FileKind,
    /// Index into the bases of the tree.
    base: u32,
    /// CRC-32 of the content, for kinds with a checksum.
    crc32: u32,
    /// Start in the base: of the content, or of a member's header.
    offset: u64,
    /// Length of the content in bytes, after decompression.
    bytes: u64,
    /// End of a member's record in the base.
    limit: u64,
    /// Compressed length of a member in bytes.
    compressed: u64,
    /// Name of a member in its archive.
    name: MemberName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileKind {
    Directory = 0,
    Object = 1,
    Slice = 2,
    Stored = 3,
    Deflated = 4,
    /// A file in a table of files: path and size, without the location of its bytes.
    Row = 5,
    /// Same as `Stored`, in an archive that is nested in another compressed archive.
    LayeredStored = 6,
    LayeredDeflated = 7,
    LayeredSlice = 8,
    /// Same as `LayeredSlice`, with a checksum.
    LayeredChecked = 9,
}

impl FileKind {
    /// Returns whether the listing contains the location of the content.
    fn has_base(self) -> bool {
        !matches!(self, FileKind::Directory | FileKind::Row)
    }

    fn is_slice(self) -> bool {
        matches!(
            self,
            FileKind::Slice | FileKind::LayeredSlice | FileKind::LayeredChecked
        )
    }

    fn has_crc(self) -> bool {
        self == FileKind::LayeredChecked || self.is_member()
    }

    fn is_layered(self) -> bool {
        matches!(
            self,
            FileKind::LayeredStored
                | FileKind::LayeredDeflated
                | FileKind::LayeredSlice
                | FileKind::LayeredChecked
        )
    }

    fn is_member(self) -> bool {
        self.method().is_some()
    }

    /// Returns the compression method of a member. `None` for other kinds.
    fn method(self) -> Option<ZipMethod> {
        match self {
            FileKind::Stored | FileKind::LayeredStored => Some(ZipMethod::Stored),
            FileKind::Deflated | FileKind::LayeredDeflated => Some(ZipMethod::Deflate),
            FileKind::Directory | FileKind::Object | FileKind::Row => None,
            FileKind::Slice | FileKind::LayeredSlice | FileKind::LayeredChecked => None,
        }
    }

    fn of_member(method: ZipMethod, layered: bool) -> FileKind {
        match (method, layered) {
            (ZipMethod::Stored, false) => FileKind::Stored,
            (ZipMethod::Deflate, false) => FileKind::Deflated,
            (ZipMethod::Stored, true) => FileKind::LayeredStored,
            (ZipMethod::Deflate, true) => FileKind::LayeredDeflated,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MemberName {
    /// The suffix of the path from this byte on.
    EndOfPath(u32),
    /// The name with this index among the tree's names.
    Separate(u32),
}

/// Identifies a file's bytes within a tree. Files with equal origins have equal contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContentOrigin {
    pub kind: OriginKind,
    /// Index into [`Tree::bases`].
    pub base: u32,
    /// Start of the bytes in the base.
    pub offset: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OriginKind {
    Object = 0,
    Slice = 1,
    Member = 2,
}

const EMPTY_DIRECTORY: FileLocation = FileLocation {
    kind: FileKind::Directory,
    base: 0,
    crc32: 0,
    offset: 0,
    bytes: 0,
    limit: 0,
    compressed: 0,
    name: MemberName::EndOfPath(0),
};

/// The reason why a tree cannot be built or read.
#[derive(Debug, Error)]
pub enum TreeError {
    /// Two files have the same path.
    #[error("two files have the path `{0}`")]
    Duplicate(String),
    /// A stored listing is damaged.
    #[error("a stored listing is damaged at the file with index {file}")]
    Damaged {
        /// Index of the first damaged file.
        file: usize,
    },
    /// The tree has more files than the format supports.
    #[error("a tree can have at most {} files", u32::MAX)]
    TooMany,
    /// The run was cancelled.
    #[error("{0}")]
    Stopped(#[source] StepError),
}

/// A file or an empty directory of a [`Tree`].
#[derive(Debug, Clone, Copy)]
pub struct TreeFile<'a> {
    tree: &'a Tree,
    index: usize,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "value", rename = "tree")]
struct TreeBody {
    /// Digest of the object with the stored listing.
    listing: Digest,
    files: u64,
    /// Total size of the files.
    bytes: u64,
}

impl<'a> TreeFile<'a> {
    /// Returns the path relative to the tree.
    pub fn path(&self) -> &'a str {
        self.tree.paths.get(self.index)
    }

    /// Returns the index in the tree.
    pub fn index(&self) -> usize {
        self.index
    }

    fn location(&self) -> FileLocation {
        self.tree
            .locations
            .get(self.index)
            .copied()
            .unwrap_or(EMPTY_DIRECTORY)
    }

    /// Returns whether this is an empty directory.
    pub fn is_directory(&self) -> bool {
        self.location().kind == FileKind::Directory
    }

    /// Returns the length of the content in bytes.
    pub fn bytes(&self) -> u64 {
        self.location().bytes
    }

    /// Returns whether the content is in an archive inside compressed data.
    pub(crate) fn is_layered(&self) -> bool {
        self.location().kind.is_layered()
    }

    /// Returns the digest of the base. `None` for a directory or a row of a table of files.
    pub(crate) fn base(&self) -> Option<&'a Digest> {
        let location = self.location();
        let has_base = location.kind.has_base();
        has_base.then(|| self.tree.bases.get(location.base as usize))?
    }

    /// Returns the origin of the content. `None` for a directory or a row of a table of files.
    pub(crate) fn origin(&self) -> Option<ContentOrigin> {
        let FileLocation {
            kind, base, offset, ..
        } = self.location();
        let kind = match kind {
            FileKind::Directory | FileKind::Row => return None,
            FileKind::Object => OriginKind::Object,
            kind if kind.is_slice() => OriginKind::Slice,
            _ => OriginKind::Member,
        };
        Some(ContentOrigin { kind, base, offset })
    }

    /// Returns the content reference. `None` for a directory or a row of a table of files.
    pub fn content(&self) -> Option<ContentRef> {
        let location = self.location();
        let base = *self.base()?;
        let layered = location.kind.is_layered();
        let Some(method) = location.kind.method() else {
            return Some(match location.kind {
                FileKind::Object => ContentRef::Object {
                    digest: base,
                    bytes: location.bytes,
                },
                kind => ContentRef::Slice {
                    base,
                    layered,
                    offset: location.offset,
                    bytes: location.bytes,
                    crc32: kind.has_crc().then_some(location.crc32),
                },
            });
        };
        let entry = ZipEntry {
            path: self.name(location).to_owned(),
            is_directory: false,
            method,
            header_offset: location.offset,
            limit: location.limit,
            compressed_size: location.compressed,
            size: location.bytes,
            crc32: location.crc32,
        };
        Some(ContentRef::Member {
            base,
            layered,
            entry,
        })
    }

    /// Returns the name of a member in its archive.
    fn name(&self, location: FileLocation) -> &'a str {
        match location.name {
            MemberName::EndOfPath(from) => self.path().get(from as usize..).unwrap_or_default(),
            MemberName::Separate(index) => self.tree.names.get(index as usize),
        }
    }
}

impl Tree {
    /// Builds a tree. Fails if two files have the same path.
    pub fn new(entries: Vec<TreeEntry>) -> Result<Tree, TreeError> {
        let mut builder = TreeBuilder::default();
        for entry in &entries {
            builder.push(&entry.path, entry.content.as_ref());
        }
        builder.finish(&Cancel::default())
    }

    /// Returns the number of files and empty directories.
    pub fn len(&self) -> usize {
        self.locations.len()
    }

    /// Returns whether there are neither files nor empty directories.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all files and empty directories, sorted by path.
    pub fn files(&self) -> impl ExactSizeIterator<Item = TreeFile<'_>> {
        (0..self.len()).map(|index| TreeFile { tree: self, index })
    }

    /// Returns the file with this index.
    pub fn file(&self, index: usize) -> Option<TreeFile<'_>> {
        (index < self.len()).then_some(TreeFile { tree: self, index })
    }

    /// Returns the file or empty directory at `path`.
    pub fn find(&self, path: &str) -> Option<TreeFile<'_>> {
        let first = self.paths.lower_bound(path);
        self.file(first).filter(|file| file.path() == path)
    }

    /// Returns the content of the file at `path`.
    pub fn get(&self, path: &str) -> Option<ContentRef> {
        self.find(path)?.content()
    }

    /// Returns all files whose path begins with `prefix`.
    pub fn with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = TreeFile<'a>> {
        let first = self.paths.lower_bound(prefix);
        let files = (first..self.len()).map(|index| TreeFile { tree: self, index });
        files.take_while(move |file| file.path().starts_with(prefix))
    }

    /// Returns the digests of the bases, in the order in which the files first use them.
    pub(crate) fn bases(&self) -> &[Digest] {
        &self.bases
    }

    /// Returns the number of files, and their total size in bytes.
    pub fn size(&self) -> (u64, u64) {
        let files = self.locations.iter();
        let files = files.filter(|location| location.kind != FileKind::Directory);
        files.fold((0, 0), |(files, bytes), location| {
            (files + 1, bytes + location.bytes)
        })
    }

    /// Loads the tree of a value. Concurrent steps share it.
    pub fn load(context: &Context, value: &Value) -> Result<Arc<Tree>, StepError> {
        let body: TreeBody = value.decode()?;
        Tree::load_listing(context, &body.listing)
    }

    /// Loads the tree of a stored listing.
    pub(crate) fn load_listing(context: &Context, object: &Digest) -> Result<Arc<Tree>, StepError> {
        context.objects.shared(object, || {
            let object = context.store.open_object(object)?;
            let reader = context.cancel.reader(object.reader());
            listing::read(reader).map_err(StepError::internal)
        })
    }

    /// Stores the tree. Returns its value.
    pub fn save(&self, context: &Context) -> Result<Value, StepError> {
        Ok(value(self.size(), self.save_listing(context)?))
    }

    /// Stores a tree of files from other trees, without building the new tree in memory. For each index below `count`,
    /// `file` returns a path and the file for this path, or `None` to add no file. The paths must be sorted and unique.
    pub(crate) fn save_picked<'a>(
        context: &Context,
        count: usize,
        file: impl Fn(usize) -> Option<(&'a str, TreeFile<'a>)>,
    ) -> Result<Value, StepError> {
        let picked = || (0..count).filter_map(&file);
        let mut bases = BaseNumbers::default();
        let (mut files, mut bytes, mut all) = (0, 0, 0);
        for (_, file) in picked() {
            all += 1;
            if let Some(base) = file.base() {
                bases.number(base);
                files += 1;
                bytes += file.bytes();
            }
        }
        let entries = picked().map(|(path, file)| {
            let (mut location, name) = (file.location(), file.name(file.location()));
            if let Some(base) = file.base() {
                location.base = bases.number_of(base);
            }
            if location.kind.is_member() {
                // The name itself is in the entry, so this index is unused.
                location.name = end_of_path(path, name).unwrap_or(MemberName::Separate(0));
            }
            chunk::ListingEntry {
                path,
                location,
                name,
            }
        });
        let stored = save_entries(context, &bases.all, all, entries)?;
        Ok(value((files, bytes), stored))
    }

    /// Stores the listing. Returns its digest, and the digests of the objects that it refers to.
    pub(crate) fn save_listing(
        &self,
        context: &Context,
    ) -> Result<(Digest, Vec<Digest>), StepError> {
        save_entries(context, &self.bases, self.len() as u64, self.entries())
    }

    fn entries(&self) -> impl Iterator<Item = chunk::ListingEntry<'_>> {
        self.files().map(|file| chunk::ListingEntry {
            path: file.path(),
            location: file.location(),
            name: file.name(file.location()),
        })
    }
}

/// Number of files between two checks for cancellation.
pub(crate) const BETWEEN_CHECKS: usize = 1024;

/// Stores a listing. Returns its digest, and the digests of the objects that it refers to.
fn save_entries<'a>(
    context: &Context,
    bases: &[Digest],
    count: u64,
    entries: impl Iterator<Item = chunk::ListingEntry<'a>>,
) -> Result<(Digest, Vec<Digest>), StepError> {
    let mut out = std::io::BufWriter::new(context.store.writer()?);
    let watched = entries.enumerate().map_while(|(number, entry)| {
        let is_running = !number.is_multiple_of(BETWEEN_CHECKS) || !context.cancel.is_cancelled();
        is_running.then_some(entry)
    });
    listing::write(bases, count, watched, &mut out).map_err(StepError::machine)?;
    context.check()?;
    let out = out
        .into_inner()
        .map_err(|error| StepError::machine(error.into_error()))?;
    let stored = out.commit()?;
    let in_store = |base: &&Digest| context.outside.location(base).is_none();
    let mut objects: Vec<Digest> = bases.iter().filter(in_store).copied().collect();
    objects.sort();
    Ok((stored.digest, objects))
}

fn value((files, bytes): (u64, u64), stored: (Digest, Vec<Digest>)) -> Value {
    let (listing, mut objects) = stored;
    objects.push(listing);
    let body = TreeBody {
        listing,
        files,
        bytes,
    };
    Value::new(serde_json::json!(body), objects)
}

/// Bases, numbered in the order of their first occurrence.
#[derive(Debug, Default)]
struct BaseNumbers {
    all: Vec<Digest>,
    numbers: std::collections::HashMap<Digest, u32>,
}

impl BaseNumbers {
    /// Returns the number of a base. A new base gets the next number.
    fn number(&mut self, base: &Digest) -> u32 {
        // Consecutive files usually have the same base.
        if self.all.last() == Some(base) {
            return u32::try_from(self.all.len() - 1).unwrap_or(u32::MAX);
        }
        let all = &mut self.all;
        *self.numbers.entry(*base).or_insert_with(|| {
            all.push(*base);
            u32::try_from(all.len() - 1).unwrap_or(u32::MAX)
        })
    }

    /// Returns the number of a base that already has one.
    fn number_of(&self, base: &Digest) -> u32 {
        self.numbers.get(base).copied().unwrap_or(u32::MAX)
    }
}

/// If `path` ends with `name`, returns the position at which `name` starts.
fn end_of_path(path: &str, name: &str) -> Option<MemberName> {
    let from = path.len().checked_sub(name.len())?;
    let from = u32::try_from(from).ok()?;
    path.ends_with(name).then_some(MemberName::EndOfPath(from))
}

/// Collects the files of a tree in any order.
#[derive(Debug, Default)]
pub(crate) struct TreeBuilder {
    tree: Tree,
    bases: BaseNumbers,
}

impl TreeBuilder {
    /// Adds a file, or an empty directory if `content` is `None`.
    pub fn push(&mut self, path: &str, content: Option<&ContentRef>) {
        let location = match content {
            None => EMPTY_DIRECTORY,
            Some(ContentRef::Object { digest, bytes }) => FileLocation {
                kind: FileKind::Object,
                base: self.bases.number(digest),
                bytes: *bytes,
                ..EMPTY_DIRECTORY
            },
            Some(ContentRef::Slice {
                base,
                layered,
                offset,
                bytes,
                crc32,
            }) => FileLocation {
                kind: match (layered, crc32) {
                    (false, _) => FileKind::Slice,
                    (true, None) => FileKind::LayeredSlice,
                    (true, Some(_)) => FileKind::LayeredChecked,
                },
                base: self.bases.number(base),
                crc32: crc32.unwrap_or_default(),
                offset: *offset,
                bytes: *bytes,
                ..EMPTY_DIRECTORY
            },
            Some(ContentRef::Member {
                base,
                layered,
                entry,
            }) => {
                let member = ZipMember {
                    path: &entry.path,
                    is_directory: entry.is_directory,
                    method: entry.method,
                    header_offset: entry.header_offset,
                    limit: entry.limit,
                    compressed_size: entry.compressed_size,
                    size: entry.size,
                    crc32: entry.crc32,
                };
                return self.push_member(path, base, *layered, &member);
            }
        };
        self.add(path, location);
    }

    /// Adds a member of an archive. `base` is the digest of the file that contains the archive. If `layered` is true,
    /// `base` is the digest of the object that describes how to decompress the archive.
    pub fn push_member(
        &mut self,
        path: &str,
        base: &Digest,
        layered: bool,
        member: &ZipMember<'_>,
    ) {
        if member.is_directory {
            return self.add(path, EMPTY_DIRECTORY);
        }
        let location = FileLocation {
            kind: FileKind::of_member(member.method, layered),
            base: self.bases.number(base),
            crc32: member.crc32,
            offset: member.header_offset,
            bytes: member.size,
            limit: member.limit,
            compressed: member.compressed_size,
            name: self.store_name(path, member.path),
        };
        self.add(path, location);
    }

    /// Adds a row of a table of files: the path and the size of a file, without its content.
    pub(crate) fn push_row(&mut self, path: &str, bytes: u64) {
        let location = FileLocation {
            kind: FileKind::Row,
            bytes,
            ..EMPTY_DIRECTORY
        };
        self.add(path, location);
    }

    /// Adds a file of another tree at `path`.
    pub fn push_file(&mut self, path: &str, file: TreeFile<'_>) {
        let mut location = file.location();
        if let Some(base) = file.base() {
            location.base = self.bases.number(base);
        }
        if location.kind.is_member() {
            location.name = self.store_name(path, file.name(location));
        }
        self.add(path, location);
    }

    pub fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    pub fn len(&self) -> usize {
        self.tree.len()
    }

    fn add(&mut self, path: &str, location: FileLocation) {
        self.tree.paths.push(path);
        self.tree.locations.push(location);
    }

    /// Returns the representation of a member's name. Stores the name, unless it is a suffix of `path`.
    fn store_name(&mut self, path: &str, name: &str) -> MemberName {
        end_of_path(path, name).unwrap_or_else(|| {
            self.tree.names.push(name);
            let number = self.tree.names.len() - 1;
            MemberName::Separate(u32::try_from(number).unwrap_or(u32::MAX))
        })
    }

    /// Returns the path of the file with this index. Files are numbered in the order of their addition.
    pub(super) fn path(&self, index: u32) -> &str {
        self.tree.paths.get(index as usize)
    }

    pub(super) fn is_directory(&self, index: u32) -> bool {
        let found = self.tree.locations.get(index as usize);
        found.is_none_or(|found| found.kind == FileKind::Directory)
    }

    /// Returns all indices, sorted by path. The sort is stable.
    pub(super) fn sorted(&self, cancel: &Cancel) -> Result<Vec<u32>, TreeError> {
        let count = u32::try_from(self.len()).map_err(|_| TreeError::TooMany)?;
        let by_path = |a: u32, b: u32| self.path(a).cmp(self.path(b));
        sorted(count, cancel, by_path).map_err(TreeError::Stopped)
    }

    /// Builds the tree of the files with the indices `order`, which must be sorted by path and have unique paths.
    pub(super) fn in_order(self, order: &[u32]) -> Tree {
        let TreeBuilder { mut tree, bases } = self;
        tree.bases = bases.all;
        if !(0..).take(tree.len()).eq(order.iter().copied()) {
            let mut paths = TextList::with_capacity(order.len(), tree.paths.bytes());
            for index in order {
                paths.push(tree.paths.get(*index as usize));
            }
            tree.paths = paths;
            let location = |index: &u32| tree.locations.get(*index as usize).copied();
            tree.locations = order.iter().filter_map(location).collect();
        }
        tree.renumber();
        tree
    }

    /// Builds the tree. Fails if two files have the same path, or if the run is cancelled.
    pub fn finish(self, cancel: &Cancel) -> Result<Tree, TreeError> {
        let order = self.sorted(cancel)?;
        let mut pairs = order.iter().zip(order.iter().skip(1));
        if let Some((twice, _)) = pairs.find(|(a, b)| self.path(**a) == self.path(**b)) {
            return Err(TreeError::Duplicate(self.path(*twice).to_owned()));
        }
        Ok(self.in_order(&order))
    }
}

impl Tree {
    /// Numbers bases and names of members in the order of their first use, so that trees with the same files are equal.
    /// Releases unused memory.
    fn renumber(&mut self) {
        let mut bases = vec![u32::MAX; self.bases.len()];
        let mut used = Vec::with_capacity(self.bases.len());
        let mut names = TextList::default();
        for location in &mut self.locations {
            if !location.kind.has_base() {
                continue;
            }
            if let Some(number) = bases.get_mut(location.base as usize) {
                if *number == u32::MAX {
                    *number = u32::try_from(used.len()).unwrap_or(u32::MAX);
                    used.extend(self.bases.get(location.base as usize));
                }
                location.base = *number;
            }
            if let MemberName::Separate(name) = location.name {
                names.push(self.names.get(name as usize));
                location.name =
                    MemberName::Separate(u32::try_from(names.len() - 1).unwrap_or(u32::MAX));
            }
        }
        self.bases = used;
        self.names = names;
        self.paths.shrink_to_fit();
        self.names.shrink_to_fit();
        self.locations.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_paths_are_rejected() {
        let entry = |path: &str| TreeEntry {
            path: path.to_owned(),
            content: None,
        };
        assert!(
            matches!(Tree::new(vec![entry("b"), entry("a"), entry("b")]), Err(TreeError::Duplicate(path)) if path == "b")
        );
    }

    #[test]
    fn files_are_found_by_path_and_by_prefix() -> Result<(), TreeError> {
        let entry = |path: &str| TreeEntry {
            path: path.to_owned(),
            content: Some(ContentRef::Object {
                digest: Digest::of_bytes(path.as_bytes()),
                bytes: path.len() as u64,
            }),
        };
        let tree = Tree::new(["b/x", "a", "b", "b/y", "c", "b!"].map(entry).into())?;
        let paths: Vec<&str> = tree.files().map(|file| file.path()).collect();
        assert_eq!(paths, ["a", "b", "b!", "b/x", "b/y", "c"]);
        let below: Vec<&str> = tree.with_prefix("b/").map(|file| file.path()).collect();
        assert_eq!(below, ["b/x", "b/y"]);
        assert_eq!(tree.get("b/y"), entry("b/y").content);
        assert_eq!(tree.get("b/"), None);
        assert_eq!(tree.size(), (6, 1 + 1 + 2 + 3 + 3 + 1));
        Ok(())
    }
}
