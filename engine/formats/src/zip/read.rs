//! Reads the content of a member: sequentially, entirely, or while an index for random access is built.

use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::io::{self, BufRead, BufReader, Read};

use super::error::ZipError;
use super::member::{LOCAL_HEADER_BYTES, ZipEntry, ZipMethod};
use crate::deflate::{Decoded, Inflater, Stop};
use crate::inflated::{InflateIndex, InflateIndexer, WindowStore};
use crate::read_at::{ByteSection, ReadAt};

/// Compressed data are read in chunks of at most this size in bytes. Smaller chunks would be slower, because the
/// decoder is slow near the end of each chunk.
const BUFFER_BYTES: u64 = 256 * 1024;

impl ZipEntry {
    /// Opens the member for reading.
    pub fn open<R: ReadAt>(&self, base: R) -> Result<MemberReader<'_, R>, ZipError> {
        MemberReader::new(Cow::Borrowed(self), base)
    }

    /// Like [`open`](Self::open), but the reader owns the entry.
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
                Content::Deflate(Box::new(DeflateReader::new(BufReader::with_capacity(
                    chunk_bytes,
                    section,
                ))))
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

/// Reads the content of a member. All errors contain a [`ZipError`].
///
/// The read that returns the last bytes fails if the size or CRC is wrong. Therefore content that was read to the end is
/// verified.
#[derive(Debug)]
pub struct MemberReader<'a, R: ReadAt> {
    entry: Cow<'a, ZipEntry>,
    content: Content<R>,
    crc: crc32fast::Hasher,
    done: u64,
    ended: bool,
}

#[derive(Debug)]
enum Content<R: ReadAt> {
    Stored(ByteSection<R>),
    Deflate(Box<DeflateReader<BufReader<ByteSection<R>>>>),
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
    /// Reads content. After the last byte, verifies the size and the CRC of the entire content.
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

    /// Checks that the content ends here, and verifies the compressed size and the CRC.
    fn end(&mut self) -> Result<(), ZipError> {
        self.ended = true;
        let mut extra = [0];
        let more = self
            .content
            .read(&mut extra)
            .map_err(|error| self.failed(error))?;
        self.entry.check_length(self.done + more as u64)?;
        if let Content::Deflate(decoder) = &self.content {
            self.entry.check_used(decoder.used)?;
        }
        self.entry.check_crc(self.crc.clone().finalize())
    }

    fn failed(&self, error: io::Error) -> ZipError {
        self.entry.failed(error)
    }
}

