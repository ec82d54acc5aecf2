//! Indexing what is gzipped.

use std::io::{self, BufReader, Read};

use flate2::bufread::GzDecoder;

use crate::inflated::{Index, Indexer, Windows};

/// What a file begins with that is gzipped.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The CRC-32 of what was gzipped, and the lowest four bytes of its length.
const TRAILER: usize = 8;

/// A gzip file's content, read from its beginning, while an index of it is made.
pub struct GzipIndexer<'w, R: Read> {
    /// Length of what stands before the deflate stream.
    header: u64,
    inner: Indexer<'w, BufReader<Counted<R>>>,
}

/// The deflate stream in a gzip file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gzipped {
    /// Where it begins, and its length.
    pub offset: u64,
    pub bytes: u64,
    pub index: Index,
}

/// Counts what is read.
struct Counted<R> {
    inner: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes += count as u64;
        Ok(count)
    }
}

/// Whether a file that begins like this is gzipped.
#[must_use]
pub fn is_gzip(head: &[u8]) -> bool {
    head.starts_with(&MAGIC)
}

impl<'w, R: Read> GzipIndexer<'w, R> {
    /// Of the gzip file that is read from `input`. What has to be known to begin within it is kept by `windows`.
    ///
    /// # Errors
    /// Those of both, and [`io::ErrorKind::InvalidInput`] or [`io::ErrorKind::UnexpectedEof`] when it is no gzip.
    pub fn new(input: R, windows: &'w dyn Windows) -> io::Result<Self> {
        let input = BufReader::with_capacity(
            1 << 16,
            Counted {
                inner: input,
                bytes: 0,
            },
        );
        let mut decoder = GzDecoder::new(input);
        if decoder.header().is_none() {
            // It says why.
            decoder.read_exact(&mut [0])?;
        }
        let input = decoder.into_inner();
        let header = input.get_ref().bytes - input.buffer().len() as u64;
        let inner = Indexer::new(input, windows)?;
        Ok(Self { header, inner })
    }

    /// Reads what was not read, checks CRC and length of the content, and returns where to begin, and the input. `None`: it
    /// cannot be begun within, or there is more in the file than one gzip stream.
    ///
    /// # Errors
    /// Those of reading; [`io::ErrorKind::InvalidData`] when CRC or length are wrong.
    pub fn finish(self) -> io::Result<(Option<Gzipped>, R)> {
        let mut found = self.inner.finish(u64::MAX)?;
        let mut trailer = [0; TRAILER];
        found.rest.read_exact(&mut trailer)?;
        let length = found.len & u64::from(u32::MAX);
        if u64::from_le_bytes(trailer) != length << 32 | u64::from(found.crc32) {
            let what = "the checksum of the gzip stream is wrong";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let is_all = found.rest.read(&mut [0])? == 0;
        let gzipped = found.index.filter(|_| is_all).map(|index| Gzipped {
            offset: self.header,
            bytes: found.used,
            index,
        });
        Ok((gzipped, found.rest.into_inner().1.into_inner().inner))
    }
}

impl<R: Read> Read for GzipIndexer<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer)
    }
}
