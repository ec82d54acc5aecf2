//! Lists of members, and copies of archives in the cache if their members cannot be read in place.

use std::io::{self, Write};

use prep_cache::Digest;
use prep_core::{Context, StepError};
use prep_formats::archive::VisitMember;

use super::BoxError;
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

/// Stores the members of a sequential archive, one after another, as a single object.
pub(super) fn extract_members(
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

/// Collects members before the digest of the file that contains them is known.
pub(super) struct MemberList {
    prefix: String,
    members: Vec<ListedMember>,
}

struct ListedMember {
    path: String,
    /// Offset and length of its bytes. `None` for a directory.
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

    /// Returns the members as ranges of `base`.
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
