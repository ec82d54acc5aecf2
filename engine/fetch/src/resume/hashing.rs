//! Computes the digests of a file while it is downloaded.
//!
//! Pieces are processed in order. Once the next piece is written, it is read back (usually from the page cache, because
//! it was just written), verified against the CRC-32 of the received bytes, and added to BLAKE3 and MD5. So the digests
//! are ready shortly after the last piece was written. Pieces that an earlier process wrote are verified in the same
//! way. A piece that does not match its record is fetched again.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use md5::{Digest as _, Md5};
use prep_cache::{Digest, hex};

/// The digests of the entire file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Digests {
    pub(crate) digest: Digest,
    /// MD5 in hexadecimal.
    pub(crate) md5: String,
}

/// The result of processing a piece.
#[derive(Debug)]
pub(crate) enum DigestProgress {
    /// All pieces were processed.
    Digests(Digests),
    /// The piece with this number does not match its CRC and has to be fetched again.
    Bad(usize),
}

/// Adds the pieces of a file to the digests. It only works during its calls, so the caller decides when and on which
/// thread.
#[derive(Debug)]
pub(crate) struct Digester {
    file: Arc<File>,
    total: u64,
    size: u64,
    /// The CRC-32 of each piece. `None` for a piece that has not been written.
    crcs: Vec<Option<u32>>,
    /// Number and offset of the next piece.
    piece: usize,
    offset: u64,
    blake3: blake3::Hasher,
    md5: Md5,
    buffer: Vec<u8>,
}

impl Digester {
    /// Creates a digester for a file of `total` bytes in pieces of `size` bytes. `records` contains the pieces that
    /// already exist, with their CRC-32.
    pub(crate) fn new(file: Arc<File>, total: u64, size: u64, records: &[(u32, u32)]) -> Digester {
        let pieces = usize::try_from(total.div_ceil(size)).unwrap_or(usize::MAX);
        let mut digester = Digester {
            file,
            total,
            size,
            crcs: vec![None; pieces],
            piece: 0,
            offset: 0,
            blake3: blake3::Hasher::new(),
            md5: Md5::new(),
            buffer: vec![0; usize::try_from(size.min(total)).unwrap_or(0)],
        };
        for (piece, crc) in records {
            digester.add_piece(usize::try_from(*piece).unwrap_or(usize::MAX), *crc);
        }
        digester
    }

    /// Records that a piece was written.
    pub(crate) fn add_piece(&mut self, piece: usize, crc: u32) {
        if let Some(place) = self.crcs.get_mut(piece) {
            *place = Some(crc);
        }
    }

    /// Returns whether the next piece can be processed.
    pub(crate) fn is_ready(&self) -> bool {
        self.offset >= self.total || self.crcs.get(self.piece).is_some_and(Option::is_some)
    }

    /// Processes the next piece, if it has been written.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn process_next_piece(&mut self) -> io::Result<Option<DigestProgress>> {
        if let Some(crc) = self.crcs.get_mut(self.piece)
            && let Some(expected) = *crc
        {
            let left = self.total.saturating_sub(self.offset);
            let length = usize::try_from(left.min(self.size)).unwrap_or(0);
            let part = self.buffer.get_mut(..length).unwrap_or_default();
            self.file.read_exact_at(part, self.offset)?;
            if crc32fast::hash(part) != expected {
                *crc = None;
                return Ok(Some(DigestProgress::Bad(self.piece)));
            }
            self.blake3.update(part);
            self.md5.update(part);
            self.offset += length as u64;
            self.piece += 1;
        }
        let is_whole = self.offset >= self.total;
        Ok(is_whole.then(|| {
            DigestProgress::Digests(Digests {
                digest: self.blake3.finalize().into(),
                md5: hex(&self.md5.clone().finalize()),
            })
        }))
    }
}
