//! Copies archives into the cache if their members cannot be read in place.

use std::io::{self, Write};

use prep_core::{Context, StepError};
use prep_formats::archive::MemberKind;

use super::BoxError;
use super::member_list::MemberList;
use crate::value::{ContentRef, Opener, TreeBuilder};

/// Stores a content as an object.
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

/// Copies with progress and checks for cancellation.
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

/// Called for each member of an archive.
type MemberVisitor<'v> = &'v mut dyn FnMut(&str, MemberKind, &mut dyn io::Read) -> io::Result<()>;

/// Stores the members of a sequential archive, one after another, as a single object.
pub(super) fn extract_members(
    context: &Context,
    prefix: &str,
    read: impl FnOnce(MemberVisitor<'_>) -> Result<(), BoxError>,
) -> Result<TreeBuilder, BoxError> {
    let mut writer = context.store.writer().map_err(StepError::from)?;
    let mut listed = MemberList::new(prefix);
    let mut end = 0;
    read(&mut |path, kind, reader| {
        let range = match kind {
            MemberKind::File { .. } => {
                let bytes = copy(context, reader, &mut writer).map_err(io::Error::other)?;
                end += bytes;
                Some((end - bytes, bytes))
            }
            MemberKind::Directory => None,
        };
        listed.add(path, range, None);
        Ok(())
    })?;
    let stored = writer.commit().map_err(StepError::from)?;
    Ok(listed.files(stored.digest, false))
}
