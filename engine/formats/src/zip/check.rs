//! Checks all members of an archive for contradictory sizes, duplicates, paths inside files, and overlaps.

use std::io::{self, Read};

use super::error::ZipError;
use super::member::{LOCAL_HEADER_BYTES, ZipDirectory, ZipEntry, ZipMember, ZipMethod};
use crate::read_at::ReadAt;

/// Maximum compression ratio of deflate, which encodes 258 bytes in at least 2 bits.
const MAX_DEFLATE_RATIO: u64 = 1032;

/// Rejects a member whose sizes contradict each other.
pub(super) fn sizes(entry: &ZipMember<'_>) -> Result<(), ZipError> {
    let (member, offset) = (|| entry.path.to_owned(), entry.header_offset);
    let (size, actual) = (entry.size, entry.compressed_size);
    let is_directory = entry.is_directory;
    match entry.method {
        ZipMethod::Stored if size > actual => Err(ZipError::TooShort {
            member: member(),
            offset,
            size,
            actual,
        }),
        ZipMethod::Deflate if size > actual.saturating_mul(MAX_DEFLATE_RATIO) => {
            Err(ZipError::Ratio {
                member: member(),
                offset,
                size,
                compressed_size: actual,
                limit: MAX_DEFLATE_RATIO,
            })
        }
        ZipMethod::Stored if size < actual => Err(ZipError::TooLong {
            member: member(),
            offset,
            size,
        }),
        _ if is_directory && size > 0 => Err(ZipError::TooLong {
            member: member(),
            offset,
            size: 0,
        }),
        _ => Ok(()),
    }
}

/// Removes repeated members with equal contents. Rejects repeated members with different contents, and members inside a
/// path that is a file.
pub(super) fn duplicates<R: ReadAt + ?Sized>(
    base: &R,
    entries: &mut ZipDirectory,
) -> Result<(), ZipError> {
    let order = by_path(entries);
    let mut repeated = Vec::new();
    // Reports the first error in the order of the central directory.
    let mut differing: Option<(usize, ZipError)> = None;
    let mut first: Option<ZipMember<'_>> = None;
    for &index in &order {
        let Some(entry) = entries.get(index as usize) else {
            continue;
        };
        let Some(earlier) = first.filter(|first| first.path == entry.path) else {
            first = Some(entry);
            continue;
        };
        repeated.push(index as usize);
        let is_first = differing
            .as_ref()
            .is_none_or(|(other, _)| (index as usize) < *other);
        if is_first && !is_same(base, &earlier, &entry)? {
            let error = ZipError::DifferingDuplicate {
                member: entry.path.to_owned(),
                first: earlier.header_offset,
                offset: entry.header_offset,
            };
            differing = Some((index as usize, error));
        }
    }
    if let Some((_, error)) = differing {
        return Err(error);
    }
    check_files_as_directories(entries, &order)?;
    drop(order);
    repeated.sort_unstable();
    entries.remove(&repeated);
    Ok(())
}

/// Whether two members with the same path have equal contents. If the CRCs differ, the contents are not compared. Equal
/// CRCs prove nothing, because they can be forged.
fn is_same<R: ReadAt + ?Sized>(
    base: &R,
    one: &ZipMember<'_>,
    other: &ZipMember<'_>,
) -> Result<bool, ZipError> {
    if (one.is_directory, one.size, one.crc32) != (other.is_directory, other.size, other.crc32) {
        return Ok(false);
    }
    let location = |member: &ZipMember<'_>| {
        let (offset, bytes) = (member.header_offset, member.compressed_size);
        (offset, bytes, member.method)
    };
    if one.is_directory || location(one) == location(other) {
        return Ok(true);
    }
    let (one, other) = (one.to_entry(), other.to_entry());
    let (mut reader, mut other_reader) = (one.open(base)?, other.open(base)?);
    let (mut part, mut other_part) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut left = one.size;
    while left > 0 {
        let count = usize::try_from(left).map_or(part.len(), |left| left.min(part.len()));
        let (Some(part), Some(other_part)) = (part.get_mut(..count), other_part.get_mut(..count))
        else {
            break;
        };
        let read = reader.read_exact(part);
        read.map_err(|error| unreadable(&one, error))?;
        let read = other_reader.read_exact(other_part);
        read.map_err(|error| unreadable(&other, error))?;
        if part != other_part {
            return Ok(false);
        }
        left -= count as u64;
    }
    Ok(true)
}

