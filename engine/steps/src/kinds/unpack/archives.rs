//! Lists the members of zip, tar and 7z archives.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use prep_cache::Digest;
use prep_core::Context;
use prep_formats::archive::{ArchiveError, StoredForms};
use prep_formats::gzip::{GzipIndexer, is_gzip};
use prep_formats::inflated::{DeflateSpans, WindowStore};
use prep_formats::limits::ArchiveBudget;
use prep_formats::read_at::{ByteSection, ReadAt};
use prep_formats::sevenz::SevenZReader;
use prep_formats::spans::SpanReader;
use prep_formats::tar;
use prep_formats::zip::{ZipDirectory, ZipError, ZipMethod};

use super::{BoxError, BundledArchive, CancellableFile, MemberList, extract, extract_members};
use crate::limits::limits;
use crate::value::layered::{Layer, LayerCompression, Layers, LayersWriter};
use crate::value::{ContentRef, Opener, TreeBuilder};

/// Lists the members of a zip archive. Their paths get the prefix `prefix`.
pub(super) fn list_zip(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    prefix: &str,
) -> Result<TreeBuilder, BoxError> {
    let is_deflated =
        matches!(content, ContentRef::Member { entry, .. } if entry.method == ZipMethod::Deflate);
    if !is_deflated {
        return list_in_place(context, opener, content, prefix);
    }
    if let Some(layers) = layers(context, opener, content)? {
        let file = opener.layered(&layers)?;
        let members = directory(context, &file, 0..content.bytes())?;
        return Ok(references(&members, prefix, &layers, true));
    }
    let extracted = extract(context, opener, content)?;
    list_in_place(context, opener, &extracted, prefix)
}

/// Lists the members of a zip archive that is not deflated in another archive.
fn list_in_place(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    prefix: &str,
) -> Result<TreeBuilder, BoxError> {
    let file = opener.base(content)?;
    let range = match content {
        ContentRef::Member { entry, .. } => entry.locate(&file)?,
        content => content.range(),
    };
    let members = directory(context, &file, range)?;
    let is_layered = content.is_layered();
    Ok(references(&members, prefix, content.base(), is_layered))
}

/// Finds the positions where decompression of a deflated archive can start, and stores them as an object. Returns `None` if
/// decompression can start only at the beginning, or if the archive is not in a bundle.
fn layers(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
) -> Result<Option<Digest>, BoxError> {
    let Some(bundled) = BundledArchive::find(context, opener, content)? else {
        return Ok(None);
    };
    let writer = LayersWriter::new(&context.store)?;
    let Some(indexer) = bundled.indexer(&writer)? else {
        return Ok(None);
    };
    let Some(index) = indexer.finish()? else {
        return Ok(None);
    };
    let layers = Layers {
        base: bundled.bundle,
        layers: vec![bundled.layer(index)],
    };
    Ok(Some(writer.finish(&layers)?))
}

/// Reads the central directory of the zip archive in the range `range` of `file`.
fn directory(
    context: &Context,
    file: &impl ReadAt,
    range: Range<u64>,
) -> Result<ZipDirectory, ZipError> {
    let budget = limits(context).budget(range.end - range.start);
    let watched = CancellableFile {
        cancel: &context.cancel,
        file,
    };
    ZipDirectory::read(&watched, range, &budget)
}

/// Returns references to the members. `base` is the digest of the file that contains the archive. If `layered` is true,
/// `base` is the digest of the object that describes how to decompress the archive.
fn references(members: &ZipDirectory, prefix: &str, base: &Digest, layered: bool) -> TreeBuilder {
    let mut files = TreeBuilder::default();
    let mut path = prefix.to_owned();
    for member in members.iter() {
        path.truncate(prefix.len());
        path.push_str(member.path);
        files.push_member(&path, base, layered, &member);
    }
    files
}