impl ZipEntry {
    /// Compares the length of the content with the declared size. `actual` is the number of decoded bytes.
    fn check_length(&self, actual: u64) -> Result<(), ZipError> {
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

    /// Compares the number of bytes in the deflate stream with the declared compressed size.
    fn check_used(&self, used: u64) -> Result<(), ZipError> {
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

    fn check_crc(&self, actual: u32) -> Result<(), ZipError> {
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

    /// Converts an error of the decoder, or an error from reading the archive.
    fn failed(&self, error: io::Error) -> ZipError {
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

/// Number of bytes reserved for the extra fields of a local header.
const USUAL_EXTRA_BYTES: usize = 64;

/// A compressed byte encodes at most this number of bytes, because two bits can repeat 258 bytes.
const MAX_RATIO: usize = 4 * 258;

/// Reads entire members. Header and data are read at once and buffers are reused, which is faster for small members.
#[derive(Debug, Default)]
pub struct MemberInflater {
    decoder: Inflater,
    record: Vec<u8>,
}

impl MemberInflater {
    /// Replaces `content` with the verified content of the member. After an error, `content` is empty.
    ///
    /// Memory usage is the sum of the member's uncompressed and compressed size. For large members, use [`ZipEntry::open`].
    pub fn read_into<R: ReadAt + ?Sized>(
        &mut self,
        base: &R,
        entry: &ZipEntry,
        content: &mut Vec<u8>,
    ) -> Result<(), ZipError> {
        content.clear();
        let result = self.read(base, entry, content);
        if result.is_err() {
            content.clear();
        }
        result
    }

    fn read<R: ReadAt + ?Sized>(
        &mut self,
        base: &R,
        entry: &ZipEntry,
        content: &mut Vec<u8>,
    ) -> Result<(), ZipError> {
        let data = self.fetch(base, entry)?;
        match entry.method {
            ZipMethod::Stored => content.extend_from_slice(data),
            ZipMethod::Deflate => self.inflate(entry, content)?,
        }
        entry.check_crc(crc32fast::hash(content))
    }

    /// Reads the local header and the compressed data, and checks the header. Returns the compressed data.
    fn fetch<R: ReadAt + ?Sized>(&mut self, base: &R, entry: &ZipEntry) -> Result<&[u8], ZipError> {
        let room =
            usize::try_from(entry.limit.saturating_sub(entry.header_offset)).unwrap_or(usize::MAX);
        let compressed = usize::try_from(entry.compressed_size).unwrap_or(usize::MAX);
        let guess = compressed
            .saturating_add(LOCAL_HEADER_BYTES + entry.path.len() + USUAL_EXTRA_BYTES)
            .min(room);
        self.record.resize(guess, 0);
        entry.read_at(base, &mut self.record, 0)?;
        let header = entry.header_length(&self.record)?;
        let needed = header.saturating_add(compressed).min(room);
        if needed > guess {
            self.record.resize(needed, 0);
            let rest = self.record.get_mut(guess..).unwrap_or_default();
            entry.read_at(base, rest, guess as u64)?;
        }
        entry.check_header(&self.record)?;
        self.record.truncate(header + compressed);
        self.record.drain(..header.min(self.record.len()));
        Ok(&self.record)
    }

    /// Decompresses the data in `record` into `content`, and verifies the sizes.
    fn inflate(&mut self, entry: &ZipEntry, content: &mut Vec<u8>) -> Result<(), ZipError> {
        let corrupt = |reason: String| ZipError::Corrupt {
            member: entry.path.clone(),
            offset: entry.header_offset,
            reason,
        };
        let size = usize::try_from(entry.size).unwrap_or(usize::MAX);
        content
            .try_reserve(size.saturating_add(1))
            .map_err(|error| corrupt(format!("{size} bytes cannot be allocated ({error})")))?;
        // The buffer has one byte more than the declared size, so that content that is too long is detected. `MAX_RATIO`
        // limits the buffer if the declared size is too large.
        let max_bytes = self
            .record
            .len()
            .saturating_add(1)
            .saturating_mul(MAX_RATIO);
        content.resize(size.saturating_add(1).min(max_bytes), 0);
        self.decoder.reset();
        let decoded = self.decoder.decode(&self.record, content);
        let Decoded {
            used,
            written,
            stop,
        } = decoded.map_err(|error| corrupt(error.to_string()))?;
        content.truncate(written);
        let actual = written as u64;
        if actual <= entry.size && stop != Stop::End {
            return Err(corrupt("the deflate stream is truncated".to_owned()));
        }
        entry.check_length(actual)?;
        entry.check_used(used as u64)
    }
}

/// Reads a compressed member like [`MemberReader`], and builds an index for later random access.
pub struct MemberIndexer<'a, R: ReadAt> {
    entry: &'a ZipEntry,
    inner: InflateIndexer<'a, ByteSection<R>>,
}

impl ZipEntry {
    /// Opens a compressed member for reading and indexing. Returns `None` for a stored member, which needs no index.
    ///
    /// The index divides the content into spans. Later, decoding can start at the beginning of each span. For this purpose,
    /// `windows` stores the 32 KiB of content before the span.
    ///
    /// # Errors
    /// Same as [`ZipEntry::locate`], and I/O errors of `windows`.
    pub fn indexer<'a, R: ReadAt>(
        &'a self,
        base: R,
        windows: &'a dyn WindowStore,
    ) -> Result<Option<MemberIndexer<'a, R>>, ZipError> {
        if self.method == ZipMethod::Stored {
            return Ok(None);
        }
        let range = self.locate(&base)?;
        let inner = InflateIndexer::new(ByteSection::new(base, range), windows);
        let inner = inner.map_err(|error| self.failed(error))?;
        Ok(Some(MemberIndexer { entry: self, inner }))
    }
}

impl<R: ReadAt> MemberIndexer<'_, R> {
    /// Reads the rest of the member, verifies its size and CRC, and returns the index.
    ///
    /// Returns `None` if a deflate block is too long, or if the index would have too many spans.
    pub fn finish(self) -> Result<Option<InflateIndex>, ZipError> {
        let entry = self.entry;
        let indexed = self.inner.finish(entry.size);
        let indexed = indexed.map_err(|error| entry.failed(error))?;
        entry.check_length(indexed.len)?;
        entry.check_used(indexed.used)?;
        entry.check_crc(indexed.crc32)?;
        Ok(indexed.index)
    }
}

/// All errors contain a [`ZipError`].
impl<R: ReadAt> Read for MemberIndexer<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer);
        read.map_err(|error| self.entry.failed(error).into())
    }
}

