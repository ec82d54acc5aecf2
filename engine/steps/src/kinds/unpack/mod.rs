//! `unpack`: the members of an archive, as a tree.
//!
//! - Members of a zip archive or an uncompressed tar archive become references into the file that contains the archive.
//! - For a 7z archive, only the list of members and the parameters for decoding are read.
//! - A deflated archive, such as a gzipped tar, is read once to record where decompression can start (see
//!   [`layered`](crate::value::layered)).
//! - An archive that cannot be read in place, for example with another compression method, is copied into one object.
//!
//! Paths begin with the archive: `train.zip/train/1.jpg`. A gzipped file is an archive with one file: `x.csv.gz/x.csv`.
//!
//! Instead of an archive `x.zip`, a bundle may contain its files in a directory `x`. The tree is the same in both cases.
//!
//! If a path has wildcards (`shards/*.zip`), the tree contains the members of all matching archives.

mod archives;

use std::io;
use std::io::{BufReader, Read, Write};
use std::ops::Range;

use prep_cache::Digest;
use prep_core::{BoxError, Cancel, Context, FileValue, Location, StepError};
use prep_formats::archive::{ArchiveFormat, VisitMember, read_gzip};
use prep_formats::inflated::{InflateIndex, WindowStore};
use prep_formats::read_at::{ByteSection, ReadAt};
use prep_formats::zip::{MemberIndexer, ZipEntry, ZipError};
use prep_spec::{FilePattern, path_glob, split_source};

use super::function_step::FunctionStep;
use crate::limits::{limits, undecodable_file};
use crate::value::layered::{Layer, LayerCompression};
use crate::value::{BaseFile, ContentRef, Opener, Tree, TreeBuilder, input, missing_file};
use archives::{list_sevenz, list_tar, list_zip};

/// Returns whether the name of a file is that of a zip, tar or 7z archive.
pub(crate) fn is_archive(segment: &str) -> bool {
    ArchiveFormat::split_path(segment).is_some()
}

/// Removes the suffix of a gzipped file. Returns `None` for other files and for tar archives.
pub(crate) fn gzipped_file(path: &str) -> Option<&str> {
    path.strip_suffix(".gz").filter(|_| !is_archive(path))
}

/// Returns whether a path can continue inside a file with this name, because it is an archive or a gzipped file.
pub(crate) fn is_container(segment: &str) -> bool {
    is_archive(segment) || gzipped_file(segment).is_some()
}

/// Removes the suffix of an archive, such as `.tar.gz`. Returns other paths unchanged.
pub(crate) fn without_suffix(path: &str) -> &str {
    ArchiveFormat::split_path(path).map_or(path, |(_, stem)| stem)
}

/// Creates the step that unpacks an archive, or the bundle if `path` is `None`.
pub(crate) fn unpack(path: Option<String>) -> FunctionStep {
    let params = serde_json::json!({ "path": path });
    FunctionStep::new("unpack", 5, params, move |context, inputs| {
        let path = path.as_deref();
        let opener = Opener::new(context);
        let archive = input(inputs, "archive")?;
        let name = match path {
            Some(path) => path.to_owned(),
            None => match context
                .outside
                .location(&FileValue::from_value(archive)?.digest)
            {
                Some(Location::Path(path)) => path.display().to_string(),
                _ => "the bundle".to_owned(),
            },
        };
        let failed = |cause| undecodable_file(&name, cause);
        let files = match path {
            None => {
                let content = FileValue::from_value(archive)?.into();
                list_zip(context, &opener, &content, "").map_err(failed)?
            }
            Some(path) => {
                let tree = Tree::load(context, archive)?;
                match tree.get(path) {
                    Some(content) => members(context, &opener, &content, path)?,
                    // The bundle may contain the unpacked files instead, or the path may have wildcards.
                    None => match unpacked_directory(&tree, path) {
                        Some(files) => files,
                        None => matching_archives(context, &opener, &tree, path)?
                            .ok_or_else(|| missing_file(&tree, path, "archive"))?,
                    },
                }
            }
        };
        let tree = files.finish(&context.cancel);
        tree.map_err(|cause| failed(cause.into()))?.save(context)
    })
}

