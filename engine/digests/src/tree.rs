//! Digests of directories.
//!
//! The digest of a directory is the SHA-256 of the lines that `sha256sum` prints for its files, sorted by the bytes of
//! the path:
//!
//! ```sh
//! find . -type f -exec sha256sum {} + | LC_ALL=C sort -k 2 | sha256sum
//! ```
//!
//! Paths begin with `./`. As in `sha256sum`, `\`, line feed and carriage return in a path are escaped, and the line of
//! such a path begins with `\`. Times, modes and empty directories do not change the digest.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fmt, fs, io};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::Digest as _;
use thiserror::Error;

/// Initial and maximum size of the read buffer in bytes. The buffer starts small, because clearing 256 KiB takes longer
/// than reading a small file.
const INITIAL_READ_BYTES: usize = 1 << 13;
const MAX_READ_BYTES: usize = 1 << 18;

/// The digest of a directory, and the number and total size of its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeDigest {
    /// SHA-256 of the `sha256sum` lines.
    pub sha256: Sha256,
    /// Number of files.
    pub files: u64,
    /// Sum of the lengths of the files in bytes.
    pub bytes: u64,
}

/// The digests of the two directories of a prepared competition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trees {
    /// `prepared/public`.
    pub public: TreeDigest,
    /// `prepared/private`.
    pub private: TreeDigest,
}

/// Computes the digest of a directory from its files' digests.
#[derive(Debug, Default)]
pub struct TreeHasher {
    /// Digests by escaped path, because files may be added in any order.
    lines: BTreeMap<String, Sha256>,
    /// Whether the caller adds files in the order of their paths, so that each line is hashed immediately.
    sorted: bool,
    hasher: Sha256Hasher,
    files: u64,
    bytes: u64,
}

impl TreeHasher {
    /// Creates a hasher for files that are added in the order of their paths. Such a hasher needs little memory.
    ///
    /// The digest requires the order of the *escaped* paths. Escaping a line break changes the order, so paths must not
    /// contain line breaks.
    pub fn sorted() -> TreeHasher {
        TreeHasher {
            sorted: true,
            ..TreeHasher::default()
        }
    }

    /// Adds a file: path relative to the directory, digest of the content, and length in bytes.
    pub fn add(&mut self, path: &str, sha256: Sha256, bytes: u64) {
        self.bytes += bytes;
        match self.sorted {
            true => self.hash_line(&escaped(path), sha256),
            false => {
                self.lines.insert(escaped(path).into_owned(), sha256);
            }
        }
    }

    /// Hashes the line of a file whose path is already escaped.
    fn hash_line(&mut self, path: &str, sha256: Sha256) {
        let mark = if path.contains('\\') { "\\" } else { "" };
        let line = format!("{mark}{sha256}  ./{path}\n");
        self.hasher.update(line.as_bytes());
        self.files += 1;
    }

    /// Returns the digest of all added files.
    pub fn finish(mut self) -> TreeDigest {
        for (path, sha256) in std::mem::take(&mut self.lines) {
            self.hash_line(&path, sha256);
        }
        TreeDigest {
            sha256: self.hasher.finish(),
            files: self.files,
            bytes: self.bytes,
        }
    }
}

fn escaped(path: &str) -> Cow<'_, str> {
    match path.contains(['\\', '\n', '\r']) {
        false => Cow::Borrowed(path),
        true => path
            .replace('\\', "\\\\")
            .replace('\n', "\\n")
            .replace('\r', "\\r")
            .into(),
    }
}

/// Returns the digest of a file's content, and its length in bytes.
///
/// # Errors
/// An I/O error while opening or reading.
pub fn digest_of_file(path: &Path) -> io::Result<(Sha256, u64)> {
    digest_of_reader(&mut File::open(path)?)
}

