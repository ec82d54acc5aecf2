//! Lists a tar archive, plain or gzipped. Its members are ranges of it.

use std::io::Read;

use prep_core::Context;
use prep_formats::archive::{ArchiveError, StoredForms};
use prep_formats::gzip::{GzipIndexer, is_gzip};
use prep_formats::limits::ArchiveBudget;
use prep_formats::tar;
use prep_formats::zip::ZipError;

use super::BoxError;
use super::bundled::BundledArchive;
use super::extract::{MemberList, extract_members};
use crate::limits::limits;
use crate::value::layers::{Layer, LayerCompression, Layers, LayersWriter};
use crate::value::{ContentRef, Opener, TreeBuilder};

/// Lists the members of a tar archive.
pub(super) fn list(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    prefix: &str,
) -> Result<TreeBuilder, BoxError> {
    if let Some(files) = list_bundled(context, opener, content, prefix)? {
        return Ok(files);
    }
    let opened = opener.open(content)?;
    let reader = opened.reader()?;
    let budget = limits(context).budget(content.bytes());
    extract_members(context, prefix, |visit| {
        Ok(tar::read(reader, &budget, StoredForms::Skip, visit)?)
    })
}

/// Lists the members of an archive in the bundle. `None` if they cannot be read there.
fn list_bundled(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    prefix: &str,
) -> Result<Option<TreeBuilder>, BoxError> {
    let Some(bundled) = BundledArchive::find(context, opener, content)? else {
        return Ok(None);
    };
    let mut head = Vec::new();
    bundled.reader()?.take(2).read_to_end(&mut head)?;
    let writer = LayersWriter::new(&context.store)?;
    let mut outer = bundled.indexer(&writer)?;
    let mut stored = bundled.reader()?;
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

/// The members of a tar archive that is being read.
struct TarMembers {
    listed: MemberList,
    budget: ArchiveBudget,
    /// Offset of the archive.
    begin: u64,
    /// True if the content of each member is contiguous.
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

    /// Reads a gzipped archive that begins at offset `begin` of its file. Returns its layer. `None` if decompression can
    /// only start at the beginning.
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
