//! Gzip files: their headers, and an index for random access that is built while a file is read.

use std::io::{self, BufReader, Read};

use flate2::bufread::GzDecoder;

use crate::archive::member::StoredForm;
use crate::inflated::{InflateIndex, InflateIndexer, WindowStore};

const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Length in bytes of the trailer: the CRC-32 of the content, and its length modulo 2^32.
const TRAILER_BYTES: usize = 8;

/// Reads a gzip file once from the beginning, and builds an index for random access.
pub struct GzipIndexer<'w, R: Read> {
    /// Length of the gzip header in bytes.
    header: u64,
    inner: InflateIndexer<'w, BufReader<CountingReader<R>>>,
}

/// The place of the deflate stream in a gzip file, and the index of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GzipStream {
    /// Offset of the deflate stream in the file, in bytes.
    pub offset: u64,
    /// Length of the deflate stream in bytes.
    pub bytes: u64,
    /// Offsets in the stream at which decoding can start.
    pub index: InflateIndex,
}

/// Counts the bytes that were read.
struct CountingReader<R> {
    inner: R,
    bytes: u64,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes += count as u64;
        Ok(count)
    }
}

/// Returns whether a file whose first bytes are `head` is a gzip file.
#[must_use]
pub fn is_gzip(head: &[u8]) -> bool {
    head.starts_with(&MAGIC)
}

/// Describes how a gzip file of `bytes` bytes stores its only member. `head` is the beginning of the file. Returns `None` if
/// `head` is too short.
pub(crate) fn stored_form(head: &[u8], bytes: u64) -> Option<StoredForm> {
    let [_, _, _, flags, time @ .., level, system] = head.first_chunk::<10>()?;
    Some(StoredForm {
        time: f64::from(u32::from_le_bytes(*time)),
        form: format!("flags {flags}, level {level}, system {system}"),
        compressed_bytes: Some(bytes),
    })
}

impl<'w, R: Read> GzipIndexer<'w, R> {
    /// Reads a gzip file from `input`. `windows` stores the uncompressed bytes that decoding needs to start at a block, see
    /// [`crate::inflated`].
    ///
    /// # Errors
    /// I/O errors, and [`io::ErrorKind::InvalidInput`] or [`io::ErrorKind::UnexpectedEof`] if the input is not gzip.
    pub fn new(input: R, windows: &'w dyn WindowStore) -> io::Result<Self> {
        let input = BufReader::with_capacity(
            1 << 16,
            CountingReader {
                inner: input,
                bytes: 0,
            },
        );
        let mut decoder = GzDecoder::new(input);
        if decoder.header().is_none() {
            // The decoder reports an error in the header on the first read.
            decoder.read_exact(&mut [0])?;
        }
        let input = decoder.into_inner();
        let header = input.get_ref().bytes - input.buffer().len() as u64;
        let inner = InflateIndexer::new(input, windows)?;
        Ok(Self { header, inner })
    }

    /// Reads the rest of the file, verifies the CRC-32 and length of the content, and returns the index.
    ///
    /// Returns `None` if a deflate block is too long, or if the index would have too many spans (see [`crate::spans`]). Also
    /// returns `None` if the file contains more than one gzip stream.
    ///
    /// # Errors
    /// I/O errors, and [`io::ErrorKind::InvalidData`] if the CRC-32 or the length of the content is wrong.
    pub fn finish(self) -> io::Result<Option<GzipStream>> {
        let mut found = self.inner.finish(u64::MAX)?;
        let mut trailer = [0; TRAILER_BYTES];
        found.rest.read_exact(&mut trailer)?;
        let length = found.len & u64::from(u32::MAX);
        if u64::from_le_bytes(trailer) != length << 32 | u64::from(found.crc32) {
            let what = "the checksum of the gzip stream is wrong";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let is_single = found.rest.read(&mut [0])? == 0;
        Ok(found.index.filter(|_| is_single).map(|index| GzipStream {
            offset: self.header,
            bytes: found.used,
            index,
        }))
    }
}

impl<R: Read> Read for GzipIndexer<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer)
    }
}
