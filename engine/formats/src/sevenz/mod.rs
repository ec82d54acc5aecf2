//! 7z archives: read in sequence or in [parts](Part), written deterministically.
//!
//! Solid archives hold many members in one compressed block, so members come in
//! the order of the blocks and cannot be read singly without decoding what
//! stands before them. Where their streams begin anew, stretches of many
//! members can be decoded side by side.

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
use crate::sniff::{Looks, SNIFF_LENGTH};
use bare::BareEntry;
pub use parts::{Coder, Decoded, Part};

/// Unix mode bits in the attributes of an entry, as 7-Zip and py7zr store them.
const UNIX_EXTENSION: u32 = 0x8000;
/// Windows' attribute of a folder.
const DIRECTORY: u32 = 0x10;
/// Windows' attribute of a link.
const REPARSE_POINT: u32 = 0x400;

/// Why an archive or member is refused.
#[derive(Debug, thiserror::Error)]
pub enum SevenZError {
    /// The bytes are something else.
    #[error("got {found}, expected a 7z archive; fetch the file again")]
    NotA7z {
        /// What it looks like.
        found: Looks,
    },
    /// A password is needed.
    #[error("the 7z archive is encrypted; only archives without a password can be read")]
    Encrypted,
    /// A compression method that is not built in.
    #[error(
        "the 7z archive uses the method {method}; LZMA, LZMA2, Deflate, Copy and the BCJ and Delta filters can be read"
    )]
    UnsupportedMethod {
        /// Name of the method.
        method: String,
    },
    /// The member's name could lead out of the target folder.
    #[error("member {member:?} has an unsafe path: {cause}")]
    UnsafePath {
        /// Member name.
        member: String,
        /// The rule that it breaks.
        #[source]
        cause: PathError,
    },
    /// The member is a link or special file.
    #[error("member {member:?} is a link or special file; only files and folders are extracted")]
    NotAFile {
        /// Member name.
        member: String,
    },
    /// The members are more than allowed, or declare more bytes.
    #[error("{0}")]
    Limit(#[source] LimitExceeded),
    /// The archive is damaged or cut off, or a member's CRC is wrong.
    #[error("the 7z archive is damaged or cut off ({reason}); fetch it again")]
    Damaged {
        /// What the decoder says.
        reason: String,
        /// The failure to read behind it, if there is one.
        #[source]
        source: Option<io::Error>,
    },
    /// The visitor of the members failed.
    #[error("member {member:?} of the 7z archive cannot be processed")]
    Visitor {
        /// Member name.
        member: String,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// Writing failed.
    #[error("writing the 7z archive failed: {reason}")]
    Write {
        /// Cause.
        reason: String,
        /// The failure to read the content or to write the archive behind it, if there is one.
        #[source]
        source: Option<io::Error>,
    },
}

/// [`SevenZReader::open`] and [`SevenZReader::read`].
///
/// # Errors
/// Theirs.
pub fn read<R: Read + Seek>(
    input: R,
    budget: &ArchiveBudget,
    visit: impl FnMut(&str, MemberKind, &mut dyn Read) -> io::Result<()>,
) -> Result<(), SevenZError> {
    SevenZReader::open(input, budget)?.read(visit)
}

/// Path and kind of a member, and its CRC-32 if it is told.
pub type Listed = (String, MemberKind, Option<u32>);

/// An archive whose directory was read.
pub struct SevenZReader<R: Read + Seek> {
    inner: ArchiveReader<R>,
}

impl<R: Read + Seek> SevenZReader<R> {
    /// Reads the directory. All names are checked.
    ///
    /// # Errors
    /// [`SevenZError`].
    pub fn open(mut input: R, budget: &ArchiveBudget) -> Result<Self, SevenZError> {
        let mut head = Vec::new();
        Read::by_ref(&mut input)
            .take(SNIFF_LENGTH as u64)
            .read_to_end(&mut head)
            .map_err(damaged)?;
        match Looks::of(&head) {
            Looks::SevenZ => {}
            found => return Err(SevenZError::NotA7z { found }),
        }
        if let Some(header) = header::packed_header(&mut input).map_err(damaged)? {
            let checked = budget.check_header(header.packed, header.unpacked);
            checked.map_err(SevenZError::Limit)?;
        }
        input.rewind().map_err(damaged)?;
        let mut inner = ArchiveReader::new(input, Password::empty()).map_err(failed)?;
        // Its decoder for several threads holds any number of parts; see `parts`.
        inner.set_thread_count(1);
        for entry in &inner.archive().files {
            member(entry)?;
            let added = budget.add(entry.name(), entry.size());
            added.map_err(SevenZError::Limit)?;
        }
        Ok(Self { inner })
    }

    /// Path, kind and checksum of every member, in the order of the blocks; members without content last.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn members(&self) -> Result<Vec<Listed>, SevenZError> {
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

    /// What can be decoded by itself, if that is all of the content: the [content](Decoded) of all members, one behind the
    /// other. `source` is the archive once more.
    ///
    /// # Errors
    /// [`SevenZError::Damaged`]: `source` cannot be read.
    pub fn parts(&self, source: &impl ReadAt) -> Result<Option<Vec<Part>>, SevenZError> {
        parts::parts(self.inner.archive(), source).map_err(damaged)
    }

    /// Calls `visit` with path, kind and content of every member, in the order of [`members`](Self::members). What it
    /// leaves unread is skipped.
    ///
    /// # Errors
    /// [`SevenZError`]; an error of `visit` ends the reading.
    pub fn read(
        mut self,
        mut visit: impl FnMut(&str, MemberKind, &mut dyn Read) -> io::Result<()>,
    ) -> Result<(), SevenZError> {
        // The decoder's error type cannot carry the visitor's.
        let mut stopped = None;
        let result = self.inner.for_each_entries(|entry, content| {
            if stopped.is_some() {
                // The next block.
                return Ok(false);
            }
            let Ok(Some((path, kind))) = member(entry) else {
                return Ok(true);
            };
            let mut content = Watched {
                inner: content,
                failed: false,
            };
            match visit(&path, kind, &mut content) {
                Ok(()) => Ok(true),
                // A failure to decode comes out of the visitor as well.
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

/// Notes whether reading failed.
struct Watched<'a> {
    inner: &'a mut dyn Read,
    failed: bool,
}

impl Read for Watched<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let result = self.inner.read(buf);
        self.failed |= matches!(&result, Err(error) if error.kind() != io::ErrorKind::Interrupted);
        result
    }
}

/// Path and kind of an entry; `None` for the root folder and for marks that an
/// item was deleted.
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

/// What an error of the codec says, and the I/O error behind it: its own type does not lead there.
fn reason(error: Error) -> (String, Option<io::Error>) {
    let text = error.to_string();
    match error {
        Error::Io(error, _) => (error.to_string(), Some(error)),
        _ => (text, None),
    }
}

/// Writes archives whose bytes depend on nothing but their members: LZMA2, one
/// block per member, no times.
pub struct SevenZWriter<W: Write + Seek> {
    state: State<W>,
    level: u32,
}

enum State<W: Write + Seek> {
    /// Entries without content so far; nothing is written yet.
    Bare {
        out: W,
        entries: Vec<BareEntry>,
    },
    Streams(Box<ArchiveWriter<W>>),
    /// A write failed.
    Broken,
}

impl<W: Write + Seek> SevenZWriter<W> {
    /// An archive on `out`, with LZMA2 at this level (0 to 9). Nothing is written before the first content or the end.
    pub fn new(out: W, level: u32) -> Self {
        let state = State::Bare {
            out,
            entries: Vec::new(),
        };
        Self { state, level }
    }

    /// Adds a folder. An archive may consist of folders only.
    ///
    /// # Errors
    /// [`SevenZError::UnsafePath`], [`SevenZError::Write`].
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
    /// [`SevenZError::UnsafePath`], [`SevenZError::Write`].
    pub fn add_file(&mut self, path: &str, content: impl Read) -> Result<(), SevenZError> {
        let path = safe(path)?;
        let mut content = io::BufReader::new(content);
        // A block without bytes is not valid: an empty file is an entry only.
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
        if let State::Bare { entries, .. } = &mut self.state {
            entries.push(entry);
            return Ok(());
        }
        let entry = archive_entry(&entry);
        self.streams()?
            .push_archive_entry::<io::Empty>(entry, None)
            .map(drop)
            .map_err(not_written)
    }

    /// The writer of an archive with content; on the way there the entries so far are written.
    fn streams(&mut self) -> Result<&mut ArchiveWriter<W>, SevenZError> {
        if let State::Bare { .. } = self.state {
            let State::Bare { out, entries } = std::mem::replace(&mut self.state, State::Broken)
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
            self.state = State::Streams(Box::new(inner));
        }
        match &mut self.state {
            State::Streams(inner) => Ok(inner),
            _ => Err(broken()),
        }
    }

    /// Writes the directory of the archive; returns the output.
    ///
    /// # Errors
    /// [`SevenZError::Write`].
    pub fn finish(self) -> Result<W, SevenZError> {
        match self.state {
            State::Bare { mut out, entries } => {
                bare::write(&mut out, &entries).map_err(|error| not_written(error.into()))?;
                Ok(out)
            }
            State::Streams(inner) => inner.finish().map_err(|error| not_written(error.into())),
            State::Broken => Err(broken()),
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
    // The Unix epoch; a date that is absent shows as 1601 in some tools.
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