/// Lists the members of a tar archive. If they cannot be read in place, extracts them into one object.
pub(super) fn list_tar(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    prefix: &str,
) -> Result<TreeBuilder, BoxError> {
    if let Some(files) = list_bundled_tar(context, opener, content, prefix)? {
        return Ok(files);
    }
    let opened = opener.open(content)?;
    let reader = opened.reader()?;
    let budget = limits(context).budget(content.bytes());
    extract_members(context, prefix, |visit| {
        Ok(tar::read(reader, &budget, StoredForms::Skip, visit)?)
    })
}

/// Lists the members of a tar archive in the bundle. `None` if they cannot be read in place.
fn list_bundled_tar(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    prefix: &str,
) -> Result<Option<TreeBuilder>, BoxError> {
    let Some(bundled) = BundledArchive::find(context, opener, content)? else {
        return Ok(None);
    };
    // The tar archive may be compressed twice: deflated as a member of the bundle (`outer`), and with gzip (`inner`).
    let mut head = Vec::new();
    bundled.reader()?.take(2).read_to_end(&mut head)?;
    let writer = LayersWriter::new(&context.store)?;
    let mut outer = bundled.indexer(&writer)?;
    let mut stored = bundled.reader()?;
    // Offsets count from the start of the inflated member, or from the start of the bundle if the member is not
    // deflated.
    let (begin, input): (_, &mut dyn Read) = match &mut outer {
        Some(outer) => (0, outer),
        None => (bundled.range.start, &mut stored),
    };
    let mut members = TarMembers {
        listed: MemberList::new(prefix),
        budget: limits(context).budget(content.bytes()),
        begin: 0,
        are_contiguous: true,
    };
    let inner = match is_gzip(&head) {
        true => Some(members.read_gzipped(begin, input, &writer)?),
        false => {
            members.begin = begin;
            members.read(input)?;
            None
        }
    };
    let outer =
        outer.map(|outer| Ok::<_, ZipError>(outer.finish()?.map(|index| bundled.layer(index))));
    // `None` is a layer that can be decompressed only from its beginning.
    let layers: Option<Vec<Layer>> = outer.transpose()?.into_iter().chain(inner).collect();
    let Some(layers) = layers.filter(|_| members.are_contiguous) else {
        return Ok(None);
    };
    let base = bundled.bundle;
    Ok(Some(match layers.is_empty() {
        true => members.listed.files(base, false),
        false => {
            let layers = writer.finish(&Layers { base, layers })?;
            members.listed.files(layers, true)
        }
    }))
}

/// Collects the members of a tar archive that is read in place.
struct TarMembers {
    listed: MemberList,
    budget: ArchiveBudget,
    /// Offset of the archive in the bundle, or in the decompressed data.
    begin: u64,
    /// Whether the content of each member is contiguous.
    are_contiguous: bool,
}

impl TarMembers {
    fn read(&mut self, input: &mut dyn Read) -> Result<(), ArchiveError> {
        tar::read_plain(input, &self.budget, StoredForms::Skip, &mut |member, _| {
            let range = match (member.is_directory, member.offset, member.size) {
                (false, Some(offset), Some(size)) => Some((self.begin + offset, size)),
                _ => None,
            };
            self.are_contiguous &= range.is_some() || member.is_directory;
            self.listed.add(member.path, range, None);
            Ok(())
        })
    }

    /// Reads a gzipped tar archive at offset `begin` of the bundle or of decompressed data. Returns `None` if decompression
    /// can start only at the beginning.
    fn read_gzipped(
        &mut self,
        begin: u64,
        input: &mut dyn Read,
        windows: &LayersWriter,
    ) -> Result<Option<Layer>, ArchiveError> {
        let mut input = GzipIndexer::new(input, windows).map_err(ArchiveError::DamagedTar)?;
        self.read(&mut input)?;
        let gzipped = input.finish().map_err(ArchiveError::DamagedTar)?;
        Ok(gzipped.map(|gzipped| Layer {
            offset: begin + gzipped.offset,
            bytes: gzipped.bytes,
            compression: LayerCompression::Deflate(gzipped.index),
        }))
    }
}

