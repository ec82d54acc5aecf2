//! Archives whose members cannot be read where they lie: they are copied into the store.

use std::io::{self, Write};

use prep_core::{Context, StepError};
use prep_formats::archive::MemberKind;

use super::Cause;
use super::listed::Listed;
use crate::value::{Content, Opener, TreeBuilder};

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

/// Is called with each member of an archive.
type Visit<'v> = &'v mut dyn FnMut(&str, MemberKind, &mut dyn io::Read) -> io::Result<()>;

/// Writes the members of an archive that is read from the beginning to the end, one behind the other, as an object.
pub(super) fn join(
    context: &Context,
    prefix: &str,
    read: impl FnOnce(Visit<'_>) -> Result<(), Cause>,
) -> Result<TreeBuilder, Cause> {
    let mut writer = context.store.writer().map_err(StepError::from)?;
    let mut listed = Listed::new(prefix);
    let mut end = 0;
    read(&mut |path, kind, reader| {
        let place = match kind {
            MemberKind::File { .. } => {
                let bytes = copy(context, reader, &mut writer).map_err(io::Error::other)?;
                end += bytes;
                Some((end - bytes, bytes))
            }
            MemberKind::Directory => None,
        };
        listed.add(path, place, None);
        Ok(())
    })?;
    let stored = writer.commit().map_err(StepError::from)?;
    Ok(listed.files(stored.digest, false))
}
