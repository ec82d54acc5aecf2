//! Compares the files of two directories by their listings in the cache.
//!
//! A listing records where the bytes of each file are: in an object of the cache, in a slice of a file, or in a member
//! of an archive. Files with the same location have the same content. Objects are named by their digests, so different
//! objects have different contents. Members of a zip archive have a CRC-32 in the listing, so they can be compared even
//! if the bundle was deleted. For other files, the CRC-32 is computed. If the content of a file is no longer available,
//! the file is treated as different.

use std::cmp::Ordering;
use std::io;

use prep_contents::read::each_chunk;
use prep_contents::{ContentsError, Result};
use prep_core::Context;
use prep_diff::{DiffOptions, FileDifference, two_files};
use prep_steps::value::{ContentRef, Opener, Tree, TreeFile};

/// Returns the differences between two versions of the directory `path`.
///
/// # Errors
/// Returns an error if two existing files cannot be compared.
pub(super) fn differences(
    context: &Context,
    path: &str,
    old: &Tree,
    new: &Tree,
    options: &DiffOptions<'_>,
) -> Result<Vec<FileDifference>> {
    let opener = Opener::new(context);
    let inner = |file: &TreeFile<'_>| format!("{}/{}", path.trim_end_matches('/'), file.path());
    let mut found = Vec::new();
    let (mut before, mut after) = (old.files().peekable(), new.files().peekable());
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => return Ok(found),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(one), Some(other)) => one.path().cmp(other.path()),
        };
        let one = before.next_if(|_| order.is_le());
        let other = after.next_if(|_| order.is_ge());
        match (&one, &other) {
            (Some(one), Some(other)) => {
                let contents = (one.content(), other.content());
                if is_equal(&opener, &contents)? {
                    continue;
                }
                let path = inner(one);
                let (Some(one), Some(other)) = contents else {
                    found.push(FileDifference::new(path, [None, None]));
                    continue;
                };
                // Only objects are files that can be compared in detail.
                let object = |content: &ContentRef| match content {
                    ContentRef::Object { digest, .. } => context.store.open_object(digest).ok(),
                    ContentRef::Slice { .. } | ContentRef::Member { .. } => None,
                };
                match (object(&one), object(&other)) {
                    (Some(one), Some(other)) => {
                        found.extend(two_files(&path, one.path(), other.path(), options)?);
                    }
                    _ => {
                        let bytes = [Some(one.bytes()), Some(other.bytes())];
                        found.push(FileDifference::new(path, bytes));
                    }
                }
            }
            (Some(file), None) => {
                found.push(FileDifference::new(inner(file), [Some(file.bytes()), None]));
            }
            (None, Some(file)) => {
                found.push(FileDifference::new(inner(file), [None, Some(file.bytes())]));
            }
            (None, None) => {}
        }
    }
}

/// Returns whether two files have the same content. The content of an empty directory is `None`.
fn is_equal(opener: &Opener, contents: &(Option<ContentRef>, Option<ContentRef>)) -> Result<bool> {
    let (Some(one), Some(other)) = contents else {
        return Ok(contents.0.is_none() && contents.1.is_none());
    };
    if one == other {
        return Ok(true);
    }
    let by_digest = matches!(
        (one, other),
        (ContentRef::Object { .. }, ContentRef::Object { .. })
    );
    if one.bytes() != other.bytes() || by_digest {
        return Ok(false);
    }
    match (crc32(opener, one), crc32(opener, other)) {
        (Ok(one), Ok(other)) => Ok(one == other),
        (Err(error), _) | (_, Err(error)) => match ContentsError::from(error) {
            // If the file no longer exists, it is treated as different.
            ContentsError::System { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Ok(false)
            }
            error if error.is_of_the_system() => Err(error),
            _ => Ok(false),
        },
    }
}

fn crc32(opener: &Opener, content: &ContentRef) -> io::Result<u32> {
    if let ContentRef::Member { entry, .. } = content {
        return Ok(entry.crc32);
    }
    let opened = opener.open(content).map_err(io::Error::other)?;
    let mut reader = opened.reader().map_err(io::Error::other)?;
    let mut hasher = crc32fast::Hasher::new();
    each_chunk(&mut reader, |bytes| hasher.update(bytes))?;
    Ok(hasher.finalize())
}