/// Lists the members of a 7z archive. If they cannot be read in place, extracts them into one object.
pub(super) fn list_sevenz(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    prefix: &str,
) -> Result<TreeBuilder, BoxError> {
    if let Some(files) = list_bundled_sevenz(context, opener, content, prefix)? {
        return Ok(files);
    }
    // The list of members is at the end of a 7z archive, so reading it needs a file that can seek.
    let extracted = match content {
        ContentRef::Member { entry, .. } if entry.method == ZipMethod::Deflate => {
            extract(context, opener, content)?
        }
        other => other.clone(),
    };
    let file = opener.base(&extracted)?;
    let range = match &extracted {
        ContentRef::Member { entry, .. } => entry.locate(&file)?,
        content => content.range(),
    };
    let budget = limits(context).budget(range.end - range.start);
    let archive = context.cancel.reader(ByteSection::new(&file, range));
    let archive = SevenZReader::open(io::BufReader::new(archive), &budget)?;
    extract_members(context, prefix, |visit| Ok(archive.read(visit)?))
}

/// Lists the members of a 7z archive in the bundle without decoding the members. `None` if members cannot be read in place.
fn list_bundled_sevenz(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    prefix: &str,
) -> Result<Option<TreeBuilder>, BoxError> {
    let Some(bundled) = BundledArchive::find(context, opener, content)? else {
        return Ok(None);
    };
    let windows = WindowsFile::new(context)?;
    let mut layers = Vec::new();
    let mut offset = bundled.range.start;
    if let Some(indexer) = bundled.indexer(&windows)? {
        let Some(index) = indexer.finish()? else {
            return Ok(None);
        };
        layers.push(bundled.layer(index));
        offset = 0;
    }
    let packed = ByteSection::new(&bundled, bundled.range.clone());
    let whole: Box<dyn ReadAt + '_> = match layers.first().map(|layer| &layer.compression) {
        Some(LayerCompression::Deflate(index)) => {
            let deflated = DeflateSpans::new(packed, &windows.file, index.clone());
            Box::new(SpanReader::new(deflated, 1))
        }
        _ => Box::new(packed),
    };
    let bytes = content.bytes();
    let whole = ByteSection::new(&*whole, 0..bytes);
    let budget = limits(context).budget(bytes);
    let archive = SevenZReader::open(io::BufReader::new(whole.clone()), &budget)?;
    let Some(parts) = archive.parts(&whole)? else {
        return Ok(None);
    };
    layers.push(Layer {
        offset,
        bytes,
        compression: LayerCompression::SevenZip(parts),
    });
    let mut listed = MemberList::new(prefix);
    archive.list(&mut |member| {
        let range = member.offset.zip(member.size);
        let range = range.filter(|_| !member.is_directory);
        listed.add(member.path, range, member.crc32);
    })?;
    let base = bundled.bundle;
    let writer = LayersWriter::new(&context.store)?;
    windows.copy(&writer)?;
    let layers = writer.finish(&Layers { base, layers })?;
    Ok(Some(listed.files(layers, true)))
}

/// An unlinked file with windows. A window consists of the bytes before a position where decompression can start. The list
/// of members is read with these windows. Afterwards, the windows are copied to an object.
struct WindowsFile {
    file: File,
    bytes: Cell<u64>,
}

impl WindowsFile {
    fn new(context: &Context) -> io::Result<WindowsFile> {
        Ok(WindowsFile {
            file: context.temp_file()?,
            bytes: Cell::new(0),
        })
    }

    /// Copies all windows to the object `to`, at the same positions.
    fn copy(&self, to: &LayersWriter) -> io::Result<()> {
        let mut buffer = vec![0; 1 << 18];
        let mut copied = 0;
        loop {
            let count = ReadAt::read_at(&self.file, &mut buffer, copied)?;
            if count == 0 {
                return Ok(());
            }
            to.keep(buffer.get(..count).unwrap_or_default())?;
            copied += count as u64;
        }
    }
}

impl WindowStore for WindowsFile {
    fn keep(&self, window: &[u8]) -> io::Result<u64> {
        let offset = self.bytes.get();
        self.file.write_all_at(window, offset)?;
        self.bytes.set(offset + window.len() as u64);
        Ok(offset)
    }
}
