//! Reads 7z archives, sequentially or in [parts](SevenZPart), and writes them deterministically.
//!
//! A solid archive stores many members in one compressed block. So members are in the order of the blocks, and reading
//! a member requires decoding the members before it. Parts begin where a compressed stream resets its dictionary. They
//! can be decoded in parallel.

mod bare;
mod header;
mod parts;

use std::io::{self, Read, Seek, Write};

use sevenz_rust2::encoder_options::Lzma2Options;
use sevenz_rust2::{
    ArchiveEntry, ArchiveReader, ArchiveWriter, EncoderConfiguration, EncoderMethod, Error, NtTime,
    Password,
};

use crate::archive::MemberKind;
use crate::limits::{ArchiveBudget, LimitExceeded};
use crate::paths::{self, PathError};
use crate::read_at::ReadAt;
use crate::sniff::{FileType, SNIFF_BYTES};
use bare::BareEntry;
pub use parts::{Coder, PartSpans, SevenZPart};
use prep_failure::Quoted;

/// The attributes of an entry contain Unix mode bits, as written by 7-Zip and py7zr.
const UNIX_EXTENSION: u32 = 0x8000;
/// Windows' attribute of a directory.
const DIRECTORY: u32 = 0x10;
/// Windows' attribute of a link.
const REPARSE_POINT: u32 = 0x400;

/// A 7z archive that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SevenZError {
    /// The file is not a 7z archive.
    #[error("got {found}, expected a 7z archive; fetch the file again")]
    NotA7z {
        /// The type that its first bytes indicate.
        found: FileType,
    },
    /// The archive requires a password.
    #[error("the 7z archive is encrypted; only archives without a password can be read")]
    Encrypted,
    /// The archive uses an unsupported compression method.
    #[error(
        "the 7z archive uses the method {method}; LZMA, LZMA2, Deflate, Copy and the BCJ and Delta filters can be read"
    )]
    UnsupportedMethod {
        /// Name of the method.
        method: String,
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
    /// The member is a link or special file.
    #[error(
        "member {member} is a link or special file; only files and directories are extracted", member = Quoted(.member))]
    NotAFile {
        /// Path of the member.
        member: String,
    },
    /// The archive has too many members, or they declare too many bytes.
    #[error("{0}")]
    Limit(#[source] LimitExceeded),
    /// The archive is damaged or truncated, or the CRC of a member is wrong.
    #[error("the 7z archive is damaged or truncated ({reason}); fetch it again")]
    Damaged {
        /// The decoder's message.
        reason: String,
        /// The I/O error, if any.
        #[source]
        source: Option<io::Error>,
    },
    /// The function that processes the members failed.
    #[error("member {member} of the 7z archive cannot be processed", member = Quoted(.member))]
    Visitor {
        /// Path of the member.
        member: String,
        /// The error of the function.
        #[source]
        source: io::Error,
    },
    /// Writing failed.
    #[error("writing the 7z archive failed: {reason}")]
    Write {
        /// The encoder's message.
        reason: String,
        /// The I/O error from the content or the output, if any.
        #[source]
        source: Option<io::Error>,
    },
}

/// Opens an archive and reads its members. Same as [`SevenZReader::open`] followed by [`SevenZReader::read`].
///
/// # Errors
/// Same as these two functions.
pub fn read<R: Read + Seek>(
    input: R,
    budget: &ArchiveBudget,
    visit: impl FnMut(&str, MemberKind, &mut dyn Read) -> io::Result<()>,
) -> Result<(), SevenZError> {
    SevenZReader::open(input, budget)?.read(visit)
}

/// Path and kind of a member, and its CRC-32 if the archive contains it.
pub type SevenZMember = (String, MemberKind, Option<u32>);

/// An archive whose list of members has been read.
pub struct SevenZReader<R: Read + Seek> {
    inner: ArchiveReader<R>,
}

