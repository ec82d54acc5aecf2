//! Reading files in pieces.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tempfile::NamedTempFile;

const BUFFER: usize = 1 << 18;

thread_local! {
    /// Of this thread, for two files: memory is cleared once, not for each pair.
    static BUFFERS: RefCell<(Vec<u8>, Vec<u8>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

/// How two files' bytes compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bytes {
    Equal,
    /// Theirs is nothing, or the beginning of ours.
    TheirsIsBeginning,
    Differ {
        /// The first byte that does.
        at: u64,
    },
}

/// Compares two files up to the first difference. Two names of one file are not read.
///
/// # Errors
/// When one cannot be read.
pub fn compare(theirs: &Path, ours: &Path) -> io::Result<Bytes> {
    let (mut a, mut b) = (File::open(theirs)?, File::open(ours)?);
    let (first, second) = (a.metadata()?, b.metadata()?);
    if (first.dev(), first.ino()) == (second.dev(), second.ino()) {
        return Ok(Bytes::Equal);
    }
    BUFFERS.with_borrow_mut(|(one, two)| {
        // Most files are small: one read each, and another that finds the end.
        let longest = first.len().max(second.len());
        let room = usize::try_from(longest + 1).unwrap_or(BUFFER).min(BUFFER);
        for buffer in [&mut *one, &mut *two] {
            if buffer.len() < room {
                buffer.resize(room, 0);
            }
        }
        let (one, two) = (one.get_mut(..room), two.get_mut(..room));
        read_both(
            &mut a,
            one.unwrap_or_default(),
            &mut b,
            two.unwrap_or_default(),
        )
    })
}

fn read_both(
    mut a: &mut File,
    one: &mut [u8],
    mut b: &mut File,
    two: &mut [u8],
) -> io::Result<Bytes> {
    let mut at = 0;
    loop {
        let (m, n) = (fill(&mut a, one)?, fill(&mut b, two)?);
        let (x, y) = (
            one.get(..m).unwrap_or_default(),
            two.get(..n).unwrap_or_default(),
        );
        // Equal stretches are compared at once.
        let common = m.min(n);
        if x.get(..common) != y.get(..common)
            && let Some(place) = x.iter().zip(y).position(|(x, y)| x != y)
        {
            return Ok(Bytes::Differ {
                at: at + place as u64,
            });
        }
        if m < n {
            return Ok(Bytes::TheirsIsBeginning);
        }
        if m > n {
            return Ok(Bytes::Differ { at: at + n as u64 });
        }
        // A buffer that is not full means that the files end.
        if m < one.len() {
            return Ok(Bytes::Equal);
        }
        at += m as u64;
    }
}

/// Puts what a reader gives into a file of its own below `temp`, which is gone when it is dropped.
///
/// # Errors
/// When it cannot be read, or the file not be written.
pub fn spool(content: &mut dyn Read, temp: &Path) -> io::Result<NamedTempFile> {
    std::fs::create_dir_all(temp)?;
    let mut file = NamedTempFile::new_in(temp)?;
    io::copy(content, &mut file)?;
    Ok(file)
}

/// Reads until the buffer is full or the input ends.
///
/// # Errors
/// When it cannot be read.
pub fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match input.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// A hash of a file's content, to find equal ones.
///
/// # Errors
/// When it cannot be read.
pub fn content(path: &Path) -> io::Result<blake3::Hash> {
    hash(&mut File::open(path)?)
}

/// A hash of all that a reader gives.
///
/// # Errors
/// When it cannot be read.
pub fn hash(content: &mut dyn Read) -> io::Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(content)?;
    Ok(hasher.finalize())
}
