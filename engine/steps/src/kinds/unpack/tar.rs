//! Lists a tar archive, plain or gzipped. Its members are ranges of it.

use std::io::Read;

use prep_core::Context;
use prep_formats::archive::MemberKind;
use prep_formats::gzip::{GzipIndexer, GzipStream, is_gzip};
use prep_formats::limits::ArchiveBudget;
use prep_formats::read_at::ByteSection;
use prep_formats::tar::{self, TarError};

use super::BoxError;
use super::bundled::BundledArchive;
use super::extract::extract_members;
use super::member_list::MemberList;
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
        Ok(tar::read(reader, &budget, visit)?)
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
    let mut members = TarMembers {
        listed: MemberList::new(prefix),
        budget: limits(context).budget(content.bytes()),
        begin: 0,
        are_contiguous: true,
    };
    let writer = LayersWriter::new(&context.store)?;
    let layers = match (bundled.indexer(&writer)?, is_gzip(&head)) {
        (None, false) => {
            members.begin = bundled.range.start;
            members.read(&mut bundled.reader()?)?;
            Some(Vec::new())
        }
        (None, true) => {
            let input = ByteSection::new(&bundled, bundled.range.clone());
            let gzipped = members.read_gzipped(input, &writer)?;
            gzipped.map(|(_, mut layer)| {
                layer.offset += bundled.range.start;
                vec![layer]
            })
        }
        (Some(mut outer), false) => {
            members.read(&mut outer)?;
            outer.finish()?.map(|index| vec![bundled.layer(index)])
        }
        (Some(outer), true) => match members.read_gzipped(outer, &writer)? {
            Some((outer, layer)) => {
                let index = outer.finish()?;
                index.map(|index| vec![bundled.layer(index), layer])
            }
            None => None,
        },
    };
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
    fn read(&mut self, input: &mut dyn Read) -> Result<(), TarError> {
        tar::list(input, &self.budget, |path, kind, offset| {
            let range = match kind {
                MemberKind::File { size } => {
                    self.are_contiguous &= offset.is_some();
                    offset.map(|offset| (self.begin + offset, size))
                }
                MemberKind::Directory => None,
            };
            self.listed.add(path, range, None);
            Ok(())
        })
    }

    /// Reads a gzipped archive. Returns its layer, and the input at its end. `None` if decompression can only start at
    /// the beginning.
    fn read_gzipped<R: Read>(
        &mut self,
        input: R,
        windows: &LayersWriter,
    ) -> Result<Option<(R, Layer)>, TarError> {
        let mut input = GzipIndexer::new(input, windows).map_err(TarError::Damaged)?;
        self.read(&mut input)?;
        let (gzipped, input) = input.finish().map_err(TarError::Damaged)?;
        let Some(GzipStream {
            offset,
            bytes,
            index,
        }) = gzipped
        else {
            return Ok(None);
        };
        let compression = LayerCompression::Deflate(index);
        let layer = Layer {
            offset,
            bytes,
            compression,
        };
        Ok(Some((input, layer)))
    }
}