thread_local! {
    /// The decoder of the [`DeflateReader`] that was dropped last.
    static SPARE: RefCell<Option<Inflater>> = const { RefCell::new(None) };
}

/// Reads the content of a raw deflate stream.
///
/// Reuses the last decoder of the thread. Otherwise, a new decoder of 40 KB for each small member would fragment the heap.
#[derive(Debug)]
pub(super) struct DeflateReader<R> {
    input: R,
    /// `Some` until the reader is dropped.
    decoder: Option<Inflater>,
    /// Number of compressed bytes that were decoded.
    used: u64,
    has_ended: bool,
}

impl<R: BufRead> DeflateReader<R> {
    pub(super) fn new(input: R) -> Self {
        let spare = SPARE.try_with(RefCell::take).ok().flatten();
        let mut decoder = spare.unwrap_or_default();
        decoder.reset();
        DeflateReader {
            input,
            decoder: Some(decoder),
            used: 0,
            has_ended: false,
        }
    }
}

impl<R: BufRead> Read for DeflateReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let Some(decoder) = self.decoder.as_mut().filter(|_| !self.has_ended) else {
            return Ok(0);
        };
        loop {
            let input = self.input.fill_buf()?;
            let is_end = input.is_empty();
            let corrupt = |_| io::Error::new(io::ErrorKind::InvalidInput, "corrupt deflate stream");
            let decoded = decoder.decode(input, buf).map_err(corrupt)?;
            self.input.consume(decoded.used);
            self.used += decoded.used as u64;
            self.has_ended = decoded.stop == Stop::End;
            if self.has_ended || decoded.written > 0 || buf.is_empty() {
                return Ok(decoded.written);
            }
            if is_end {
                let incomplete = "incomplete deflate stream";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, incomplete));
            }
        }
    }
}

impl<R> Drop for DeflateReader<R> {
    fn drop(&mut self) {
        // When the thread ends, `SPARE` may already be destroyed. The decoder is then dropped.
        let _ = SPARE.try_with(|spare| spare.replace(self.decoder.take()));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    use super::*;

    /// Readers of the same thread reuse one decoder, whose state must not affect the next stream.
    #[test]
    fn a_stream_is_decoded_after_one_that_was_damaged_or_not_read_to_its_end() {
        let text: Vec<u8> = (0..50_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&text).unwrap();
        let packed = encoder.finish().unwrap();
        let is_read = || {
            let mut reader = DeflateReader::new(packed.as_slice());
            let mut found = Vec::new();
            reader.read_to_end(&mut found).unwrap();
            found == text && reader.used == packed.len() as u64
        };
        assert!(is_read());
        DeflateReader::new(packed.as_slice())
            .read_exact(&mut [0; 100])
            .unwrap();
        assert!(is_read());
        assert!(
            DeflateReader::new([0xff; 9].as_slice())
                .read(&mut [0; 9])
                .is_err()
        );
        assert!(is_read());
        let two = [0; 2].map(|_| DeflateReader::new(packed.as_slice()));
        for mut reader in two {
            let mut found = Vec::new();
            reader.read_to_end(&mut found).unwrap();
            assert!(found == text);
        }
        let mut cut = DeflateReader::new(packed.get(..packed.len() / 2).unwrap());
        let error = cut.read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
