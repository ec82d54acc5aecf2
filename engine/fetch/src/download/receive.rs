//! Writing one answer into the partial file.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prep_formats::sniff::Looks;
use tokio::sync::mpsc::UnboundedSender;

use crate::error::FetchError;
use crate::resume::partial::Partial;
use crate::trouble::Trouble;
use crate::wire::answer::{Answer, in_words};
use crate::wire::body::Body;
use crate::wire::location::Expected;
use crate::wire::shared::Shared;
use prep_core::units;

/// A piece that was written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WrittenPiece {
    pub(crate) piece: usize,
    pub(crate) crc: u32,
}

/// How an answer ended before its end.
#[derive(Debug)]
pub(crate) enum Broken {
    Trouble(Trouble),
    Fatal(FetchError),
}

/// Where the bytes go.
#[derive(Debug, Clone)]
pub(crate) struct Sink {
    pub(crate) partial: Arc<Partial>,
    /// Length of a piece.
    pub(crate) size: u64,
    pub(crate) pieces: UnboundedSender<WrittenPiece>,
    /// All bytes that arrived, also those of pieces that never became complete.
    pub(crate) received: Arc<AtomicU64>,
}

/// Writes the bytes of an answer where they belong and tells of each piece that is complete. The answer must begin at
/// the front of a piece.
pub(crate) async fn receive(shared: &Shared, sink: &Sink, answer: Answer) -> Result<(), Broken> {
    let (range, total) = (answer.range.clone(), answer.object.total);
    let mut cursor = Cursor::new(sink, range, total);
    let expected = answer.expected;
    let mut body = Body::of(answer);
    while let Some(chunk) = body.next(shared).await.map_err(Broken::Trouble)? {
        if cursor.offset == 0
            && expected == Expected::Zip
            && !b"PK".starts_with(chunk.get(..2).unwrap_or(&chunk))
        {
            return Err(Broken::Fatal(FetchError::NotZip {
                host: body.host().to_owned(),
                got: format!("{}, {}", Looks::of(&chunk), units::bytes(total)),
                expected: in_words(expected, None),
            }));
        }
        sink.received
            .fetch_add(chunk.len() as u64, Ordering::Relaxed);
        cursor.write(&chunk).map_err(Broken::Fatal)?;
    }
    Ok(())
}

/// A place in the partial file, and the CRC of the piece it is in.
struct Cursor<'a> {
    sink: &'a Sink,
    offset: u64,
    total: u64,
    crc: crc32fast::Hasher,
}

impl<'a> Cursor<'a> {
    fn new(sink: &'a Sink, range: Range<u64>, total: u64) -> Cursor<'a> {
        Cursor {
            sink,
            offset: range.start,
            total,
            crc: crc32fast::Hasher::new(),
        }
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<(), FetchError> {
        let size = self.sink.size;
        while !bytes.is_empty() {
            let piece = self.offset / size;
            let end = ((piece + 1) * size).min(self.total);
            let room = usize::try_from(end - self.offset).unwrap_or(usize::MAX);
            let (part, rest) = bytes.split_at(room.min(bytes.len()));
            self.sink.partial.write(part, self.offset)?;
            self.crc.update(part);
            self.offset += part.len() as u64;
            bytes = rest;
            if self.offset == end {
                let crc = std::mem::take(&mut self.crc).finalize();
                let piece = usize::try_from(piece).unwrap_or(usize::MAX);
                // Nobody listens once the download was given up.
                let _ = self.sink.pieces.send(WrittenPiece { piece, crc });
            }
        }
        Ok(())
    }
}