/// Returns the members of an archive. Their paths begin with that of the archive.
pub(crate) fn members(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    path: &str,
) -> Result<TreeBuilder, StepError> {
    if gzipped_file(path).is_some() {
        let file = list_gzip(context, opener, content, path);
        return file.map_err(|cause| undecodable_file(path, cause));
    }
    let list = match ArchiveFormat::split_path(path) {
        Some((ArchiveFormat::Zip, _)) => list_zip,
        Some((ArchiveFormat::Tar, _)) => list_tar,
        Some((ArchiveFormat::SevenZ, _)) => list_sevenz,
        _ => return Err(StepError::internal(format!("`{path}` is not an archive"))),
    };
    let listed = list(context, opener, content, &format!("{path}/"));
    listed.map_err(|cause| undecodable_file(path, cause))
}

/// A file whose reads fail after a cancellation. With an ordinary file, a parser may read millions of members before
/// the cancellation takes effect.
pub(crate) struct CancellableFile<'a, R> {
    pub cancel: &'a Cancel,
    pub file: &'a R,
}

impl<R: ReadAt> ReadAt for CancellableFile<'_, R> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.cancel.check()?;
        self.file.read_at(buf, offset)
    }
}

/// Extracts the file in a gzipped file. Its path is `x.csv.gz/x.csv`, for example.
fn list_gzip(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    path: &str,
) -> Result<TreeBuilder, BoxError> {
    let opened = opener.open(content)?;
    let input = BufReader::new(opened.reader()?);
    let budget = limits(context).budget(content.bytes());
    let name = split_source(path).1;
    extract_members(context, &format!("{path}/"), |visit| {
        Ok(read_gzip(name, input, &budget, None, visit)?)
    })
}

/// Returns the members of all archives that match a path with wildcards, such as `shards/*.zip`. If no archive matches,
/// returns the files of all directories that match the path without its suffix, such as `shards/*`. Returns `None` if no
/// directory matches, either.
fn matching_archives(
    context: &Context,
    opener: &Opener,
    tree: &Tree,
    path: &str,
) -> Result<Option<TreeBuilder>, StepError> {
    let matcher = |pattern: &str| {
        let parsed = FilePattern::parse(pattern).ok();
        let glob = parsed.and_then(|parsed| path_glob(&parsed.glob).ok());
        glob.map(|glob| glob.compile_matcher())
    };
    let stem = without_suffix(path);
    let (Some(archives), Some(directories)) = (matcher(path), matcher(stem)) else {
        return Ok(None);
    };
    let mut found = TreeBuilder::default();
    let files = || tree.files().filter(|file| !file.is_directory());
    for file in files().filter(|file| archives.is_match(split_source(file.path()).1)) {
        context.check()?;
        let Some(content) = file.content() else {
            continue;
        };
        let members = members(context, opener, &content, file.path())?;
        let members = members.finish(&context.cancel);
        let members = members.map_err(|cause| undecodable_file(file.path(), cause))?;
        for member in members.files() {
            found.push_file(member.path(), member);
        }
    }
    let suffix = path.get(stem.len()..).unwrap_or_default();
    if found.is_empty() && !suffix.is_empty() {
        for file in files() {
            let path = file.path();
            let mut slashes = path.match_indices('/').map(|(slash, _)| slash);
            let end = slashes.find(|end| directories.is_match(split_source(&path[..*end]).1));
            if let Some((directory, rest)) = end.map(|end| path.split_at(end)) {
                found.push_file(&format!("{directory}{suffix}{rest}"), file);
            }
        }
    }
    Ok((!found.is_empty()).then_some(found))
}

