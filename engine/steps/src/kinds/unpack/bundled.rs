//! An archive inside a bundle that can be read in place, without being copied.

use std::io::{self, Read};
use std::ops::Range;

use prep_cache::Digest;
use prep_core::Context;
use prep_formats::inflated::{InflateIndex, WindowStore};
use prep_formats::read_at::{ByteSection, ReadAt};
use prep_formats::zip::{MemberIndexer, ZipEntry, ZipError};

use super::BoxError;
use crate::value::layers::{Layer, LayerCompression};
use crate::value::{BaseFile, ContentRef, Opener};

/// The location of an archive in a bundle.
pub(super) struct BundledArchive<'a> {
    context: &'a Context,
    pub bundle: Digest,
    file: BaseFile,
    /// The archive's bytes in the bundle.
    pub range: Range<u64>,
    /// The archive's zip member, if it is one.
    entry: Option<&'a ZipEntry>,
}

impl<'a> BundledArchive<'a> {
    /// Finds the archive with this content. `None` if the content is not in a bundle.
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

    /// Reads the archive from its beginning.
    pub fn reader(&self) -> Result<Box<dyn Read + '_>, ZipError> {
        Ok(match self.entry {
            Some(entry) => Box::new(entry.open(self)?),
            None => Box::new(ByteSection::new(self, self.range.clone())),
        })
    }

    /// Reads the archive and builds an index of it, if it is deflated in the bundle.
    pub fn indexer<'w>(
        &'w self,
        windows: &'w dyn WindowStore,
    ) -> Result<Option<MemberIndexer<'w, &'w Self>>, ZipError> {
        let indexer = self.entry.map(|entry| entry.indexer(self, windows));
        Ok(indexer.transpose()?.flatten())
    }

    /// Returns the layer of a deflated archive.
    pub fn layer(&self, index: InflateIndex) -> Layer {
        Layer {
            offset: self.range.start,
            bytes: self.range.end - self.range.start,
            compression: LayerCompression::Deflate(index),
        }
    }
}

/// Reads from the bundle, counts the bytes as progress, and checks for cancellation.
impl ReadAt for BundledArchive<'_> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.context.check().map_err(io::Error::other)?;
        let count = self.file.read_at(buf, offset)?;
        self.context.progress.add_bytes(count as u64);
        Ok(count)
    }
}