/// Reads `reader` to its end. Returns the digest and the number of the bytes that were read.
///
/// # Errors
/// An I/O error while reading.
pub fn digest_of_reader(reader: &mut dyn Read) -> io::Result<(Sha256, u64)> {
    let mut hasher = Sha256Hasher::default();
    let (mut buffer, mut bytes) = (vec![0; INITIAL_READ_BYTES], 0);
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok((hasher.finish(), bytes)),
            Ok(count) => {
                hasher.update(buffer.get(..count).unwrap_or_default());
                bytes += count as u64;
                if count == buffer.len() && count < MAX_READ_BYTES {
                    buffer.resize(2 * count, 0);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns the digest of a directory, computed on `threads` threads. A missing directory is treated as empty.
///
/// # Errors
/// The I/O error, and the path where it occurred. If the name of a file is not UTF-8, this is the path of its directory.
pub fn digest_of_directory(
    directory: &Path,
    threads: usize,
) -> Result<TreeDigest, (PathBuf, io::Error)> {
    let mut paths = Vec::new();
    files_below(directory, "", &mut paths)?;
    let next = AtomicUsize::new(0);
    // The digests so far, and an error of a thread.
    let done = Mutex::new((TreeHasher::default(), None));
    let work = || {
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            let full_path = directory.join(path);
            let found = digest_of_file(&full_path);
            let mut done = done.lock();
            match found {
                Ok((sha256, bytes)) => done.0.add(path, sha256, bytes),
                Err(error) => {
                    // Prevent all threads from beginning another file.
                    next.store(paths.len(), Ordering::Relaxed);
                    done.1 = Some((full_path, error));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.clamp(1, paths.len().max(1)) {
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    match done.into_inner() {
        (_, Some(failed)) => Err(failed),
        (hasher, None) => Ok(hasher.finish()),
    }
}

/// Lists the regular files below `directory`, with paths relative to it. Symbolic links are skipped.
fn files_below(
    directory: &Path,
    inner: &str,
    paths: &mut Vec<String>,
) -> Result<(), (PathBuf, io::Error)> {
    let full_path = directory.join(inner);
    let failed = |error| (full_path.clone(), error);
    let entries = match fs::read_dir(&full_path) {
        Err(error) if inner.is_empty() && error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(failed)?,
    };
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().into_string().map_err(|name| {
            let message = format!("the name `{}` is not UTF-8", name.display());
            failed(io::Error::new(io::ErrorKind::InvalidData, message))
        })?;
        let path = match inner {
            "" => name,
            inner => format!("{inner}/{name}"),
        };
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            files_below(directory, &path, paths)?;
        } else if kind.is_file() {
            paths.push(path);
        }
    }
    Ok(())
}

/// Number of hex digits in the short form. 48 bits are enough to distinguish all prepared files.
const SHORT_DIGITS: usize = 12;

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha256([u8; 32]);

/// A string that is not a SHA-256.
#[derive(Debug, Error)]
#[error("`{0}` is not a SHA-256: expected 64 hex digits")]
pub struct Sha256Error(String);

impl Sha256 {
    /// Returns the digest of `bytes`.
    pub fn of_bytes(bytes: &[u8]) -> Sha256 {
        Sha256(sha2::Sha256::digest(bytes).into())
    }

    /// Returns the digest with these 32 bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Sha256 {
        Sha256(bytes)
    }

    /// Returns the 32 bytes of the digest.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the first 12 hex digits.
    pub fn short(&self) -> String {
        let mut text = self.to_string();
        text.truncate(SHORT_DIGITS);
        text
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Sha256 {
    type Err = Sha256Error;

    fn from_str(text: &str) -> Result<Sha256, Sha256Error> {
        let wrong = || Sha256Error(text.to_owned());
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (index, byte) in bytes.iter_mut().enumerate() {
            let digits = text.get(2 * index..2 * index + 2).ok_or_else(wrong)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| wrong())?;
        }
        Ok(Sha256(bytes))
    }
}

impl TryFrom<String> for Sha256 {
    type Error = Sha256Error;

    fn try_from(text: String) -> Result<Sha256, Sha256Error> {
        text.parse()
    }
}

impl From<Sha256> for String {
    fn from(digest: Sha256) -> String {
        digest.to_string()
    }
}

/// Computes a SHA-256 incrementally.
#[derive(Debug, Clone, Default)]
pub struct Sha256Hasher(sha2::Sha256);

impl Sha256Hasher {
    /// Appends bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the digest of all bytes appended.
    pub fn finish(self) -> Sha256 {
        Sha256(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn digest_equals_the_output_of_the_shell_command() {
        let directory = tempfile::tempdir().unwrap();
        let files = [
            ("b.csv", "id\n1\n"),
            ("a/ü b.txt", "x"),
            ("a/c", ""),
            ("a-b", "between"),
            ("a.b/back\\slash", "escaped"),
            ("a.b/line\nfeed", "escaped"),
            ("Z", "upper case first"),
            ("'quo\"te $HOME", "q"),
        ];
        for (path, text) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir(directory.path().join("empty")).unwrap();
        for threads in [1, 4] {
            let found = digest_of_directory(directory.path(), threads).unwrap();
            assert_eq!(found.files, files.len() as u64);
            assert_eq!(found.bytes, 44);
            let expected = digest_from_shell(directory.path());
            assert_eq!(found.sha256.to_string(), expected);
        }
        let empty = directory.path().join("empty");
        let found = digest_of_directory(&empty, 2).unwrap();
        assert_eq!(found.sha256.to_string(), digest_from_shell(&empty));
        let missing = digest_of_directory(&directory.path().join("missing"), 2).unwrap();
        assert_eq!(missing, found);
    }

    fn digest_from_shell(directory: &Path) -> String {
        let line = "find . -type f -exec sha256sum {} + | LC_ALL=C sort -k 2 | sha256sum";
        let output = Command::new("sh")
            .args(["-c", line])
            .current_dir(directory)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.split(' ').next().unwrap().to_owned()
    }
}

#[cfg(test)]
mod sha256_tests {
    use super::*;

    #[test]
    fn digest_round_trips_as_text() {
        let empty = Sha256::of_bytes(b"");
        let text = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(empty.to_string(), text);
        assert_eq!(text.parse::<Sha256>().unwrap(), empty);
        assert_eq!(empty.short(), "e3b0c44298fc");
        assert!("e3b0".parse::<Sha256>().is_err());
        assert!("é".repeat(32).parse::<Sha256>().is_err());
        let mut hasher = Sha256Hasher::default();
        hasher.update(b"a");
        hasher.update(b"b");
        assert_eq!(hasher.finish(), Sha256::of_bytes(b"ab"));
    }
}