/// Returns the files of an unpacked archive: the directory `x` for `x.zip`, or the file `x.csv` for `x.csv.zip` or
/// `x.csv.gz`. Their paths begin with that of the archive. `None` if the tree has no such files.
fn unpacked_directory(tree: &Tree, path: &str) -> Option<TreeBuilder> {
    let mut inside = TreeBuilder::default();
    let plain = gzipped_file(path).unwrap_or_else(|| without_suffix(path));
    let plain = tree.find(plain).filter(|_| plain != path);
    if let Some(file) = plain.filter(|file| !file.is_directory()) {
        let name = file.path().rsplit('/').next().unwrap_or_default();
        inside.push_file(&format!("{path}/{}", split_source(name).1), file);
        return Some(inside);
    }
    let directory = format!("{}/", without_suffix(path));
    for file in tree.with_prefix(&directory) {
        let rest = file.path().get(directory.len()..).unwrap_or_default();
        inside.push_file(&format!("{path}/{rest}"), file);
    }
    (!inside.is_empty()).then_some(inside)
}

/// An archive whose bytes are in the bundle, so that its members can be read without copying it.
struct BundledArchive<'a> {
    context: &'a Context,
    /// Digest of the bundle.
    pub bundle: Digest,
    file: BaseFile,
    /// The archive's bytes in the bundle.
    pub range: Range<u64>,
    /// The archive's entry, if it is a zip member of the bundle.
    entry: Option<&'a ZipEntry>,
}

impl<'a> BundledArchive<'a> {
    /// Finds the archive. `None` if the content is not in a bundle.
    pub fn find(
        context: &'a Context,
        opener: &Opener,
        content: &'a ContentRef,
    ) -> Result<Option<BundledArchive<'a>>, BoxError> {
        if context.outside.location(content.base()).is_none() {
            return Ok(None);
        }
        let file = opener.base(content)?;
        let (range, entry) = match content {
            ContentRef::Member { entry, .. } => (entry.locate(&file)?, Some(entry)),
            content => (content.range(), None),
        };
        context.progress.set_total_bytes(range.end - range.start);
        let bundle = *content.base();
        Ok(Some(BundledArchive {
            context,
            bundle,
            file,
            range,
            entry,
        }))
    }

    /// Returns a reader of the archive. If the archive is deflated in the bundle, the reader inflates it.
    pub fn reader(&self) -> Result<Box<dyn Read + '_>, ZipError> {
        Ok(match self.entry {
            Some(entry) => Box::new(entry.open(self)?),
            None => Box::new(ByteSection::new(self, self.range.clone())),
        })
    }

    /// Returns a reader that also records where decompression can start. `None` if the archive is not deflated.
    pub fn indexer<'w>(
        &'w self,
        windows: &'w dyn WindowStore,
    ) -> Result<Option<MemberIndexer<'w, &'w Self>>, ZipError> {
        let indexer = self.entry.map(|entry| entry.indexer(self, windows));
        Ok(indexer.transpose()?.flatten())
    }

    /// Returns the layer of a deflated archive. `index` contains the positions where decompression can start.
    pub fn layer(&self, index: InflateIndex) -> Layer {
        Layer {
            offset: self.range.start,
            bytes: self.range.end - self.range.start,
            compression: LayerCompression::Deflate(index),
        }
    }
}

/// Counts progress, and checks for cancellation.
impl ReadAt for BundledArchive<'_> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.context.check().map_err(io::Error::other)?;
        let count = self.file.read_at(buf, offset)?;
        self.context.progress.add_bytes(count as u64);
        Ok(count)
    }
}

/// Stores the decompressed bytes of a file as an object. Returns a reference to this object.
pub(crate) fn extract(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
) -> Result<ContentRef, BoxError> {
    let mut writer = context.store.writer().map_err(StepError::from)?;
    context.progress.set_total_bytes(content.bytes());
    let opened = opener.open(content)?;
    let mut reader = opened.reader()?;
    copy(context, &mut reader, &mut writer)?;
    let stored = writer.commit().map_err(StepError::from)?;
    Ok(ContentRef::Object {
        digest: stored.digest,
        bytes: stored.len,
    })
}