impl<R: Read + Seek> SevenZReader<R> {
    /// Reads the list of members and validates their paths.
    ///
    /// # Errors
    /// [`SevenZError`] if the list cannot be read, a path is unsafe, or the budget is exceeded.
    pub fn open(mut input: R, budget: &ArchiveBudget) -> Result<Self, SevenZError> {
        let mut head = Vec::new();
        Read::by_ref(&mut input)
            .take(SNIFF_BYTES as u64)
            .read_to_end(&mut head)
            .map_err(damaged)?;
        match FileType::detect(&head) {
            FileType::SevenZ => {}
            found => return Err(SevenZError::NotA7z { found }),
        }
        if let Some(header) = header::packed_header(&mut input).map_err(damaged)? {
            let checked = budget.check_header(header.packed, header.unpacked);
            checked.map_err(SevenZError::Limit)?;
        }
        input.rewind().map_err(damaged)?;
        let mut inner = ArchiveReader::new(input, Password::empty()).map_err(failed)?;
        // The library's parallel decoder keeps an unlimited number of parts in memory. See `parts` for this crate's
        // decoder.
        inner.set_thread_count(1);
        for entry in &inner.archive().files {
            member(entry)?;
            let added = budget.add(entry.name(), entry.size());
            added.map_err(SevenZError::Limit)?;
        }
        Ok(Self { inner })
    }

    /// Returns path, kind and checksum of each member, in the order of the blocks. Members without content come last.
    ///
    /// # Errors
    /// Same as [`open`](Self::open).
    pub fn members(&self) -> Result<Vec<SevenZMember>, SevenZError> {
        let archive = self.inner.archive();
        let blocks = &archive.stream_map.file_block_index;
        let entries = || archive.files.iter().zip(blocks);
        let inside = entries().filter(|(_, block)| block.is_some());
        let others = entries().filter(|(_, block)| block.is_none());
        let members = inside.chain(others).map(|(entry, _)| {
            let crc32 = u32::try_from(entry.crc).ok().filter(|_| entry.has_crc);
            Ok(member(entry)?.map(|(path, kind)| (path, kind, crc32)))
        });
        members.filter_map(Result::transpose).collect()
    }

    /// Returns the parts that can be decoded separately, or `None` if they do not cover the entire content.
    /// [`PartSpans`] yields the concatenated contents of all members. `source` must be the same archive.
    ///
    /// # Errors
    /// [`SevenZError::Damaged`] if `source` cannot be read.
    pub fn parts(&self, source: &impl ReadAt) -> Result<Option<Vec<SevenZPart>>, SevenZError> {
        parts::parts(self.inner.archive(), source).map_err(damaged)
    }

    /// Calls `visit` with path, kind and content of each member, in the order of [`members`](Self::members). Content
    /// that `visit` does not read is skipped.
    ///
    /// # Errors
    /// [`SevenZError`]. If `visit` returns an error, reading stops.
    pub fn read(
        mut self,
        mut visit: impl FnMut(&str, MemberKind, &mut dyn Read) -> io::Result<()>,
    ) -> Result<(), SevenZError> {
        // The decoder's error type cannot contain the error of `visit`.
        let mut stopped = None;
        let result = self.inner.for_each_entries(|entry, content| {
            if stopped.is_some() {
                // `false` ends only the current block, so the closure is called again for the next block.
                return Ok(false);
            }
            let Ok(Some((path, kind))) = member(entry) else {
                return Ok(true);
            };
            let mut content = FailureRecorder {
                inner: content,
                failed: false,
            };
            match visit(&path, kind, &mut content) {
                Ok(()) => Ok(true),
                // If decoding fails, `visit` also returns an error.
                Err(error) if content.failed => Err(Error::Io(error, "".into())),
                Err(source) => {
                    stopped = Some(SevenZError::Visitor {
                        member: path,
                        source,
                    });
                    Ok(false)
                }
            }
        });
        match (stopped, result) {
            (Some(error), _) => Err(error),
            (None, result) => result.map_err(failed),
        }
    }
}

