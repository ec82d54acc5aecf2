//! Checks over all members of a listing.

use std::collections::HashMap;

use super::entry::{EntryKind, Method, ZipEntry};
use super::error::ZipError;
use super::list::ZipLimits;

/// Length of a local header without its name and extra fields.
const LOCAL_HEADER: u64 = 30;

/// Refuses sizes beyond the limits, and sizes that contradict each other.
pub(super) fn limits(entries: &[ZipEntry], limits: &ZipLimits) -> Result<(), ZipError> {
    let mut total = 0_u64;
    for entry in entries {
        let (member, offset) = (entry.path.clone(), entry.header_offset);
        let ceiling = match entry.method {
            Method::Stored => entry.compressed_size,
            Method::Deflate => entry.compressed_size.saturating_mul(limits.max_ratio),
        };
        if entry.method == Method::Stored && entry.size < entry.compressed_size {
            let size = entry.size;
            return Err(ZipError::TooLong {
                member,
                offset,
                size,
            });
        }
        if entry.size > ceiling {
            return Err(match entry.method {
                Method::Stored => {
                    let (size, actual) = (entry.size, entry.compressed_size);
                    ZipError::TooShort {
                        member,
                        offset,
                        size,
                        actual,
                    }
                }
                Method::Deflate => ZipError::Ratio {
                    member,
                    offset,
                    size: entry.size,
                    compressed_size: entry.compressed_size,
                    limit: limits.max_ratio,
                },
            });
        }
        if entry.kind == EntryKind::Directory && entry.size > 0 {
            return Err(ZipError::TooLong {
                member,
                offset,
                size: 0,
            });
        }
        total = total.saturating_add(entry.size);
        if total > limits.max_total {
            return Err(ZipError::TotalSize {
                member,
                offset,
                limit: limits.max_total,
            });
        }
    }
    Ok(())
}

/// Drops repetitions with equal contents, refuses others, and refuses a file
/// that is a folder of another member.
pub(super) fn duplicates(entries: &mut Vec<ZipEntry>) -> Result<(), ZipError> {
    let mut first: HashMap<&str, &ZipEntry> = HashMap::with_capacity(entries.len());
    let mut repeated = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let earlier = match first.entry(&entry.path) {
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(entry);
                continue;
            }
            std::collections::hash_map::Entry::Occupied(taken) => *taken.get(),
        };
        let same = earlier.kind == entry.kind
            && (entry.kind == EntryKind::Directory
                || (earlier.size, earlier.crc32) == (entry.size, entry.crc32));
        if !same {
            return Err(ZipError::DifferingDuplicate {
                member: entry.path.clone(),
                first: earlier.header_offset,
                offset: entry.header_offset,
            });
        }
        repeated.push(index);
    }
    files_as_folders(entries, &first)?;
    if !repeated.is_empty() {
        let mut repeated = repeated.into_iter().peekable();
        let mut index = 0;
        entries.retain(|_| {
            let drop = repeated.next_if_eq(&index).is_some();
            index += 1;
            !drop
        });
    }
    Ok(())
}

fn files_as_folders(
    entries: &[ZipEntry],
    by_path: &HashMap<&str, &ZipEntry>,
) -> Result<(), ZipError> {
    // Neighbours mostly share their folder: look each folder up once per run.
    let mut checked = "";
    for entry in entries {
        let Some((folder, _)) = entry.path.rsplit_once('/') else {
            continue;
        };
        if folder == checked {
            continue;
        }
        checked = folder;
        let mut above = Some(folder);
        while let Some(path) = above {
            if by_path
                .get(path)
                .is_some_and(|found| found.kind == EntryKind::File)
            {
                return Err(ZipError::FileAsFolder {
                    member: entry.path.clone(),
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
pub(super) fn overlaps(entries: &mut [ZipEntry], directory: u64) -> Result<(), ZipError> {
    let mut order: Vec<(u64, usize)> = entries
        .iter()
        .enumerate()
        .map(|(index, entry)| (entry.header_offset, index))
        .collect();
    if !order.is_sorted() {
        order.sort_unstable();
    }
    let mut next = directory;
    for (offset, index) in order.into_iter().rev() {
        let Some(entry) = entries.get_mut(index) else {
            continue;
        };
        let end = offset
            .saturating_add(LOCAL_HEADER)
            .saturating_add(entry.compressed_size);
        if end > next {
            return Err(ZipError::Overlap {
                member: entry.path.clone(),
                offset,
                next,
            });
        }
        entry.limit = next;
        next = offset;
    }
    Ok(())
}
