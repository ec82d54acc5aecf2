//! Recognizes truncated archives that contain archives. The last end record of such a file may belong to an inner archive,
//! so the list of members would be wrong.

use std::io;

use super::member::{LOCAL_HEADER_BYTES, u16_at, u32_at};
use crate::read_at::{ByteSection, ReadAt};

/// The first bytes of a member's local record.
pub(super) const LOCAL_RECORD: &[u8] = b"PK\x03\x04";

/// Length in bytes of an end record without its comment.
const END_RECORD_BYTES: usize = 22;

/// Returns whether the central directory was written for an archive that begins later in the section. In this case, its
/// actual offset `directory` differs from the offset in the end record, which begins at `end_record`.
///
/// # Errors
/// If the end record cannot be read.
pub(super) fn is_moved<R: ReadAt + ?Sized>(
    section: &ByteSection<&R>,
    end_record: u64,
    directory: u64,
) -> io::Result<bool> {
    let mut record = [0; END_RECORD_BYTES];
    match ReadAt::read_exact_at(section, &mut record, end_record) {
        Ok(()) => {}
        // A truncated record declares nothing.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        Err(error) => return Err(error),
    }
    let declared = u32_at(&record, 16);
    // With zip64, a different record declares the offset. A zip64 directory has not moved, because otherwise it would not
    // have been found.
    Ok(declared != u32::MAX && directory != u64::from(declared))
}

/// Returns whether the first bytes of the section are a member's local record.
pub(super) fn begins_with_member<R: ReadAt + ?Sized>(
    section: &ByteSection<&R>,
) -> io::Result<bool> {
    Ok(local_record(section, 0)?.is_some())
}

/// Returns whether the byte at `place` belongs to the data of a member. Follows the local records from the beginning of the
/// section. Returns `false` if a record before `place` does not contain the length of its data.
///
/// # Errors
/// If a record cannot be read.
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

/// Returns the fixed part of the local record at `at`, if there is one.
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