/// A reader that records whether reading failed.
struct FailureRecorder<'a> {
    inner: &'a mut dyn Read,
    failed: bool,
}

impl Read for FailureRecorder<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let result = self.inner.read(buf);
        self.failed |= matches!(&result, Err(error) if error.kind() != io::ErrorKind::Interrupted);
        result
    }
}

/// Returns the path and kind of an entry. `None` for the root directory and for entries that mark a deletion.
fn member(entry: &ArchiveEntry) -> Result<Option<(String, MemberKind)>, SevenZError> {
    let name = || entry.name().to_owned();
    if entry.is_anti_item() {
        return Ok(None);
    }
    let attributes = entry.windows_attributes();
    let unix_type = if attributes & UNIX_EXTENSION != 0 {
        attributes >> 16 & 0o170_000
    } else {
        0
    };
    let regular = matches!(unix_type, 0 | 0o100_000 | 0o040_000);
    if entry.has_windows_attributes && (!regular || attributes & REPARSE_POINT != 0) {
        return Err(SevenZError::NotAFile { member: name() });
    }
    let kind = if entry.is_directory() {
        MemberKind::Directory
    } else {
        MemberKind::File { size: entry.size() }
    };
    match paths::normalize(entry.name()) {
        Ok(path) => Ok(Some((path, kind))),
        Err(PathError::Empty) if kind == MemberKind::Directory => Ok(None),
        Err(cause) => Err(SevenZError::UnsafePath {
            member: name(),
            cause,
        }),
    }
}

/// Classifies an error of the codec while reading.
fn failed(error: Error) -> SevenZError {
    match error {
        Error::PasswordRequired | Error::MaybeBadPassword(_) => SevenZError::Encrypted,
        Error::UnsupportedCompressionMethod(method) if method.contains("AES") => {
            SevenZError::Encrypted
        }
        Error::UnsupportedCompressionMethod(method) => SevenZError::UnsupportedMethod { method },
        other => {
            let (reason, source) = reason(other);
            SevenZError::Damaged { reason, source }
        }
    }
}

fn damaged(error: io::Error) -> SevenZError {
    failed(error.into())
}

/// Returns the message of a codec error, and the I/O error inside it. The codec's type does not return the I/O error as
/// its source.
fn reason(error: Error) -> (String, Option<io::Error>) {
    let text = error.to_string();
    match error {
        Error::Io(error, _) => (prep_failure::chain(&error), Some(error)),
        _ => (text, None),
    }
}

/// Writes archives whose bytes depend only on the members: LZMA2, one block per member, no times.
pub struct SevenZWriter<W: Write + Seek> {
    state: WriterState<W>,
    level: u32,
}

enum WriterState<W: Write + Seek> {
    /// All entries so far have no content, and nothing has been written.
    Bare { out: W, entries: Vec<BareEntry> },
    /// Entries have been written.
    Streams(Box<ArchiveWriter<W>>),
    /// An earlier write failed.
    Broken,
}

impl<W: Write + Seek> SevenZWriter<W> {
    /// Writes an archive to `out` with LZMA2 at this level (0 to 9). Nothing is written before the first file with
    /// content, or before the end.
    pub fn new(out: W, level: u32) -> Self {
        let state = WriterState::Bare {
            out,
            entries: Vec::new(),
        };
        Self { state, level }
    }

    /// Adds a directory. An archive may consist of directories only.
    ///
    /// # Errors
    /// [`SevenZError::UnsafePath`], or [`SevenZError::Write`] if writing fails.
    pub fn add_directory(&mut self, path: &str) -> Result<(), SevenZError> {
        self.add_bare(BareEntry {
            path: safe(path)?,
            is_directory: true,
            attributes: DIRECTORY | UNIX_EXTENSION | 0o040_755 << 16,
        })
    }

