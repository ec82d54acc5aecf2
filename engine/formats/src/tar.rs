//! Reads tar archives, plain or gzipped, and writes them deterministically.
//!
//! Links and special files are errors. [`crate::paths`] validates paths, and the crate `tar` parses the headers.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read, Write};

use flate2::bufread::MultiGzDecoder;

use crate::archive::member::{ArchiveError, Member, StoredForm, StoredForms, VisitMember, safe};
use crate::limits::ArchiveBudget;
use crate::paths::{self, PathError};
use crate::sniff::{FileType, SNIFF_BYTES};
use prep_failure::Quoted;

/// If the headers of one member have more bytes, the archive cannot be read. Headers contain the path, so they may be
/// long.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// Reads an archive, plain or gzipped, and visits its members in the order of the archive. Skips content that `visit` does
/// not read.
///
/// # Errors
/// [`ArchiveError`]. If `visit` returns an error, reading stops.
pub fn read(
    input: impl Read,
    budget: &ArchiveBudget,
    forms: StoredForms,
    visit: VisitMember<'_>,
) -> Result<(), ArchiveError> {
    let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
    // The signature of gzip is at the beginning. The signature of tar is at byte 257 and is checked later.
    let head = input.fill_buf().map_err(ArchiveError::DamagedTar)?;
    match FileType::detect(head.get(..SNIFF_BYTES.min(head.len())).unwrap_or_default()) {
        FileType::Gzip => read_plain(MultiGzDecoder::new(input), budget, forms, visit),
        _ => read_buffered(input, budget, forms, visit),
    }
}

/// Like [`read`], but a gzipped archive is an error.
pub fn read_plain(
    input: impl Read,
    budget: &ArchiveBudget,
    forms: StoredForms,
    visit: VisitMember<'_>,
) -> Result<(), ArchiveError> {
    let input = BufReader::with_capacity(BUFFER_BYTES, input);
    read_buffered(input, budget, forms, visit)
}

const BUFFER_BYTES: usize = 256 * 1024;

const BLOCK_BYTES: u64 = 512;

/// A reader that fails after `left` bytes, which limits the size of headers.
struct HeaderLimiter<'a, R> {
    input: R,
    left: &'a Cell<u64>,
}

impl<R: Read> Read for HeaderLimiter<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = self.left.get();
        if left == 0 && !buf.is_empty() {
            let reason =
                format!("the headers of a member are longer than {MAX_HEADER_BYTES} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        let count = Read::by_ref(&mut self.input).take(left).read(buf)?;
        self.left.set(left - count as u64);
        Ok(count)
    }
}

/// Checks whether a file that begins with `head` may be a tar archive.
fn check_head(head: &[u8]) -> Result<(), ArchiveError> {
    let head = head.get(..SNIFF_BYTES.min(head.len())).unwrap_or_default();
    match FileType::detect(head) {
        // An empty archive is two blocks of zeros, and old archives have no signature.
        FileType::Tar | FileType::Zeros => Ok(()),
        FileType::Binary if head.len() == SNIFF_BYTES => Ok(()),
        found => Err(ArchiveError::OtherFormat {
            expected: "a tar archive (plain or gzipped)",
            found,
        }),
    }
}

/// Reads the archive and, within the budget, the rest of the input. The rest is read because the decoder of a gzipped
/// archive verifies the checksum only at the end of the input.
fn read_buffered(
    mut input: impl BufRead,
    budget: &ArchiveBudget,
    forms: StoredForms,
    visit: VisitMember<'_>,
) -> Result<(), ArchiveError> {
    check_head(input.fill_buf().map_err(ArchiveError::DamagedTar)?)?;
    let left = Cell::new(MAX_HEADER_BYTES);
    let mut archive = tar::Archive::new(HeaderLimiter {
        input: &mut input,
        left: &left,
    });
    for entry in archive.entries().map_err(ArchiveError::DamagedTar)? {
        let mut entry = entry.map_err(ArchiveError::DamagedTar)?;
        let Some((raw_path, is_directory)) = name_and_kind(&entry)? else {
            continue;
        };
        let path = match paths::normalize(&raw_path) {
            Ok(path) => path,
            Err(PathError::Empty) if is_directory => continue,
            Err(cause) => {
                let member = raw_path;
                return Err(ArchiveError::UnsafePath { member, cause });
            }
        };
        let size = if is_directory { 0 } else { entry.size() };
        if let Err(cause) = budget.add(&path, size) {
            let member = raw_path;
            return Err(ArchiveError::Limit { member, cause });
        }
        // The next reads may return content, padding and the next headers, so `max_bytes` is the sum of their sizes. For a
        // sparse file, `entry.size()` exceeds `stored_bytes`.
        let stored_bytes = entry.header().entry_size();
        let stored_bytes = stored_bytes.map_err(ArchiveError::DamagedTar)?;
        let max_bytes = stored_bytes
            .max(entry.size())
            .saturating_add(BLOCK_BYTES + MAX_HEADER_BYTES);
        left.set(max_bytes);
        let is_sparse = entry.header().entry_type().is_gnu_sparse();
        let form = (forms == StoredForms::Read).then(|| stored_form(entry.header()));
        let member = Member {
            path: &path,
            is_directory,
            size: Some(size),
            offset: (!is_sparse).then(|| entry.raw_file_position()),
            crc32: None,
            stored: form.as_ref(),
        };
        visit(&member, &mut entry).map_err(|source| ArchiveError::Visitor {
            format: "tar",
            member: raw_path,
            source,
        })?;
    }
    let mut buffer = vec![0; 1 << 16];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => budget
                .add_bytes(count as u64)
                .map_err(ArchiveError::LongEnd)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(ArchiveError::DamagedTar(error)),
        }
    }
}

