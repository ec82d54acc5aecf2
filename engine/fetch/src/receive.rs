//! Writing one answer into the partial file.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prep_formats::sniff::Looks;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;

use crate::answer::{Answer, expected_zip};
use crate::error::FetchError;
use crate::network::Shared;
use crate::partial::Partial;
use crate::trouble::{self, Trouble};
use crate::units;

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
    let Answer {
        mut response,
        host,
        object,
        range,
        ..
    } = answer;
    let stall = shared.options.stall;
    let mut cursor = Cursor::new(sink, range.clone(), object.total);
    loop {
        let offset = cursor.offset;
        let chunk = match timeout(stall, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => break,
            Ok(Err(error)) => {
                let cause = trouble::cause(error);
                return Err(Broken::Trouble(Trouble::Broken {
                    host,
                    offset,
                    cause,
                }));
            }
            Err(_) => {
                return Err(Broken::Trouble(Trouble::Stalled {
                    host,
                    offset,
                    time: stall,
                }));
            }
        };
        if offset == 0 && !b"PK".starts_with(chunk.get(..2).unwrap_or(&chunk)) {
            return Err(Broken::Fatal(FetchError::NotZip {
                host,
                got: format!("{}, {}", Looks::of(&chunk), units::bytes(object.total)),
                expected: expected_zip(None),
            }));
        }
        if chunk.len() as u64 > range.end - offset {
            let what = "more than it announced".into();
            return Err(Broken::Trouble(Trouble::OtherRange { host, what }));
        }
        shared.rate.take(chunk.len() as u64).await;
        sink.received
            .fetch_add(chunk.len() as u64, Ordering::Relaxed);
        cursor.write(&chunk).map_err(Broken::Fatal)?;
    }
    if cursor.offset < range.end {
        return Err(Broken::Trouble(Trouble::Short {
            host,
            offset: cursor.offset,
            missing: range.end - cursor.offset,
        }));
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
