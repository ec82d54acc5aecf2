//! Lists a zip archive. Its members are references into the file that contains it.

use std::ops::Range;

use prep_cache::Digest;
use prep_core::Context;
use prep_formats::read_at::ReadAt;
use prep_formats::zip::{ZipDirectory, ZipError, ZipMethod};

use super::bundled::BundledArchive;
use super::extract::extract;
use super::{BoxError, CancellableFile};
use crate::limits::limits;
use crate::value::layers::{Layers, LayersWriter};
use crate::value::{ContentRef, Opener, TreeBuilder};

/// Lists the members of a zip archive.
pub(super) fn list(
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

/// Lists the members of a zip archive that is not deflated.
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

/// Stores the positions where decompression of a deflated archive can start. `None` if this is impossible.
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

/// Reads the central directory of a zip archive inside a file.
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

/// Returns the members as references into their archive.
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
