//! Checks over all members of a listing.

use std::collections::HashSet;

use super::directory::{Directory, Member};
use super::entry::{EntryKind, Method};
use super::error::ZipError;
use super::list::ZipLimits;

/// Length of a local header without its name and extra fields.
const LOCAL_HEADER: u64 = 30;

/// Refuses sizes beyond the limits, and sizes that contradict each other.
pub(super) fn limits(entries: &Directory, limits: &ZipLimits) -> Result<(), ZipError> {
    let mut total = 0_u64;
    for entry in entries.iter() {
        let (member, offset) = (|| entry.path.to_owned(), entry.header_offset);
        let ceiling = match entry.method {
            Method::Stored => entry.compressed_size,
            Method::Deflate => entry.compressed_size.saturating_mul(limits.max_ratio),
        };
        if entry.method == Method::Stored && entry.size < entry.compressed_size {
            let size = entry.size;
            return Err(ZipError::TooLong {
                member: member(),
                offset,
                size,
            });
        }
        if entry.size > ceiling {
            return Err(match entry.method {
                Method::Stored => {
                    let (size, actual) = (entry.size, entry.compressed_size);
                    ZipError::TooShort {
                        member: member(),
                        offset,
                        size,
                        actual,
                    }
                }
                Method::Deflate => ZipError::Ratio {
                    member: member(),
                    offset,
                    size: entry.size,
                    compressed_size: entry.compressed_size,
                    limit: limits.max_ratio,
                },
            });
        }
        if entry.kind == EntryKind::Directory && entry.size > 0 {
            return Err(ZipError::TooLong {
                member: member(),
                offset,
                size: 0,
            });
        }
        total = total.saturating_add(entry.size);
        if total > limits.max_total {
            return Err(ZipError::TotalSize {
                member: member(),
                offset,
                limit: limits.max_total,
            });
        }
    }
    Ok(())
}

/// Drops repetitions with equal contents, refuses others, and refuses a file
/// that is a folder of another member.
pub(super) fn duplicates(entries: &mut Directory) -> Result<(), ZipError> {
    let order = by_path(entries);
    let mut repeated = Vec::new();
    // The first in the order of the directory is the one that is told.
    let mut differing: Option<(usize, ZipError)> = None;
    let mut first: Option<Member<'_>> = None;
    for &index in &order {
        let Some(entry) = entries.get(index as usize) else {
            continue;
        };
        let Some(earlier) = first.filter(|first| first.path == entry.path) else {
            first = Some(entry);
            continue;
        };
        repeated.push(index as usize);
        let same = earlier.kind == entry.kind
            && (entry.kind == EntryKind::Directory
                || (earlier.size, earlier.crc32) == (entry.size, entry.crc32));
        let is_first = differing
            .as_ref()
            .is_none_or(|(other, _)| (index as usize) < *other);
        if !same && is_first {
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
    files_as_folders(entries, &order)?;
    drop(order);
    repeated.sort_unstable();
    entries.remove(&repeated);
    Ok(())
}

/// Places of the members, sorted by path; those of one path in the order of the directory.
fn by_path(entries: &Directory) -> Vec<u32> {
    let count = u32::try_from(entries.len()).unwrap_or(u32::MAX);
    let mut order: Vec<u32> = (0..count).collect();
    let path = |index: &u32| entries.get(*index as usize).map(|entry| entry.path);
    // A stable sort is fast where most of it is in order already, as archives are.
    order.sort_by(|a, b| path(a).cmp(&path(b)));
    order
}

fn files_as_folders(entries: &Directory, order: &[u32]) -> Result<(), ZipError> {
    let is_file = |path: &str| {
        let found = order.binary_search_by(|index| {
            let entry = entries.get(*index as usize);
            entry.map_or("", |entry| entry.path).cmp(path)
        });
        let found = found.ok().and_then(|place| order.get(place));
        let found = found.and_then(|index| entries.get(*index as usize));
        found.is_some_and(|found| found.kind == EntryKind::File)
    };
    // There are far fewer folders than files: each is looked up once.
    let mut checked: HashSet<&str> = HashSet::new();
    for entry in entries.iter() {
        let mut above = entry.path.rsplit_once('/').map(|(folder, _)| folder);
        while let Some(path) = above {
            if !checked.insert(path) {
                break;
            }
            if is_file(path) {
                return Err(ZipError::FileAsFolder {
                    member: entry.path.to_owned(),
                    offset: entry.header_offset,
                    file: path.to_owned(),
                });
            }
            above = path.rsplit_once('/').map(|(parent, _)| parent);
        }
    }
    Ok(())
}

/// Sets each member's limit, and refuses records that reach over it.
///
/// The local header's length is known only when it is read; here it counts with
/// its fixed part and the data, and opening a member checks the rest.
pub(super) fn overlaps(entries: &mut Directory, directory: u64) -> Result<(), ZipError> {
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
            .saturating_add(LOCAL_HEADER)
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
