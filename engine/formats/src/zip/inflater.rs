//! Reads an entire member at once. One read of the base file returns both header and data. This is faster for archives
//! with many small members, such as images.

use flate2::{Decompress, FlushDecompress, Status};

use super::entry::{ZipEntry, ZipMethod};
use super::error::ZipError;
use super::local::LOCAL_HEADER_BYTES;
use crate::read_at::ReadAt;

/// Number of bytes reserved for the extra fields of a local header.
const USUAL_EXTRA_BYTES: usize = 64;

/// Reads entire members. Its buffers and its decoder are reused for the next member.
#[derive(Debug)]
pub struct MemberInflater {
    decoder: Decompress,
    record: Vec<u8>,
}

impl Default for MemberInflater {
    fn default() -> Self {
        Self {
            decoder: Decompress::new(false),
            record: Vec::new(),
        }
    }
}

impl MemberInflater {
    /// Replaces `content` with the content of the member, after verifying size and CRC. After an error, `content` is
    /// empty.
    ///
    /// Memory usage is the sum of uncompressed and compressed size. For large members, use [`ZipEntry::open`].
    ///
    /// # Errors
    /// [`ZipError`] if the member cannot be read or is damaged.
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

    /// Reads the member's record: its local header and its data. Returns the compressed data.
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

    fn inflate(&mut self, entry: &ZipEntry, content: &mut Vec<u8>) -> Result<(), ZipError> {
        let corrupt = |reason: String| ZipError::Corrupt {
            member: entry.path.clone(),
            offset: entry.header_offset,
            reason,
        };
        let size = usize::try_from(entry.size).unwrap_or(usize::MAX);
        // Reserves one byte more than declared, to detect content that is too long.
        content
            .try_reserve(size.saturating_add(1))
            .map_err(|error| corrupt(format!("the {size} bytes cannot be allocated ({error})")))?;
        self.decoder.reset(false);
        let status = self
            .decoder
            .decompress_vec(&self.record, content, FlushDecompress::Finish)
            .map_err(|error| corrupt(error.to_string()))?;
        let actual = content.len() as u64;
        if actual <= entry.size && status != Status::StreamEnd {
            return Err(corrupt("the deflate stream does not end".to_owned()));
        }
        entry.check_length(actual)?;
        entry.check_used(self.decoder.total_in())
    }
}