    /// Adds a file.
    ///
    /// # Errors
    /// [`SevenZError::UnsafePath`], or [`SevenZError::Write`] if writing fails.
    pub fn add_file(&mut self, path: &str, content: impl Read) -> Result<(), SevenZError> {
        let path = safe(path)?;
        let mut content = io::BufReader::new(content);
        // A block without bytes is invalid, so an empty file is an entry without content.
        let is_empty = io::BufRead::fill_buf(&mut content)
            .map_err(|error| not_written(error.into()))?
            .is_empty();
        let bare = BareEntry {
            path,
            is_directory: false,
            attributes: UNIX_EXTENSION | 0o100_644 << 16,
        };
        if is_empty {
            return self.add_bare(bare);
        }
        let entry = archive_entry(&bare);
        self.streams()?
            .push_archive_entry(entry, Some(content))
            .map(drop)
            .map_err(not_written)
    }

    fn add_bare(&mut self, entry: BareEntry) -> Result<(), SevenZError> {
        if let WriterState::Bare { entries, .. } = &mut self.state {
            entries.push(entry);
            return Ok(());
        }
        let entry = archive_entry(&entry);
        self.streams()?
            .push_archive_entry::<io::Empty>(entry, None)
            .map(drop)
            .map_err(not_written)
    }

    /// Returns the writer of an archive with content. On the first call, writes the entries collected so far.
    fn streams(&mut self) -> Result<&mut ArchiveWriter<W>, SevenZError> {
        if let WriterState::Bare { .. } = self.state {
            let WriterState::Bare { out, entries } =
                std::mem::replace(&mut self.state, WriterState::Broken)
            else {
                return Err(broken());
            };
            let mut inner = ArchiveWriter::new(out).map_err(not_written)?;
            let lzma2 = EncoderConfiguration::new(EncoderMethod::LZMA2)
                .with_options(Lzma2Options::from_level(self.level).into());
            inner.set_content_methods(vec![lzma2]);
            for entry in &entries {
                let entry = archive_entry(entry);
                inner
                    .push_archive_entry::<io::Empty>(entry, None)
                    .map_err(not_written)?;
            }
            self.state = WriterState::Streams(Box::new(inner));
        }
        match &mut self.state {
            WriterState::Streams(inner) => Ok(inner),
            _ => Err(broken()),
        }
    }

    /// Writes the list of members and returns the output.
    ///
    /// # Errors
    /// [`SevenZError::Write`] if writing fails.
    pub fn finish(self) -> Result<W, SevenZError> {
        match self.state {
            WriterState::Bare { mut out, entries } => {
                bare::write(&mut out, &entries).map_err(|error| not_written(error.into()))?;
                Ok(out)
            }
            WriterState::Streams(inner) => {
                inner.finish().map_err(|error| not_written(error.into()))
            }
            WriterState::Broken => Err(broken()),
        }
    }
}

fn broken() -> SevenZError {
    not_written(io::Error::other("an earlier write failed").into())
}

fn archive_entry(bare: &BareEntry) -> ArchiveEntry {
    let mut entry = if bare.is_directory {
        ArchiveEntry::new_directory(&bare.path)
    } else {
        ArchiveEntry::new_file(&bare.path)
    };
    entry.has_windows_attributes = true;
    entry.windows_attributes = bare.attributes;
    // Times are the Unix epoch, because some tools show a missing date as 1601.
    entry.has_last_modified_date = true;
    entry.last_modified_date = NtTime::UNIX_EPOCH;
    entry
}

fn safe(path: &str) -> Result<String, SevenZError> {
    paths::normalize(path).map_err(|cause| SevenZError::UnsafePath {
        member: path.to_owned(),
        cause,
    })
}

fn not_written(error: Error) -> SevenZError {
    let (reason, source) = reason(error);
    SevenZError::Write { reason, source }
}
