//! Recognizes truncated archives whose last end record belongs to an inner archive.

use std::io;

use super::member::{LOCAL_HEADER_BYTES, u16_at, u32_at};
use crate::read_at::{ByteSection, ReadAt};

/// Signature of a local header.
pub(super) const LOCAL_RECORD: &[u8] = b"PK\x03\x04";

/// Length in bytes of the end of central directory record without its comment.
const END_RECORD_BYTES: usize = 22;

/// Returns whether the directory is not at the offset that the end record declares. In this case, the directory belongs to
/// an archive that begins later in the section.
///
/// `directory` is the actual offset of the directory, and `end_record` the offset of the end record.
pub(super) fn is_moved<R: ReadAt + ?Sized>(
    section: &ByteSection<&R>,
    end_record: u64,
    directory: u64,
) -> io::Result<bool> {
    let mut record = [0; END_RECORD_BYTES];
    match ReadAt::read_exact_at(section, &mut record, end_record) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        Err(error) => return Err(error),
    }
    let declared = u32_at(&record, 16);
    // A zip64 directory is found by its declared offset, so it cannot have moved.
    Ok(declared != u32::MAX && directory != u64::from(declared))
}

/// Returns whether the section begins with the local header of a member.
pub(super) fn begins_with_member<R: ReadAt + ?Sized>(
    section: &ByteSection<&R>,
) -> io::Result<bool> {
    Ok(local_record(section, 0)?.is_some())
}

/// Returns whether the byte at `place` belongs to the data of a member. Follows the local headers from the beginning.
///
/// Returns `false` if a header before `place` does not contain the length of the member's data.
pub(super) fn is_inside_member<R: ReadAt + ?Sized>(
    section: &ByteSection<&R>,
    place: u64,
) -> io::Result<bool> {
    let mut at = 0;
    while at < place
        && let Some(record) = local_record(section, at)?
    {
        let variable = u64::from(u16_at(&record, 26)) + u64::from(u16_at(&record, 28));
        let data = at + LOCAL_HEADER_BYTES as u64 + variable;
        let length = u32_at(&record, 18);
        let has_descriptor = u16_at(&record, 6) & 8 != 0;
        if length == u32::MAX || has_descriptor && length == 0 {
            return Ok(false);
        }
        at = data + u64::from(length);
        if (data..at).contains(&place) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the local header at the offset `at`, without its name and extra fields. Returns `None` if there is none.
fn local_record<R: ReadAt + ?Sized>(
    section: &ByteSection<&R>,
    at: u64,
) -> io::Result<Option<[u8; LOCAL_HEADER_BYTES]>> {
    let mut record = [0; LOCAL_HEADER_BYTES];
    match ReadAt::read_exact_at(section, &mut record, at) {
        Ok(()) => Ok(record.starts_with(LOCAL_RECORD).then_some(record)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}
