//! Reads, compares and hashes files in chunks.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::io::{BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use prep_formats::limits::{BoundedReader, DecodingLimits, Limit};
use tempfile::{NamedTempFile, TempPath};

use crate::{ContentsError, Resources, Result};

/// Maximum and initial size of a read buffer in bytes.
const BUFFER: usize = 1 << 18;
const MIN_BUFFER: usize = 1 << 13;

thread_local! {
    /// Buffers for two files. They are reused because clearing new memory for each pair takes time.
    static BUFFERS: RefCell<(Vec<u8>, Vec<u8>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

/// The result of comparing the bytes of two files, `theirs` and `ours`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bytes {
    Equal,
    /// `theirs` is empty, or the beginning of `ours`.
    TheirsIsBeginning,
    /// Offset of the first byte that differs. If `ours` is the beginning of `theirs`, the length of `ours`.
    Differ {
        at: u64,
    },
}

/// Compares two files up to the first difference. Reads nothing if both paths are hard links to the same file.
pub fn compare(theirs: &Path, ours: &Path) -> Result<Bytes> {
    let (mut a, mut b) = (open(theirs)?, open(ours)?);
    let first = a.metadata().map_err(ContentsError::system_error(theirs))?;
    let second = b.metadata().map_err(ContentsError::system_error(ours))?;
    if (first.dev(), first.ino()) == (second.dev(), second.ino()) {
        return Ok(Bytes::Equal);
    }
    BUFFERS.with_borrow_mut(|(one, two)| {
        // Most files are small. The buffer has room for one more byte than the files have. Therefore the first read is
        // short, and shows that the file has ended.
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

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(ContentsError::system_error(path))
}

/// Compares two open files in chunks, with the buffers `one` and `two`.
fn read_both(mut a: &mut File, one: &mut [u8], mut b: &mut File, two: &mut [u8]) -> Result<Bytes> {
    let mut at = 0;
    loop {
        let (m, n) = (fill(&mut a, one)?, fill(&mut b, two)?);
        let (x, y) = (
            one.get(..m).unwrap_or_default(),
            two.get(..n).unwrap_or_default(),
        );
        // A single comparison is fast for equal chunks.
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
        // A buffer that is not full means that its file has ended.
        if m < one.len() {
            return Ok(Bytes::Equal);
        }
        at += m as u64;
    }
}

/// Copies at most [`Limit::Spooled`] bytes to a temporary file, which is deleted when the path is dropped.
pub fn spool(content: &mut dyn Read, resources: &Resources<'_>) -> Result<TempPath> {
    let temp = resources.temp;
    std::fs::create_dir_all(temp).map_err(ContentsError::system_error(temp))?;
    let mut file = NamedTempFile::new_in(temp).map_err(ContentsError::system_error(temp))?;
    io::copy(
        &mut BoundedReader::new(content, &resources.limits, Limit::Spooled),
        &mut file,
    )?;
    Ok(file.into_temp_path())
}

/// Reads until the buffer is full or the input ends. Returns the number of bytes read.
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

/// Opens a file for sequential reading. Makes the buffer of a small file small, because many large buffers
/// fragment the heap.
pub(crate) fn open_buffered(path: &Path) -> Result<BufReader<File>> {
    let file = open(path)?;
    let metadata = file.metadata().map_err(ContentsError::system_error(path))?;
    let capacity = usize::try_from(metadata.len() + 1).unwrap_or(BUFFER);
    Ok(BufReader::with_capacity(capacity.min(BUFFER), file))
}

/// Calls `visit` with all bytes, in chunks. Returns the number of bytes.
pub fn each_chunk(input: &mut impl Read, mut visit: impl FnMut(&[u8])) -> io::Result<u64> {
    let (mut buffer, mut bytes) = (vec![0; MIN_BUFFER], 0);
    loop {
        let count = fill(input, &mut buffer)?;
        visit(buffer.get(..count).unwrap_or_default());
        bytes += count as u64;
        if count < buffer.len() {
            return Ok(bytes);
        }
        if buffer.len() < BUFFER {
            buffer.resize(BUFFER, 0);
        }
    }
}

/// Returns the hash of a file's content.
pub fn content(path: &Path) -> Result<blake3::Hash> {
    hash(&mut open(path)?)
}

pub fn hash(content: &mut dyn Read) -> Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(content)?;
    Ok(hasher.finalize())
}

/// Returns the first `length` bytes of a file, or the entire file if it is shorter.
pub fn head(path: &Path, length: usize) -> Result<Vec<u8>> {
    let mut head = vec![0; length];
    let count = fill(&mut open(path)?, &mut head).map_err(ContentsError::system_error(path))?;
    head.truncate(count);
    Ok(head)
}

/// Returns up to `length` bytes of a file, from the offset `begin`.
pub fn tail(path: &Path, begin: u64, length: usize) -> Result<Vec<u8>> {
    use std::io::{Seek, SeekFrom};

    let mut file = open(path)?;
    file.seek(SeekFrom::Start(begin))
        .map_err(ContentsError::system_error(path))?;
    let mut bytes = vec![0; length];
    let count = fill(&mut file, &mut bytes).map_err(ContentsError::system_error(path))?;
    bytes.truncate(count);
    Ok(bytes)
}

/// Reads a file that is not longer than the limit for one record.
pub fn read_file(path: &Path, limits: &DecodingLimits) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut content = BoundedReader::new(open(path)?, limits, Limit::Record);
    let read = content.read_to_end(&mut bytes);
    read.map_err(ContentsError::system_error(path))?;
    Ok(bytes)
}
