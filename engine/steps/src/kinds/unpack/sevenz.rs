//! Lists a 7z archive. Its members are ranges of its decoded streams.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use prep_core::Context;
use prep_formats::inflated::{DeflateSpans, WindowStore};
use prep_formats::read_at::{ByteSection, ReadAt};
use prep_formats::sevenz::SevenZReader;
use prep_formats::spans::SpanReader;
use prep_formats::zip::ZipMethod;

use super::BoxError;
use super::bundled::BundledArchive;
use super::extract::{MemberList, extract, extract_members};
use crate::limits::limits;
use crate::value::layers::{Layer, LayerCompression, Layers, LayersWriter};
use crate::value::{ContentRef, Opener, TreeBuilder};

/// Lists the members of a 7z archive.
pub(super) fn list(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    prefix: &str,
) -> Result<TreeBuilder, BoxError> {
    if let Some(files) = list_bundled(context, opener, content, prefix)? {
        return Ok(files);
    }
    // The directory of a 7z archive is at its end, so reading needs a file that can seek.
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

/// Lists the members of an archive in the bundle without decoding it. `None` if they cannot be read there.
fn list_bundled(
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

/// Windows in an unlinked temporary file. They are needed before the object that stores them is complete.
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

    /// Writes all windows to the object, at the same positions.
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
