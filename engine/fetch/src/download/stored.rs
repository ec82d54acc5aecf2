//! The pieces of a session on the disk: the partial file, the map of its finished pieces, and their digests.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::first::Order;
use crate::download::connection::{Chunk, CompletePiece};
use crate::error::FetchError;
use crate::resume::hashing::{DigestProgress, Digester, Digests};
use crate::resume::map::Map;
use crate::resume::partial::State;
use crate::resume::pieces::Pieces;

/// Number of times that pieces may be read back with different bytes than were written.
const MAX_REREADS: u32 = 3;

pub(crate) struct StoredPieces<'a> {
    order: &'a Order,
    pub(crate) pieces: Pieces,
    map: Map,
    /// `None` if the order has ranges.
    digester: Option<Digester>,
    rereads: u32,
}

impl<'a> StoredPieces<'a> {
    /// Continues with the pieces of an earlier session of the object with `total` bytes.
    pub(crate) fn new(order: &'a Order, total: u64, state: State) -> StoredPieces<'a> {
        let digester = order.ranges.is_none().then(|| {
            let file = Arc::clone(&order.partial.file);
            Digester::new(file, total, state.size, &state.records)
        });
        StoredPieces {
            order,
            pieces: state.pieces,
            map: state.map,
            digester,
            rereads: 0,
        }
    }

    /// Returns whether all ranges of the order are on the disk. Always `false` for an entire file, which is complete
    /// when it has digests.
    pub(crate) fn has_ranges(&self) -> bool {
        self.digester.is_none() && self.pieces.is_complete()
    }

    /// Returns whether the next piece can be added to the digests.
    pub(crate) fn can_follow(&self) -> bool {
        self.digester.as_ref().is_some_and(Digester::is_ready)
    }

    /// Writes a chunk to the partial file. Returns whether it completed a piece.
    pub(crate) fn write(&mut self, chunk: &Chunk) -> Result<bool, FetchError> {
        let written = self.order.partial.write(&chunk.bytes, chunk.offset);
        written.map_err(|error| error.needing(self.pieces.missing_bytes()))?;
        if let Some(piece) = chunk.completes {
            self.record(piece)?;
        }
        Ok(chunk.completes.is_some())
    }

    /// Records that a piece was written.
    fn record(&mut self, written: CompletePiece) -> Result<(), FetchError> {
        let CompletePiece { piece, crc } = written;
        let error = |cause| FetchError::io("write", &self.order.partial.map, cause);
        let number =
            u32::try_from(piece).map_err(|_| error(std::io::ErrorKind::FileTooLarge.into()))?;
        self.map.append(number, crc).map_err(error)?;
        self.pieces.set_done(piece);
        if let Some(digester) = &mut self.digester {
            digester.add_piece(piece, crc);
        }
        let bytes = self.pieces.range(piece);
        self.order.progress.add_bytes(bytes.end - bytes.start);
        Ok(())
    }

    /// Adds the next piece to the digests. A piece whose bytes on disk do not match its CRC becomes missing again.
    /// Returns `None` unless the digests are complete.
    pub(crate) fn follow(&mut self) -> Result<Option<Digests>, FetchError> {
        let Some(digester) = &mut self.digester else {
            return Ok(None);
        };
        let failed = |cause| FetchError::io("read", &self.order.partial.path, cause);
        match digester.process_next_piece().map_err(failed)? {
            Some(DigestProgress::Digests(digests)) => Ok(Some(digests)),
            Some(DigestProgress::Bad(piece)) => self.reread(piece).map(|()| None),
            None => Ok(None),
        }
    }

    fn reread(&mut self, piece: usize) -> Result<(), FetchError> {
        let range = self.pieces.range(piece);
        self.rereads += 1;
        if self.rereads > MAX_REREADS && self.pieces.missing_bytes() == 0 {
            let path = self.order.partial.path.clone();
            let offset = range.start;
            return Err(FetchError::Disk { path, offset });
        }
        self.pieces.set_missing(piece);
        let bytes = range.end - range.start;
        self.order
            .progress
            .bytes
            .fetch_sub(bytes, Ordering::Relaxed);
        Ok(())
    }
}
