//! `unpack`: the members of an archive, as a tree.
//!
//! A zip costs nothing: its members are references into the file that holds it. A zip that is deflated inside a zip is read
//! once, to note from where on it can be inflated. Only an archive that has to be read in sequence (7z, tar) is extracted
//! into the store, once, as one object of joined members.
//!
//! Paths in the tree begin with the archive's own path (`train.zip/train/1.jpg`), so that a file has one name in the whole
//! bundle. An archive `x.zip` that was already unpacked, so that the bundle holds a folder `x` instead, reads the same.

use std::io::{self, Write};
use std::ops::Range;

use prep_cache::{Access, Digest};
use prep_core::{BoxError, Cancel, Context, FileValue, Inputs, Location, Outputs, Step, StepError};
use prep_formats::archive::MemberKind;
use prep_formats::read_at::{ReadAt, Section};
use prep_formats::sevenz::{Part, Parts, SevenZError, SevenZReader};
use prep_formats::tar;
use prep_formats::zip::{Directory, Method, ZipError, ZipLimits};
use thiserror::Error;

use super::{holder, one};
use crate::in_order::{HELD, in_order};
use crate::value::indexed::{self, Deflated};
use crate::value::{BaseFile, Content, Opener, Tree, TreeBuilder, input};

/// An archive may unpack to this much, whatever its size ...
const ALWAYS_UNPACKED: u64 = 16 << 30;
/// ... and to as many times its size more. Tables of text reach 20; archives made to fill disks 1,000.
const MAX_RATIO: u64 = 100;

/// How much an archive of so many bytes may unpack to.
fn most(archive: u64) -> u64 {
    ALWAYS_UNPACKED.saturating_add(MAX_RATIO.saturating_mul(archive))
}

/// Suffixes of what is entered as an archive.
const SUFFIXES: [(&str, Kind); 5] = [
    (".zip", Kind::Zip),
    (".7z", Kind::SevenZip),
    (".tar.gz", Kind::Tar),
    (".tgz", Kind::Tar),
    (".tar", Kind::Tar),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Zip,
    SevenZip,
    Tar,
}

#[derive(Debug, Error)]
enum UnpackError {
    #[error("{} has no `{}`{}", holder(path).0, holder(path).1, .similar.as_ref().map(|name| format!("; it has `{name}`")).unwrap_or_default())]
    Missing {
        path: String,
        similar: Option<String>,
    },
    #[error("`{path}`: {cause}")]
    Archive {
        path: String,
        #[source]
        cause: BoxError,
    },
}

pub(crate) struct Unpack {
    /// Path of the archive in the bundle; none is the bundle itself.
    pub path: Option<String>,
}

/// Is this path segment entered as an archive?
pub(crate) fn is_archive(segment: &str) -> bool {
    kind(segment).is_some()
}

/// The suffix by which a path is known as an archive's.
pub(crate) fn archive_suffix(path: &str) -> Option<&'static str> {
    kind(path).map(|(suffix, _)| suffix)
}

/// An archive's path without what makes it one.
pub(crate) fn without_suffix(path: &str) -> &str {
    let suffix = archive_suffix(path).unwrap_or_default();
    path.strip_suffix(suffix).unwrap_or(path)
}

fn kind(path: &str) -> Option<(&'static str, Kind)> {
    SUFFIXES
        .into_iter()
        .find(|(suffix, _)| path.ends_with(suffix))
}

impl Step for Unpack {
    fn kind(&self) -> &'static str {
        "unpack"
    }

    fn version(&self) -> u32 {
        3
    }

    fn params(&self) -> serde_json::Value {
        serde_json::json!({ "path": self.path })
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let opener = Opener::new(context);
        let archive = input(inputs, "archive")?;
        let files = match &self.path {
            None => {
                let file = FileValue::of(archive)?;
                let content = Content::Object {
                    digest: file.digest,
                    bytes: file.bytes,
                };
                list_zip(context, &opener, &content, "").map_err(|cause| self.failed(cause))?
            }
            Some(path) => {
                let tree = Tree::load(context, archive)?;
                match tree.get(path) {
                    Some(content) => self.unpack(context, &opener, &content, path)?,
                    None => unpacked_folder(&tree, path).ok_or_else(|| {
                        StepError::input(UnpackError::Missing {
                            path: path.clone(),
                            similar: similar(&tree, path),
                        })
                    })?,
                }
            }
        };
        let tree = files
            .finish(&context.cancel)
            .map_err(|cause| self.failed(Box::new(cause)))?;
        Ok(one(tree.save(context)?))
    }
}

type Cause = BoxError;

impl Unpack {
    fn failed(&self, cause: Cause) -> StepError {
        let path = self.path.clone().unwrap_or_else(|| "the bundle".to_owned());
        StepError::input(UnpackError::Archive { path, cause })
    }

