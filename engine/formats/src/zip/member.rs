//! Reads the content of a member sequentially.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::io::{self, BufReader, Read};

use super::deflate::DeflateReader;
use super::entry::{ZipEntry, ZipMethod};
use super::error::ZipError;
use crate::read_at::{ByteSection, ReadAt};

/// Maximum size in bytes of the chunks in which compressed data are read. At the end of each chunk, the decoder copies
/// its window and is slower.
const BUFFER_BYTES: u64 = 256 * 1024;

impl ZipEntry {
    /// Opens the member for reading.
    ///
    /// # Errors
    /// Same as [`ZipEntry::locate`].
    pub fn open<R: ReadAt>(&self, base: R) -> Result<MemberReader<'_, R>, ZipError> {
        MemberReader::new(Cow::Borrowed(self), base)
    }

    /// Opens the member for reading. The reader owns the entry.
    ///
    /// # Errors
    /// Same as [`ZipEntry::locate`].
    pub fn into_reader<R: ReadAt>(self, base: R) -> Result<MemberReader<'static, R>, ZipError> {
        MemberReader::new(Cow::Owned(self), base)
    }
}

impl<'a, R: ReadAt> MemberReader<'a, R> {
    fn new(entry: Cow<'a, ZipEntry>, base: R) -> Result<Self, ZipError> {
        let range = entry.locate(&base)?;
        let section = ByteSection::new(base, range);
        let content = match entry.method {
            ZipMethod::Stored => Content::Stored(section),
            ZipMethod::Deflate => {
                let chunk_bytes = entry.compressed_size.clamp(1, BUFFER_BYTES) as usize;
                Content::Deflate(DeflateReader::new(BufReader::with_capacity(
                    chunk_bytes,
                    section,
                )))
            }
        };
        let crc = crc32fast::Hasher::new();
        Ok(MemberReader {
            entry,
            content,
            crc,
            done: 0,
            ended: false,
        })
    }
}

/// Reads the content of a member and verifies its size and CRC.
///
/// The read that returns the last bytes fails if the size or CRC differs from the declared one. So a caller that reads
/// to the end has verified bytes. No more bytes than declared are returned. All errors contain a [`ZipError`].
#[derive(Debug)]
pub struct MemberReader<'a, R: ReadAt> {
    entry: Cow<'a, ZipEntry>,
    content: Content<R>,
    crc: crc32fast::Hasher,
    /// Number of bytes returned.
    done: u64,
    /// Whether size and CRC have been verified.
    ended: bool,
}

#[derive(Debug)]
enum Content<R: ReadAt> {
    Stored(ByteSection<R>),
    Deflate(DeflateReader<BufReader<ByteSection<R>>>),
}

impl<R: ReadAt> Content<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Stored(section) => section.read(buf),
            Self::Deflate(decoder) => decoder.read(buf),
        }
    }
}

impl<R: ReadAt> MemberReader<'_, R> {
    fn read_checked(&mut self, buf: &mut [u8]) -> Result<usize, ZipError> {
        if self.ended {
            return Ok(0);
        }
        let left = self.entry.size - self.done;
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(buf.len());
        let part = buf.get_mut(..count).unwrap_or_default();
        let read = if part.is_empty() {
            0
        } else {
            self.content
                .read(part)
                .map_err(|error| self.failed(error))?
        };
        if read == 0 && left > 0 {
            self.entry.check_length(self.done)?;
        }
        self.crc.update(part.get(..read).unwrap_or_default());
        self.done += read as u64;
        if self.done == self.entry.size {
            self.end()?;
        }
        Ok(read)
    }

    /// Verifies size and CRC after all declared bytes were read.
    fn end(&mut self) -> Result<(), ZipError> {
        self.ended = true;
        let mut extra = [0];
        let more = self
            .content
            .read(&mut extra)
            .map_err(|error| self.failed(error))?;
        self.entry.check_length(self.done + more as u64)?;
        if let Content::Deflate(decoder) = &self.content {
            self.entry.check_used(decoder.total_in())?;
        }
        self.entry.check_crc(self.crc.clone().finalize())
    }

    fn failed(&self, error: io::Error) -> ZipError {
        self.entry.failed(error)
    }
}

impl ZipEntry {
    /// Compares the length of the content with the declared size. If the content is too long, `actual` may be smaller
    /// than its real length.
    pub(super) fn check_length(&self, actual: u64) -> Result<(), ZipError> {
        let (member, offset, size) = (self.path.clone(), self.header_offset, self.size);
        match actual.cmp(&size) {
            Ordering::Equal => Ok(()),
            Ordering::Greater => Err(ZipError::TooLong {
                member,
                offset,
                size,
            }),
            Ordering::Less => Err(ZipError::TooShort {
                member,
                offset,
                size,
                actual,
            }),
        }
    }

    /// Compares the length of the deflate stream with the declared compressed size.
    pub(super) fn check_used(&self, used: u64) -> Result<(), ZipError> {
        if used == self.compressed_size {
            return Ok(());
        }
        let total = self.compressed_size;
        Err(ZipError::Corrupt {
            member: self.path.clone(),
            offset: self.header_offset,
            reason: format!("the deflate stream ends after {used} of {total} bytes"),
        })
    }

    /// Compares the CRC of the content with the declared one.
    pub(super) fn check_crc(&self, actual: u32) -> Result<(), ZipError> {
        if actual == self.crc32 {
            return Ok(());
        }
        Err(ZipError::WrongCrc {
            member: self.path.clone(),
            offset: self.header_offset,
            expected: self.crc32,
            actual,
        })
    }

    /// Classifies an error of the decoder or the base file.
    pub(super) fn failed(&self, error: io::Error) -> ZipError {
        match error.kind() {
            io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidData
            | io::ErrorKind::UnexpectedEof => ZipError::Corrupt {
                member: self.path.clone(),
                offset: self.header_offset,
                reason: prep_failure::chain(&error),
            },
            _ => ZipError::Io {
                offset: self.header_offset,
                source: error,
            },
        }
    }
}

impl<R: ReadAt> Read for MemberReader<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        self.read_checked(buf).map_err(Into::into)
    }
}