/// Returns the path in the header of an entry, and whether the entry is a directory. Returns `None` if the entry is a
/// global pax header, which describes no member.
fn name_and_kind(
    entry: &tar::Entry<'_, impl Read>,
) -> Result<Option<(String, bool)>, ArchiveError> {
    let member = match String::from_utf8(entry.path_bytes().into_owned()) {
        Ok(member) => member,
        Err(error) => {
            let member = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let cause = PathError::NotUtf8;
            return Err(ArchiveError::UnsafePath { member, cause });
        }
    };
    let kind = match entry.header().entry_type() {
        kind if kind.is_dir() || member.ends_with('/') => return Ok(Some((member, true))),
        kind if kind.is_file() || kind.is_contiguous() || kind.is_gnu_sparse() => {
            return Ok(Some((member, false)));
        }
        kind if kind.is_pax_global_extensions() => return Ok(None),
        kind if kind.is_symlink() || kind.is_hard_link() => {
            let target = entry.link_name_bytes().unwrap_or_default();
            format!("a link to {}", Quoted(&String::from_utf8_lossy(&target)))
        }
        kind => format!(
            "a special file (type `{}`)",
            char::from(kind.as_byte()).escape_default()
        ),
    };
    Err(ArchiveError::NotAFile { member, kind })
}

/// Describes how a member is stored. `field` takes the offset and length of a header field in the ustar format.
fn stored_form(header: &tar::Header) -> StoredForm {
    let field = |from: usize, length: usize| {
        let bytes = header.as_bytes().get(from..from + length);
        let text = bytes.unwrap_or_default().split(|byte| *byte == 0).next();
        String::from_utf8_lossy(text.unwrap_or_default())
            .trim()
            .to_owned()
    };
    StoredForm {
        time: header.mtime().unwrap_or(0) as f64,
        form: format!(
            "mode {}, owner {} {} {:?} {:?}",
            field(100, 8),
            field(108, 8),
            field(116, 8),
            field(265, 32),
            field(297, 32)
        ),
        compressed_bytes: None,
    }
}

/// Writes archives whose bytes depend only on the members: no owner, time 0, mode 0644 or 0755.
pub struct TarWriter<W: Write> {
    inner: tar::Builder<W>,
}

impl<W: Write> TarWriter<W> {
    /// Writes an archive to `out`.
    pub fn new(out: W) -> Self {
        Self {
            inner: tar::Builder::new(out),
        }
    }

    /// Adds a directory.
    pub fn add_directory(&mut self, path: &str) -> Result<(), ArchiveError> {
        let mut header = header(tar::EntryType::Directory, 0, 0o755);
        let path = format!("{}/", safe(path)?);
        self.inner
            .append_data(&mut header, path, io::empty())
            .map_err(not_written)
    }

    /// Adds a file of `size` bytes.
    ///
    /// # Errors
    /// [`ArchiveError::UnsafePath`], or [`ArchiveError::Write`] if writing fails or `content` does not have `size` bytes.
    pub fn add_file(
        &mut self,
        path: &str,
        size: u64,
        content: impl Read,
    ) -> Result<(), ArchiveError> {
        let path = safe(path)?;
        let mut header = header(tar::EntryType::Regular, size, 0o644);
        let mut content = content.take(size);
        self.inner
            .append_data(&mut header, path, &mut content)
            .map_err(not_written)?;
        let mut extra = [0];
        let more = content.get_mut().read(&mut extra).map_err(not_written)?;
        if content.limit() > 0 || more > 0 {
            let reason = format!("the content does not have the declared length of {size} bytes");
            let error = io::Error::new(io::ErrorKind::InvalidInput, reason);
            return Err(not_written(error));
        }
        Ok(())
    }

    /// Finishes the archive and returns the output.
    pub fn finish(self) -> Result<W, ArchiveError> {
        self.inner.into_inner().map_err(not_written)
    }
}

fn not_written(error: io::Error) -> ArchiveError {
    ArchiveError::Write {
        format: "tar",
        reason: String::new(),
        source: Some(error),
    }
}

fn header(kind: tar::EntryType, size: u64, mode: u32) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(mode);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}
