//! Passes the bytes of one answer to the session, which writes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use prep_core::RateCheck;
use prep_formats::sniff::FileType;
use tokio::sync::mpsc::Sender;

use crate::error::FetchError;
use crate::wire::answer::{Answer, AnswerFailure, describe_expected};
use crate::wire::body::Body;
use crate::wire::location::Expected;
use crate::wire::shared::Shared;
use prep_core::units;

/// A piece that has arrived completely.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompletePiece {
    pub(crate) piece: usize,
    pub(crate) crc: u32,
}

/// Consecutive bytes of the file that have arrived.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) offset: u64,
    pub(crate) bytes: Bytes,
    /// The piece that this chunk completes.
    pub(crate) completes: Option<CompletePiece>,
}

/// The queue that passes received bytes to the session.
#[derive(Debug, Clone)]
pub(crate) struct Sink {
    /// Length of a piece in bytes.
    pub(crate) size: u64,
    /// The queue is full if the disk is slower than the network. Connections then wait.
    pub(crate) chunks: Sender<Chunk>,
    /// Number of bytes that arrived, including bytes of pieces that were never completed.
    pub(crate) received: Arc<AtomicU64>,
}

/// Passes on the bytes of an answer with their offsets. The answer must begin at the cursor. This function runs on a
/// thread of the runtime, which also serves all other downloads and timers. So it never accesses the disk.
pub(crate) async fn receive(
    shared: &Shared,
    cursor: &mut Cursor<'_>,
    rate: &mut RateCheck,
    answer: Answer,
) -> Result<(), AnswerFailure> {
    let total = cursor.total;
    let expected = answer.expected;
    let mut body = Body::new(answer);
    while let Some(chunk) = body.next(shared, rate).await? {
        if cursor.offset == 0
            && expected == Expected::Zip
            && !b"PK".starts_with(chunk.get(..2).unwrap_or(&chunk))
        {
            return Err(AnswerFailure::Refused(FetchError::NotZip {
                host: body.host().to_owned(),
                got: format!("{}, {}", FileType::detect(&chunk), units::bytes(total)),
                expected: describe_expected(expected, None),
            }));
        }
        cursor
            .sink
            .received
            .fetch_add(chunk.len() as u64, Ordering::Relaxed);
        cursor.pass_on(chunk).await;
    }
    Ok(())
}

/// A position in the file, with the CRC of the current piece up to this position. The bytes of a piece may come from
/// several answers, because a server may send shorter ranges than requested.
pub(crate) struct Cursor<'a> {
    sink: &'a Sink,
    pub(crate) offset: u64,
    total: u64,
    crc: crc32fast::Hasher,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at `offset`, which is the start of a piece, in a file of `total` bytes.
    pub(crate) fn new(sink: &'a Sink, offset: u64, total: u64) -> Cursor<'a> {
        Cursor {
            sink,
            offset,
            total,
            crc: crc32fast::Hasher::new(),
        }
    }

    async fn pass_on(&mut self, mut bytes: Bytes) {
        let size = self.sink.size;
        while !bytes.is_empty() {
            let piece = self.offset / size;
            let end = (piece + 1).saturating_mul(size).min(self.total);
            let room = usize::try_from(end - self.offset).unwrap_or(usize::MAX);
            let part = bytes.split_to(room.min(bytes.len()));
            self.crc.update(&part);
            let offset = self.offset;
            self.offset += part.len() as u64;
            let completes = (self.offset == end).then(|| CompletePiece {
                piece: usize::try_from(piece).unwrap_or(usize::MAX),
                crc: std::mem::take(&mut self.crc).finalize(),
            });
            let chunk = Chunk {
                offset,
                bytes: part,
                completes,
            };
            // Sending fails only if the download was given up, so the error is ignored.
            let _ = self.sink.chunks.send(chunk).await;
        }
    }
}
