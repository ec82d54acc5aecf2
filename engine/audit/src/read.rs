//! Reading files in pieces.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use md5::{Digest as _, Md5};

const BUFFER: usize = 1 << 18;

/// How two files' bytes compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bytes {
    Equal,
    /// Theirs is nothing, or the beginning of ours.
    TheirsIsBeginning,
    Differ {
        /// The first byte that does.
        at: u64,
    },
}

/// Compares two files up to the first difference.
pub(crate) fn compare(theirs: &Path, ours: &Path) -> io::Result<Bytes> {
    let (mut a, mut b) = (File::open(theirs)?, File::open(ours)?);
    // Most files are small, and clearing memory for them would take longer than reading them.
    let longest = a.metadata()?.len().max(b.metadata()?.len());
    let room = usize::try_from(longest + 1).unwrap_or(BUFFER).min(BUFFER);
    let (mut one, mut two) = (vec![0; room], vec![0; room]);
    let mut at = 0;
    loop {
        let (m, n) = (fill(&mut a, &mut one)?, fill(&mut b, &mut two)?);
        let (x, y) = (
            one.get(..m).unwrap_or_default(),
            two.get(..n).unwrap_or_default(),
        );
        if let Some(place) = x.iter().zip(y).position(|(x, y)| x != y) {
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
        if m == 0 {
            return Ok(Bytes::Equal);
        }
        at += m as u64;
    }
}

/// Reads until the buffer is full or the input ends.
pub(crate) fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
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

/// The MD5 of a file, as hex digits.
pub(crate) fn md5(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Md5::new();
    let mut buffer = vec![0; BUFFER];
    loop {
        match fill(&mut file, &mut buffer)? {
            0 => return Ok(hex(hasher)),
            count => hasher.update(buffer.get(..count).unwrap_or_default()),
        }
    }
}

pub(crate) fn hex(hasher: Md5) -> String {
    hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A hash of a file's content, to find equal ones.
pub(crate) fn content(path: &Path) -> io::Result<blake3::Hash> {
    let mut file = File::open(path)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; BUFFER];
    loop {
        match fill(&mut file, &mut buffer)? {
            0 => return Ok(hasher.finalize()),
            count => {
                hasher.update(buffer.get(..count).unwrap_or_default());
            }
        }
    }
}