    pub(crate) fn unpack(
        &self,
        context: &Context,
        opener: &Opener,
        content: &Content,
        path: &str,
    ) -> Result<TreeBuilder, StepError> {
        let Some((_, kind)) = kind(path) else {
            return Err(StepError::internal(format!("`{path}` is not an archive")));
        };
        let prefix = format!("{path}/");
        match (kind, content) {
            (Kind::Zip, Content::Member { entry, .. }) if entry.method == Method::Deflate => {
                let listed = list_deflated(context, opener, content, &prefix);
                listed.map_err(|cause| self.failed(cause))
            }
            (Kind::Zip, content) => {
                list_zip(context, opener, content, &prefix).map_err(|cause| self.failed(cause))
            }
            (Kind::Tar, content) => {
                let joined = join_tar(context, opener, content, &prefix);
                joined.map_err(|cause| self.failed(cause))
            }
            (Kind::SevenZip, content) => {
                let joined = join_sevenz(context, opener, content, &prefix);
                joined.map_err(|cause| self.failed(cause))
            }
        }
    }
}

/// The members of a zip that lies in `content` as it is.
fn list_zip(
    context: &Context,
    opener: &Opener,
    content: &Content,
    prefix: &str,
) -> Result<TreeBuilder, Cause> {
    let file = opener.base(content)?;
    let range = match content {
        Content::Object { bytes, .. } => 0..*bytes,
        Content::Slice { offset, bytes, .. } => *offset..offset + bytes,
        Content::Member { entry, .. } => match entry.section(&file)? {
            Some(range) => range,
            None => return Err("a deflated archive cannot be read in place".into()),
        },
    };
    let members = directory(context, &file, range)?;
    let inflated = matches!(content, Content::Member { inflated: true, .. });
    Ok(references(&members, prefix, content.base(), inflated))
}

/// The directory of a zip that lies in a file.
fn directory(
    context: &Context,
    file: &impl ReadAt,
    range: Range<u64>,
) -> Result<Directory, ZipError> {
    let limits = ZipLimits {
        max_total: most(range.end - range.start),
        ..ZipLimits::default()
    };
    let watched = Watched {
        cancel: &context.cancel,
        file,
    };
    Directory::read(&watched, range, &limits)
}

/// The members as references to their archive.
fn references(members: &Directory, prefix: &str, base: &Digest, inflated: bool) -> TreeBuilder {
    let mut files = TreeBuilder::default();
    let mut path = prefix.to_owned();
    for member in members.iter() {
        path.truncate(prefix.len());
        path.push_str(member.path);
        files.push_member(&path, base, inflated, &member);
    }
    files
}

/// The members of a zip that is deflated inside another, where they lie if that is possible.
fn list_deflated(
    context: &Context,
    opener: &Opener,
    content: &Content,
    prefix: &str,
) -> Result<TreeBuilder, Cause> {
    if let Some(index) = index(context, opener, content)? {
        let members = directory(context, &opener.inflated(&index)?, 0..content.bytes())?;
        return Ok(references(&members, prefix, &index, true));
    }
    let extracted = extract(context, opener, content)?;
    list_zip(context, opener, &extracted, prefix)
}

/// Stores an index of a deflated member of the bundle. None where it could not be read by it: blocks of deflate are too long,
/// or the bundle lies on another machine, or the member in what is not a bundle.
fn index(context: &Context, opener: &Opener, content: &Content) -> Result<Option<Digest>, Cause> {
    let Content::Member { base, entry, .. } = content else {
        return Ok(None);
    };
    let (BaseFile::Here(file), Some(Location::Path(path))) =
        (opener.base(content)?, context.location(base))
    else {
        return Ok(None);
    };
    let range = entry.locate(&file)?;
    let deflated = Deflated {
        base: *base,
        offset: range.start,
        bytes: range.end - range.start,
    };
    context.progress.set_total_bytes(entry.size);
    let accesses = context.store.accesses();
    indexed::write(&context.store, &deflated, |windows| {
        entry.index(&file, windows, &mut |bytes| {
            context.check().map_err(io::Error::other)?;
            context.progress.add_bytes(bytes as u64);
            accesses.before(Access::Read, &path)
        })
    })
}

/// A file of which nothing is read any more once the run is cancelled: a directory may have millions of members.
pub(crate) struct Watched<'a, R> {
    pub cancel: &'a Cancel,
    pub file: &'a R,
}

impl<R: ReadAt> ReadAt for Watched<'_, R> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.cancel.check()?;
        self.file.read_at(buf, offset)
    }
}

