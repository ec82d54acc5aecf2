//! Reads tar archives, plain or gzipped, and writes them deterministically.
//!
//! Paths are validated by [`crate::paths`]. Links and special files are errors.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read, Write};

use flate2::bufread::MultiGzDecoder;

use crate::archive::MemberKind;
use crate::limits::{ArchiveBudget, LimitExceeded};
use crate::paths::{self, PathError};
use crate::sniff::{FileType, SNIFF_BYTES};
use prep_failure::Quoted;

/// A tar archive that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TarError {
    /// The file is not a tar archive.
    #[error("got {found}, expected a tar archive (plain or gzipped); fetch the file again")]
    NotATar {
        /// The type that its first bytes indicate.
        found: FileType,
    },
    /// The path of a member could lead out of the target directory.
    #[error("member {member} has an unsafe path", member = Quoted(.member))]
    UnsafePath {
        /// Path of the member.
        member: String,
        /// The violated rule.
        #[source]
        cause: PathError,
    },
    /// A member is a link.
    #[error("member {member} is a link to {target}; only files and directories are extracted", member = Quoted(.member), target = Quoted(.target))]
    Link {
        /// Path of the member.
        member: String,
        /// Target of the link.
        target: String,
    },
    /// A member is a device, a pipe, or of an unsupported type.
    #[error(
        "member {member} is a special file (type `{}`); only files and directories are extracted", kind.escape_default(), member = Quoted(.member))]
    SpecialFile {
        /// Path of the member.
        member: String,
        /// Type byte of its header.
        kind: char,
    },
    /// The archive has too many members, or they declare too many bytes.
    #[error("at member {member}", member = Quoted(.member))]
    Limit {
        /// The first member over the limit.
        member: String,
        /// The exceeded limit.
        #[source]
        cause: LimitExceeded,
    },
    /// The bytes after the last member unpack to too many bytes.
    #[error("after the last member of the tar archive")]
    LongEnd(#[source] LimitExceeded),
    /// The archive is truncated or a header is damaged.
    #[error("the tar archive is damaged or truncated; fetch it again")]
    Damaged(#[source] io::Error),
    /// The function that processes the members failed.
    #[error("member {member} of the tar archive cannot be processed", member = Quoted(.member))]
    Visitor {
        /// Path of the member.
        member: String,
        /// The error of the function.
        #[source]
        source: io::Error,
    },
    /// Writing failed.
    #[error("writing the tar archive failed")]
    Write(#[source] io::Error),
}

/// Maximum length of the headers of one member, in bytes. Headers of long names contain a path.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// Reads an archive and calls `visit` with path, kind and content of each member, in the order of the archive.
///
/// Gzip is detected. Content that `visit` does not read is skipped. A member that exceeds the budget is an error and is
/// not visited. The size of headers is limited, because they are kept in memory.
///
/// A path may occur repeatedly, if files were appended to the archive. The last occurrence is valid, so writing all
/// members in order yields the correct tree.
///
/// # Errors
/// [`TarError`]. If `visit` returns an error, reading stops.
pub fn read(
    input: impl Read,
    budget: &ArchiveBudget,
    mut visit: impl FnMut(&str, MemberKind, &mut dyn Read) -> io::Result<()>,
) -> Result<(), TarError> {
    let mut visit = |path: &str, kind, _, content: &mut dyn Read| visit(path, kind, content);
    let mut input = BufReader::with_capacity(256 * 1024, input);
    // gzip is recognized by its first bytes, but tar's signature has an offset of 257.
    let head = input.fill_buf().map_err(TarError::Damaged)?;
    match FileType::detect(head.get(..SNIFF_BYTES.min(head.len())).unwrap_or_default()) {
        FileType::Gzip => {
            let mut plain = BufReader::with_capacity(256 * 1024, MultiGzDecoder::new(input));
            let head = plain.fill_buf().map_err(TarError::Damaged)?;
            check_head(head)?;
            read_all(plain, budget, &mut visit)
        }
        _ => {
            check_head(head)?;
            read_all(input, budget, &mut visit)
        }
    }
}

/// Lists a plain archive: calls `visit` with path, kind and content offset of each member. The offset is `None` for
/// sparse files, whose content is not contiguous.
///
/// # Errors
/// Same as [`read`].
pub fn list(
    input: impl Read,
    budget: &ArchiveBudget,
    mut visit: impl FnMut(&str, MemberKind, Option<u64>) -> io::Result<()>,
) -> Result<(), TarError> {
    let mut input = BufReader::with_capacity(256 * 1024, input);
    check_head(input.fill_buf().map_err(TarError::Damaged)?)?;
    read_all(input, budget, &mut |path, kind, offset, _| {
        visit(path, kind, offset)
    })
}

/// Size in bytes of the blocks of an archive.
const BLOCK_BYTES: u64 = 512;

/// A reader that fails if more than `left` bytes are read, which limits the size of headers.
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

fn check_head(head: &[u8]) -> Result<(), TarError> {
    let head = head.get(..SNIFF_BYTES.min(head.len())).unwrap_or_default();
    match FileType::detect(head) {
        // An empty archive is two blocks of zeros, and old archives have no signature.
        FileType::Tar | FileType::Zeros => Ok(()),
        FileType::Binary if head.len() == SNIFF_BYTES => Ok(()),
        found => Err(TarError::NotATar { found }),
    }
}

/// Reads the archive and the rest of the input after it, because a checksum may be verified at the end. The rest counts
/// towards the budget.
fn read_all(
    mut input: impl Read,
    budget: &ArchiveBudget,
    visit: &mut impl FnMut(&str, MemberKind, Option<u64>, &mut dyn Read) -> io::Result<()>,
) -> Result<(), TarError> {
    let left = Cell::new(MAX_HEADER_BYTES);
    let mut archive = tar::Archive::new(HeaderLimiter {
        input: &mut input,
        left: &left,
    });
    for entry in archive.entries().map_err(TarError::Damaged)? {
        let mut entry = entry.map_err(TarError::Damaged)?;
        let member = match String::from_utf8(entry.path_bytes().into_owned()) {
            Ok(member) => member,
            Err(error) => {
                let member = String::from_utf8_lossy(error.as_bytes()).into_owned();
                return Err(TarError::UnsafePath {
                    member,
                    cause: PathError::NotUtf8,
                });
            }
        };
        let kind = match entry.header().entry_type() {
            kind if kind.is_dir() || member.ends_with('/') => MemberKind::Directory,
            kind if kind.is_file() || kind.is_contiguous() || kind.is_gnu_sparse() => {
                MemberKind::File { size: entry.size() }
            }
            kind if kind.is_pax_global_extensions() => continue,
            kind if kind.is_symlink() || kind.is_hard_link() => {
                let target = entry.link_name_bytes().unwrap_or_default();
                let target = String::from_utf8_lossy(&target).into_owned();
                return Err(TarError::Link { member, target });
            }
            kind => {
                return Err(TarError::SpecialFile {
                    member,
                    kind: char::from(kind.as_byte()),
                });
            }
        };
        let path = match paths::normalize(&member) {
            Ok(path) => path,
            Err(PathError::Empty) if kind == MemberKind::Directory => continue,
            Err(cause) => return Err(TarError::UnsafePath { member, cause }),
        };
        let bytes = match kind {
            MemberKind::File { size } => size,
            MemberKind::Directory => 0,
        };
        if let Err(cause) = budget.add(&path, bytes) {
            return Err(TarError::Limit { member, cause });
        }
        // The member may read its content with the padding, and then the headers of the next member. For a sparse file,
        // the size in the header is that of the stored content, which is shorter than the size of the file.
        let stored_bytes = entry.header().entry_size().map_err(TarError::Damaged)?;
        let max_bytes = stored_bytes
            .max(entry.size())
            .saturating_add(BLOCK_BYTES + MAX_HEADER_BYTES);
        left.set(max_bytes);
        let is_sparse = entry.header().entry_type().is_gnu_sparse();
        let offset = (!is_sparse).then(|| entry.raw_file_position());
        visit(&path, kind, offset, &mut entry)
            .map_err(|source| TarError::Visitor { member, source })?;
    }
    let mut buffer = vec![0; 1 << 16];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => budget.add_bytes(count as u64).map_err(TarError::LongEnd)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(TarError::Damaged(error)),
        }
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
    ///
    /// # Errors
    /// [`TarError::UnsafePath`], or [`TarError::Write`] if writing fails.
    pub fn add_directory(&mut self, path: &str) -> Result<(), TarError> {
        let mut header = header(tar::EntryType::Directory, 0, 0o755);
        let path = format!("{}/", safe(path)?);
        self.inner
            .append_data(&mut header, path, io::empty())
            .map_err(TarError::Write)
    }

    /// Adds a file of `size` bytes.
    ///
    /// # Errors
    /// [`TarError::UnsafePath`]; [`TarError::Write`] if writing fails or `content` is not `size` bytes long.
    pub fn add_file(&mut self, path: &str, size: u64, content: impl Read) -> Result<(), TarError> {
        let path = safe(path)?;
        let mut header = header(tar::EntryType::Regular, size, 0o644);
        let mut content = content.take(size);
        self.inner
            .append_data(&mut header, path, &mut content)
            .map_err(TarError::Write)?;
        let mut extra = [0];
        let more = content
            .get_mut()
            .read(&mut extra)
            .map_err(TarError::Write)?;
        if content.limit() > 0 || more > 0 {
            let reason = format!("the content does not have the declared length of {size} bytes");
            return Err(TarError::Write(io::Error::new(
                io::ErrorKind::InvalidInput,
                reason,
            )));
        }
        Ok(())
    }

    /// Finishes the archive and returns the output.
    ///
    /// # Errors
    /// [`TarError::Write`] if writing fails.
    pub fn finish(self) -> Result<W, TarError> {
        self.inner.into_inner().map_err(TarError::Write)
    }
}

fn safe(path: &str) -> Result<String, TarError> {
    paths::normalize(path).map_err(|cause| TarError::UnsafePath {
        member: path.to_owned(),
        cause,
    })
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