fn unreadable(entry: &ZipEntry, error: io::Error) -> ZipError {
    error.downcast().unwrap_or_else(|source| ZipError::Io {
        offset: entry.header_offset,
        source,
    })
}

/// The indices of the members, sorted by path. Equal paths are in the order of the central directory.
fn by_path(entries: &ZipDirectory) -> Vec<u32> {
    let count = u32::try_from(entries.len()).unwrap_or(u32::MAX);
    let mut order: Vec<u32> = (0..count).collect();
    let path = |index: &u32| entries.get(*index as usize).map(|entry| entry.path);
    // The sort is stable, because stable sorts are fast for nearly sorted input, and archives are nearly sorted.
    order.sort_by(|a, b| path(a).cmp(&path(b)));
    order
}

/// Rejects a member inside a path that is a file, in one pass over the sorted paths.
///
/// The paths inside `x` begin with `x/` and follow `x`. Paths such as `x-1` may be between them, because `-` sorts
/// before `/`. So `open` contains the files that are prefixes of the current path. Each of them is a prefix of the
/// next, so there are at most as many as the path has bytes.
fn check_files_as_directories(entries: &ZipDirectory, order: &[u32]) -> Result<(), ZipError> {
    let mut open: Vec<&str> = Vec::new();
    let mut first: Option<(u32, &str)> = None;
    for &index in order {
        let Some(entry) = entries.get(index as usize) else {
            continue;
        };
        while open.pop_if(|file| !entry.path.starts_with(*file)).is_some() {}
        let is_inside = |file: &&&str| entry.path.as_bytes().get(file.len()) == Some(&b'/');
        // Reports the first error in the order of the central directory.
        if let Some(file) = open.iter().rev().find(is_inside)
            && first.is_none_or(|(other, _)| index < other)
        {
            first = Some((index, file));
        }
        // Repeated members would make the stack as long as the archive has members.
        if !entry.is_directory && open.last() != Some(&entry.path) {
            open.push(entry.path);
        }
    }
    match first.and_then(|(index, file)| Some((entries.get(index as usize)?, file))) {
        None => Ok(()),
        Some((entry, file)) => Err(ZipError::FileAsDirectory {
            member: entry.path.to_owned(),
            offset: entry.header_offset,
            file: file.to_owned(),
        }),
    }
}

/// Sets the limit of each member, and rejects members that exceed it.
///
/// The length of a local header is unknown before the header is read. This function checks the fixed part of the header
/// and the data; opening a member checks the rest.
pub(super) fn overlaps(entries: &mut ZipDirectory, directory: u64) -> Result<(), ZipError> {
    let count = u32::try_from(entries.len()).unwrap_or(u32::MAX);
    let mut order: Vec<u32> = (0..count).collect();
    let offset = |index: &u32| {
        let entry = entries.get(*index as usize);
        entry.map_or(0, |entry| entry.header_offset)
    };
    order.sort_by_key(|index| (offset(index), *index));
    let mut next = directory;
    for index in order.into_iter().rev() {
        let Some(entry) = entries.get(index as usize) else {
            continue;
        };
        let offset = entry.header_offset;
        let end = offset
            .saturating_add(LOCAL_HEADER_BYTES as u64)
            .saturating_add(entry.compressed_size);
        if end > next {
            return Err(ZipError::Overlap {
                member: entry.path.to_owned(),
                offset,
                next,
            });
        }
        entries.set_limit(index as usize, next);
        next = offset;
    }
    Ok(())
}