/// Writes a content into the store as an object of its own.
pub(crate) fn extract(
    context: &Context,
    opener: &Opener,
    content: &Content,
) -> Result<Content, Cause> {
    let mut writer = context.store.writer().map_err(StepError::from)?;
    context.progress.set_total_bytes(content.bytes());
    let opened = opener.open(content)?;
    let mut reader = opened.reader()?;
    copy(context, &mut reader, &mut writer)?;
    let stored = writer.commit().map_err(StepError::from)?;
    Ok(Content::Object {
        digest: stored.digest,
        bytes: stored.len,
    })
}

/// Copies with progress, until the run is cancelled.
fn copy(
    context: &Context,
    reader: &mut dyn io::Read,
    writer: &mut impl Write,
) -> Result<u64, Cause> {
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

/// Where the members of a sequential archive lie in the object that joins them.
struct Joined {
    prefix: String,
    offset: u64,
    places: Vec<(String, Option<(u64, u64)>)>,
}

impl Joined {
    fn new(prefix: &str) -> Joined {
        Joined {
            prefix: prefix.to_owned(),
            offset: 0,
            places: Vec::new(),
        }
    }

    fn add(&mut self, path: &str, bytes: Option<u64>) {
        let place = bytes.map(|bytes| (self.offset, bytes));
        self.places.push((format!("{}{path}", self.prefix), place));
        self.offset += bytes.unwrap_or(0);
    }

    fn files(self, base: Digest) -> TreeBuilder {
        let mut files = TreeBuilder::default();
        for (path, place) in self.places {
            let content = place.map(|(offset, bytes)| Content::Slice {
                base,
                offset,
                bytes,
            });
            files.push(&path, content.as_ref());
        }
        files
    }
}

/// Writes the members of an archive that is read from the beginning to the end, one behind the other, as an object.
fn join(
    context: &Context,
    prefix: &str,
    read: impl FnOnce(Visit<'_>) -> Result<(), Cause>,
) -> Result<TreeBuilder, Cause> {
    let mut writer = context.store.writer().map_err(StepError::from)?;
    let mut joined = Joined::new(prefix);
    read(&mut |path, kind, reader| {
        let bytes = match kind {
            MemberKind::File { .. } => {
                Some(copy(context, reader, &mut writer).map_err(io::Error::other)?)
            }
            MemberKind::Directory => None,
        };
        joined.add(path, bytes);
        Ok(())
    })?;
    let stored = writer.commit().map_err(StepError::from)?;
    Ok(joined.files(stored.digest))
}

/// Is called with each member of an archive.
type Visit<'v> = &'v mut dyn FnMut(&str, MemberKind, &mut dyn io::Read) -> io::Result<()>;

fn join_tar(
    context: &Context,
    opener: &Opener,
    content: &Content,
    prefix: &str,
) -> Result<TreeBuilder, Cause> {
    let opened = opener.open(content)?;
    let reader = opened.reader()?;
    let most = most(content.bytes());
    join(context, prefix, |visit| Ok(tar::read(reader, most, visit)?))
}

fn join_sevenz(
    context: &Context,
    opener: &Opener,
    content: &Content,
    prefix: &str,
) -> Result<TreeBuilder, Cause> {
    // 7z keeps its directory at the end: reading needs a file to seek in.
    let extracted = match content {
        Content::Member { entry, .. } if entry.method == Method::Deflate => {
            extract(context, opener, content)?
        }
        other => other.clone(),
    };
    let file = opener.base(&extracted)?;
    let range = match &extracted {
        Content::Object { bytes, .. } => 0..*bytes,
        Content::Slice { offset, bytes, .. } => *offset..offset + bytes,
        Content::Member { entry, .. } => entry.locate(&file)?,
    };
    let most = most(range.end - range.start);
    let whole = Section::new(&file, range);
    let read = |range| {
        let section = Section::new(&whole, range);
        let announced = context.store.accesses().reader(prefix.as_ref(), section);
        context.cancel.reader(announced)
    };
    let archive = SevenZReader::open(io::BufReader::new(read(0..whole.len())), most)?;
    if let Some(parts) = archive.parts(&whole)?
        && parts.iter().len() > 1
        && let Some(_memory) = context.try_claim(parts.memory_of(HELD as u64))
    {
        let decode = |part: &Part| part.decode(read(part.packed()));
        return join_parts(context, prefix, &archive.members()?, &parts, &decode);
    }
    join(context, prefix, |visit| Ok(archive.read(visit)?))
}

/// Writes the content of an archive that can be decoded in parts, as [`join`] does. The parts are decoded side by side, and
/// written in their order.
fn join_parts(
    context: &Context,
    prefix: &str,
    members: &[(String, MemberKind)],
    parts: &Parts,
    decode: &(dyn Fn(&Part) -> Result<Vec<u8>, SevenZError> + Sync),
) -> Result<TreeBuilder, Cause> {
    let mut writer = context.store.writer().map_err(StepError::from)?;
    let mut sums = parts.sums();
    let mut write = |bytes: Result<Vec<u8>, SevenZError>| {
        context.check()?;
        let bytes = bytes.map_err(StepError::input)?;
        sums.update(&bytes).map_err(StepError::input)?;
        writer.write_all(&bytes).map_err(StepError::machine)?;
        context.progress.add_bytes(bytes.len() as u64);
        Ok(())
    };
    in_order(context, decode, |batches| {
        parts
            .iter()
            .try_for_each(|part| batches.push(part, &mut write))?;
        batches.finish(&mut write)
    })?;
    let mut joined = Joined::new(prefix);
    for (path, kind) in members {
        joined.add(
            path,
            match kind {
                MemberKind::File { size } => Some(*size),
                MemberKind::Directory => None,
            },
        );
    }
    let stored = writer.commit().map_err(StepError::from)?;
    Ok(joined.files(stored.digest))
}

/// The files of the folder that stands in an archive's place: `x/` for `x.zip`.
fn unpacked_folder(tree: &Tree, path: &str) -> Option<TreeBuilder> {
    let (suffix, _) = kind(path)?;
    let folder = format!("{}/", path.strip_suffix(suffix)?);
    let mut inside = TreeBuilder::default();
    for file in tree.below(&folder) {
        let rest = file.path().get(folder.len()..).unwrap_or_default();
        inside.push_file(&format!("{path}/{rest}"), file);
    }
    (!inside.is_empty()).then_some(inside)
}

/// A file of the tree that differs from `path` in its folder or in case only.
pub(crate) fn similar(tree: &Tree, path: &str) -> Option<String> {
    let name = path.rsplit('/').next()?;
    let mut paths = tree.files().map(|file| file.path());
    let alike = paths.find(|path| {
        let other = path.rsplit('/').next();
        other.is_some_and(|other| other.eq_ignore_ascii_case(name))
    });
    alike.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use prep_cache::Store;
    use prep_core::{Failure, Limits};
    use prep_formats::sevenz::SevenZWriter;

    use super::*;

    type Done<T> = Result<T, Box<dyn std::error::Error>>;

    /// The listing of what becomes of a 7z archive with so much memory.
    fn unpacked(archive: &[u8], memory: u64) -> Done<Digest> {
        let folder = tempfile::tempdir()?;
        let limits = Limits { jobs: 2, memory };
        let context = Context::new(Store::open(folder.path())?, limits, Cancel::default());
        let mut writer = context.store.writer()?;
        writer.write_all(archive)?;
        let stored = writer.commit()?;
        let content = Content::Object {
            digest: stored.digest,
            bytes: stored.len,
        };
        let step = Unpack {
            path: Some("a.7z".to_owned()),
        };
        let files = step.unpack(&context, &Opener::new(&context), &content, "a.7z")?;
        let tree = files.finish(&context.cancel)?;
        Ok(tree.save_listing(&context)?.0)
    }

    #[test]
    fn an_archive_in_parts_becomes_the_same_tree_with_little_memory() -> Done<()> {
        let mut archive = SevenZWriter::new(io::Cursor::new(Vec::new()), 1);
        archive.add_directory("empty")?;
        for (name, count) in [("b/1", 300_000), ("a", 0), ("b/2", 7), ("c", 700_000)] {
            archive.add_file(name, name.repeat(count).as_bytes())?;
        }
        let archive = archive.finish()?.into_inner();
        // Its parts are held only where there is memory for some of them.
        let memories = [1 << 30, 1 << 20];
        let [wide, narrow] = memories.map(|memory| unpacked(&archive, memory));
        assert_eq!(wide?, narrow?);
        for memory in memories {
            let mut damaged = archive.clone();
            if let Some(byte) = damaged.get_mut(60) {
                *byte ^= 1;
            }
            let error = unpacked(&damaged, memory).map_err(|error| error.to_string());
            assert!(error.is_err_and(|error| error.contains("`a.7z`: the 7z archive is damaged")));
        }
        Ok(())
    }

    /// What the parser of archives makes of it is still the user's wish.
    #[test]
    fn ctrl_c_ends_the_reading_of_a_directory() -> Result<(), Box<dyn std::error::Error>> {
        let mut file = prep_formats::zip::ZipWriter::new(Vec::new());
        file.add_directory("x")?;
        let file = file.finish()?;
        let cancel = Cancel::default();
        let read = || {
            let watched = Watched {
                cancel: &cancel,
                file: &file,
            };
            Directory::read(&watched, 0..file.len() as u64, &ZipLimits::default())
        };
        assert_eq!(read()?.len(), 1);
        cancel.cancel();
        let error = read().map(|_| ()).map_err(StepError::input);
        assert!(matches!(error, Err(error) if error.failure() == Failure::Cancelled));
        Ok(())
    }
}