fn copy(
    context: &Context,
    reader: &mut dyn io::Read,
    writer: &mut impl Write,
) -> Result<u64, BoxError> {
    let mut buffer = vec![0; 1 << 18];
    let mut total = 0;
    loop {
        context.check()?;
        let count = match reader.read(&mut buffer) {
            Ok(0) => return Ok(total),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        writer.write_all(&buffer[..count])?;
        context.progress.add_bytes(count as u64);
        total += count as u64;
    }
}

/// Stores the members of an archive as one object, one after another in the order in which `read` visits them.
fn extract_members(
    context: &Context,
    prefix: &str,
    read: impl FnOnce(VisitMember<'_>) -> Result<(), BoxError>,
) -> Result<TreeBuilder, BoxError> {
    let mut writer = context.store.writer().map_err(StepError::from)?;
    let mut listed = MemberList::new(prefix);
    let mut end = 0;
    read(&mut |member, reader| {
        let bytes = copy(context, reader, &mut writer).map_err(io::Error::other)?;
        let range = (!member.is_directory).then_some((end, bytes));
        end += bytes;
        listed.add(member.path, range, None);
        Ok(())
    })?;
    let stored = writer.commit().map_err(StepError::from)?;
    Ok(listed.files(stored.digest, false))
}

/// The members of an archive. They are collected before the digest of the file that contains their bytes is known.
struct MemberList {
    prefix: String,
    members: Vec<ListedMember>,
}

struct ListedMember {
    path: String,
    /// Offset and length of the bytes. `None` for a directory.
    range: Option<(u64, u64)>,
    crc32: Option<u32>,
}

impl MemberList {
    pub fn new(prefix: &str) -> MemberList {
        MemberList {
            prefix: prefix.to_owned(),
            members: Vec::new(),
        }
    }

    pub fn add(&mut self, path: &str, range: Option<(u64, u64)>, crc32: Option<u32>) {
        self.members.push(ListedMember {
            path: format!("{}{path}", self.prefix),
            range,
            crc32,
        });
    }

    /// Returns references to the members. `base` is the digest of the file that contains the members. If `layered` is true,
    /// `base` is the digest of the object that describes how to decompress this file.
    pub fn files(self, base: Digest, layered: bool) -> TreeBuilder {
        let mut files = TreeBuilder::default();
        for ListedMember { path, range, crc32 } in self.members {
            let content = range.map(|(offset, bytes)| ContentRef::Slice {
                base,
                layered,
                offset,
                bytes,
                crc32,
            });
            files.push(&path, content.as_ref());
        }
        files
    }
}

#[cfg(test)]
mod tests {
    use prep_core::Failure;
    use prep_formats::limits::DecodingLimits;
    use prep_formats::zip::{ZipDirectory, ZipWriter};

    use super::*;

    /// After a cancellation, the parser reports a damaged archive. The failure must still be a cancellation.
    #[test]
    fn cancelling_stops_the_listing_of_archive_members() -> Result<(), Box<dyn std::error::Error>> {
        let mut file = ZipWriter::new(Vec::new());
        file.add_directory("x")?;
        let file = file.finish()?;
        let cancel = Cancel::default();
        let read = || {
            let watched = CancellableFile {
                cancel: &cancel,
                file: &file,
            };
            ZipDirectory::read(
                &watched,
                0..file.len() as u64,
                &DecodingLimits::default().budget(0),
            )
        };
        assert_eq!(read()?.len(), 1);
        cancel.cancel();
        let error = read().map(|_| ()).map_err(StepError::input);
        assert!(matches!(error, Err(error) if error.failure() == Failure::Cancelled));
        Ok(())
    }
}
