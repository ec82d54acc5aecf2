//! Writes 7z archives.
//!
//! The crate `sevenz_rust2` writes archives with content. For an archive of directories and empty files, the crate would
//! write an empty list of streams, which py7zr rejects. Therefore this module itself writes the header of such an archive.

use std::io::{self, Read, Seek, Write};

use sevenz_rust2::encoder_options::Lzma2Options;
use sevenz_rust2::{
    ArchiveEntry, ArchiveWriter, EncoderConfiguration, EncoderMethod, Error, NtTime,
};

use super::parts::reason;
use crate::archive::member::{ArchiveError, safe};

/// Attribute flag of 7-Zip and py7zr: the upper 16 bits of the attributes contain the Unix mode.
pub(super) const UNIX_EXTENSION: u32 = 0x8000;
/// Windows' attribute of a directory.
const DIRECTORY: u32 = 0x10;

/// Writes archives whose bytes depend only on the members: LZMA2, one block per member, no times.
pub struct SevenZWriter<W: Write + Seek> {
    state: WriterState<W>,
    level: u32,
}

/// The entries that were added, and whether writing has begun.
enum WriterState<W: Write + Seek> {
    /// All entries so far have no content, and nothing has been written.
    Bare { out: W, entries: Vec<BareEntry> },
    /// Some entries have content.
    Streams(Box<ArchiveWriter<W>>),
    /// An earlier write failed.
    Broken,
}

impl<W: Write + Seek> SevenZWriter<W> {
    /// Creates an archive that is compressed with LZMA2 at the level `level` (0 to 9).
    ///
    /// Writing to `out` begins with the first file that has content. If there is no such file, [`finish`](Self::finish)
    /// writes the archive.
    pub fn new(out: W, level: u32) -> Self {
        let state = WriterState::Bare {
            out,
            entries: Vec::new(),
        };
        Self { state, level }
    }

    /// Adds a directory. An archive may consist of directories only.
    pub fn add_directory(&mut self, path: &str) -> Result<(), ArchiveError> {
        self.add_bare(BareEntry {
            path: safe(path)?,
            is_directory: true,
            attributes: DIRECTORY | UNIX_EXTENSION | 0o040_755 << 16,
        })
    }

    /// Adds a file.
    pub fn add_file(&mut self, path: &str, content: impl Read) -> Result<(), ArchiveError> {
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

    /// Adds an entry without content.
    fn add_bare(&mut self, entry: BareEntry) -> Result<(), ArchiveError> {
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

    /// Returns the writer of an archive with content. The first call writes the entries collected so far.
    fn streams(&mut self) -> Result<&mut ArchiveWriter<W>, ArchiveError> {
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
    pub fn finish(self) -> Result<W, ArchiveError> {
        match self.state {
            WriterState::Bare { mut out, entries } => {
                write_bare(&mut out, &entries).map_err(|error| not_written(error.into()))?;
                Ok(out)
            }
            WriterState::Streams(inner) => {
                inner.finish().map_err(|error| not_written(error.into()))
            }
            WriterState::Broken => Err(broken()),
        }
    }
}

fn broken() -> ArchiveError {
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

fn not_written(error: Error) -> ArchiveError {
    let (reason, source) = reason(error);
    ArchiveError::Write {
        format: "7z",
        reason: format!(": {reason}"),
        source,
    }
}

/// Property numbers of the 7z header, from `7zFormat.txt` of the LZMA SDK.
const END: u8 = 0x00;
const HEADER: u8 = 0x01;
const FILES_INFO: u8 = 0x05;
const EMPTY_STREAM: u8 = 0x0E;
const EMPTY_FILE: u8 = 0x0F;
const NAMES: u8 = 0x11;
const ATTRIBUTES: u8 = 0x15;

/// An entry without content: a directory or an empty file.
struct BareEntry {
    path: String,
    is_directory: bool,
    attributes: u32,
}

/// Writes an archive whose entries have no content.
fn write_bare(mut out: impl Write, entries: &[BareEntry]) -> io::Result<()> {
    let header = if entries.is_empty() {
        Vec::new()
    } else {
        bare_header(entries)
    };
    // The offset, length and CRC-32 of the header, which follows immediately.
    let mut start = Vec::with_capacity(20);
    start.extend_from_slice(&0_u64.to_le_bytes());
    start.extend_from_slice(&(header.len() as u64).to_le_bytes());
    start.extend_from_slice(&crc32fast::hash(&header).to_le_bytes());
    out.write_all(b"7z\xBC\xAF\x27\x1C\x00\x04")?;
    out.write_all(&crc32fast::hash(&start).to_le_bytes())?;
    out.write_all(&start)?;
    out.write_all(&header)
}

/// Returns the header of an archive whose entries have no content.
fn bare_header(entries: &[BareEntry]) -> Vec<u8> {
    let mut header = vec![HEADER, FILES_INFO];
    push_number(&mut header, entries.len() as u64);
    property(
        &mut header,
        EMPTY_STREAM,
        &bits(entries.iter().map(|_| true)),
    );
    if entries.iter().any(|entry| !entry.is_directory) {
        property(
            &mut header,
            EMPTY_FILE,
            &bits(entries.iter().map(|entry| !entry.is_directory)),
        );
    }
    // The first byte means that the names are not in a separate stream.
    let mut names = vec![0];
    for entry in entries {
        names.extend(
            entry
                .path
                .encode_utf16()
                .chain([0])
                .flat_map(u16::to_le_bytes),
        );
    }
    property(&mut header, NAMES, &names);
    // All attributes are defined, and they are not in a separate stream.
    let mut attributes = vec![1, 0];
    attributes.extend(
        entries
            .iter()
            .flat_map(|entry| entry.attributes.to_le_bytes()),
    );
    property(&mut header, ATTRIBUTES, &attributes);
    header.extend([END, END]);
    header
}

/// Appends a property: its number, its length and its content.
fn property(header: &mut Vec<u8>, kind: u8, content: &[u8]) {
    header.push(kind);
    push_number(header, content.len() as u64);
    header.extend_from_slice(content);
}

/// Packs bits into bytes, highest bit first.
fn bits(values: impl Iterator<Item = bool>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, value) in values.enumerate() {
        if index % 8 == 0 {
            bytes.push(0);
        }
        if let Some(last) = bytes.last_mut() {
            *last |= u8::from(value) << (7 - index % 8);
        }
    }
    bytes
}

/// Appends an integer in 7z's encoding. The number of leading ones in the first byte is the number of following bytes, which
/// are in little-endian order.
fn push_number(out: &mut Vec<u8>, value: u64) {
    let extra = (0..8)
        .find(|extra| value < 1 << (7 * (extra + 1)))
        .unwrap_or(8);
    if extra == 8 {
        out.push(0xFF);
    } else {
        let ones = !(0xFF_u16 >> extra) as u8;
        out.push(ones | (value >> (8 * extra)) as u8);
    }
    out.extend_from_slice(&value.to_le_bytes()[..extra]);
}
