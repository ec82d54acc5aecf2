//! The digests of the bundle, computed while it arrives.
//!
//! Pieces are followed in order: as soon as the next one is written it is read back (from memory, as a rule, because it
//! was written just now), checked against the CRC-32 of what arrived, and added to BLAKE3 and MD5. When the last piece is
//! written, the digests are there a moment later. Pieces of an earlier process are checked in the same way; one that is
//! not what its record says is fetched again.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use md5::{Digest as _, Md5};
use prep_cache::{Digest, hex};

/// The digests of the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Digests {
    pub(crate) digest: Digest,
    /// In hexadecimal.
    pub(crate) md5: String,
}

/// What came of a piece.
#[derive(Debug)]
pub(crate) enum News {
    /// The whole is there.
    Digests(Digests),
    /// The piece does not hold what it should; it is waited for anew.
    Bad(usize),
}

/// Follows the pieces of a file. Nothing happens between its calls, so that its user decides on which thread, and when.
#[derive(Debug)]
pub(crate) struct Digester {
    file: Arc<File>,
    total: u64,
    size: u64,
    /// CRC-32 of the pieces that were written.
    crcs: Vec<Option<u32>>,
    /// The next piece, and where it begins.
    piece: usize,
    offset: u64,
    blake3: blake3::Hasher,
    md5: Md5,
    buffer: Vec<u8>,
}

impl Digester {
    /// Follows a file of `total` bytes in pieces of `size`, in which the pieces of `records` are there already.
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
            digester.written(usize::try_from(*piece).unwrap_or(usize::MAX), *crc);
        }
        digester
    }

    /// A piece was written.
    pub(crate) fn written(&mut self, piece: usize, crc: u32) {
        if let Some(place) = self.crcs.get_mut(piece) {
            *place = Some(crc);
        }
    }

    /// Is there something to follow?
    pub(crate) fn is_ready(&self) -> bool {
        self.offset >= self.total || self.crcs.get(self.piece).is_some_and(Option::is_some)
    }

    /// Follows one piece, if the next one was written.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn follow(&mut self) -> io::Result<Option<News>> {
        if let Some(crc) = self.crcs.get_mut(self.piece)
            && let Some(expected) = *crc
        {
            let left = self.total.saturating_sub(self.offset);
            let length = usize::try_from(left.min(self.size)).unwrap_or(0);
            let part = self.buffer.get_mut(..length).unwrap_or_default();
            self.file.read_exact_at(part, self.offset)?;
            if crc32fast::hash(part) != expected {
                *crc = None;
                return Ok(Some(News::Bad(self.piece)));
            }
            self.blake3.update(part);
            self.md5.update(part);
            self.offset += length as u64;
            self.piece += 1;
        }
        let is_whole = self.offset >= self.total;
        Ok(is_whole.then(|| {
            News::Digests(Digests {
                digest: self.blake3.finalize().into(),
                md5: hex(&self.md5.clone().finalize()),
            })
        }))
    }
}
