//! The connections of a download session. Each connection requests one range of an object and passes the bytes to the
//! session. All connections use the same address, which is a URL of the object.
//!
//! If the server rejects an address that has served a request, the address has probably expired, so the session requests
//! a new one. One connection tries the new address, while the others wait. The rejection of an address that never served
//! a request is a failure.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use prep_core::{RateCheck, units};
use prep_formats::sniff::FileType;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::Sender;
use tokio::time::Instant;

use crate::download::Order;
use crate::error::{FetchError, Server, Stop, Trouble};
use crate::wire::answer::{Answer, Body, RangeRequest, describe_expected};
use crate::wire::identity::Identity;
use crate::wire::location::{Expected, Location};
use crate::wire::queries::address;
use crate::wire::shared::Shared;

pub(crate) struct Request<'a> {
    pub(crate) object: &'a Identity,
    /// The address of the object. `None` if all bytes must come from a response that has already arrived.
    pub(crate) location: Option<Location>,
    /// Set to true once the location has sent a valid response.
    pub(crate) has_served: &'a AtomicBool,
}

pub(crate) type ReadyAnswer = (Answer, OwnedSemaphorePermit);

/// Requests `range` of an object and passes its bytes to `sink`. If `ready` is given, first reads this response, which has
/// already arrived. If the server sends shorter ranges, requests the rest.
pub(crate) async fn connection(
    shared: &Shared,
    sink: &Sink,
    request: Request<'_>,
    range: &Range<u64>,
    mut ready: Option<ReadyAnswer>,
) -> Result<(), Stop> {
    let start = ready
        .as_ref()
        .map_or(range.start, |(answer, _)| answer.range.start);
    let mut cursor = Cursor::new(sink, start, request.object.total);
    let mut rate = RateCheck::new(shared.options.stall);
    let mut host = Server::from(String::new());
    loop {
        let (answer, permit) = match (ready.take(), &request.location) {
            (Some(ready), _) => ready,
            (None, Some(location)) => {
                let permit = shared.permit().await?;
                let range_request = RangeRequest {
                    location,
                    range: cursor.offset..range.end,
                    expected: Some(request.object),
                };
                let began = Instant::now();
                let answer = range_request.send(shared).await?;
                if !rate.add(0, began.elapsed()) {
                    return Err(Trouble::Slow {
                        host: answer.host,
                        offset: cursor.offset,
                        bytes: rate.bytes(),
                        time: rate.period(),
                    }
                    .into());
                }
                request.has_served.store(true, Ordering::Relaxed);
                (answer, permit)
            }
            (None, None) => {
                return Err(Trouble::Short {
                    host,
                    offset: cursor.offset,
                    missing: range.end.saturating_sub(cursor.offset),
                }
                .into());
            }
        };
        host.clone_from(&answer.host);
        receive(shared, &mut cursor, &mut rate, answer).await?;
        drop(permit);
        if cursor.offset >= range.end {
            return Ok(());
        }
    }
}

/// The address that all connections of a session use.
pub(crate) struct SessionAddress<'a> {
    pub(crate) location: &'a mut Option<Location>,
    /// Number of addresses that were rejected before this address. Each connection stores the number of its address. If
    /// this number is no longer the current one, the rejection of the address was already handled.
    pub(crate) number: u64,
    pub(crate) has_served: Arc<AtomicBool>,
    /// Whether a connection is trying the address, which has not served a request yet.
    is_tried: bool,
}

impl<'a> SessionAddress<'a> {
    pub(crate) fn new(location: &'a mut Option<Location>, has_served: bool) -> SessionAddress<'a> {
        SessionAddress {
            location,
            number: 0,
            has_served: Arc::new(AtomicBool::new(has_served)),
            is_tried: false,
        }
    }

    /// Returns whether another connection may use the address. Only one connection at a time tries an address that has not
    /// served a request yet.
    pub(crate) fn is_usable(&self) -> bool {
        !self.is_tried || self.has_served.load(Ordering::Relaxed)
    }

    /// Prepares the address for another connection. Requests a new address if the last one was rejected.
    pub(crate) async fn prepare(&mut self, order: &Order) -> Result<(), FetchError> {
        if self.location.is_none() {
            *self.location = Some(address(&order.shared, &order.item).await?);
        }
        self.is_tried = !self.has_served.load(Ordering::Relaxed);
        Ok(())
    }

    /// Records the end of a connection that used the address `number`.
    pub(crate) fn end_connection(&mut self, number: u64) {
        if number == self.number {
            self.is_tried = false;
        }
    }

    /// Discards the rejected address `number`. Returns true if it never served a request: then the rejection is a failure.
    pub(crate) fn reject(&mut self, number: u64, order: &Order) -> bool {
        if number < self.number {
            return false;
        }
        self.number += 1;
        *self.location = None;
        order.shared.addresses.forget(&order.item.key());
        !std::mem::take(&mut self.has_served).load(Ordering::Relaxed)
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct CompletePiece {
    pub(crate) piece: usize,
    pub(crate) crc: u32,
}

/// Bytes for the session to write at `offset`.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) offset: u64,
    pub(crate) bytes: Bytes,
    /// The piece whose last byte is the last byte of this chunk.
    pub(crate) completes: Option<CompletePiece>,
}

/// Receives the bytes of all connections of a session.
#[derive(Debug, Clone)]
pub(crate) struct Sink {
    /// Length of a piece in bytes.
    pub(crate) size: u64,
    /// If the disk is slower than the network, the queue is full and connections wait.
    pub(crate) chunks: Sender<Chunk>,
    /// Number of bytes that arrived, including bytes of pieces that were never completed.
    pub(crate) received: Arc<AtomicU64>,
}

/// Reads a response and passes its bytes to the session. The response must begin at the position of `cursor`.
///
/// This function runs on a thread that serves all other downloads and timers, so it must not wait for the disk.
pub(crate) async fn receive(
    shared: &Shared,
    cursor: &mut Cursor<'_>,
    rate: &mut RateCheck,
    answer: Answer,
) -> Result<(), Stop> {
    let total = cursor.total;
    let expected = answer.expected;
    let mut body = Body::new(answer);
    while let Some(chunk) = body.next(shared, rate).await? {
        // A file that must be a zip archive is rejected at its first bytes.
        if cursor.offset == 0
            && expected == Expected::Zip
            && !b"PK".starts_with(chunk.get(..2).unwrap_or(&chunk))
        {
            return Err(Stop::Fatal(FetchError::NotZip {
                host: body.host().clone(),
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

/// A position in the downloaded file, with the CRC of the current piece up to this position. The bytes of a piece can
/// come from several responses, because a server can send shorter ranges than requested.
pub(crate) struct Cursor<'a> {
    sink: &'a Sink,
    pub(crate) offset: u64,
    total: u64,
    crc: crc32fast::Hasher,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at `offset`, the start of a piece, in a file of `total` bytes.
    pub(crate) fn new(sink: &'a Sink, offset: u64, total: u64) -> Cursor<'a> {
        Cursor {
            sink,
            offset,
            total,
            crc: crc32fast::Hasher::new(),
        }
    }

    /// Sends bytes to the session, in chunks that end at the ends of pieces.
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
            // Sending fails only if the download was given up.
            let _ = self.sink.chunks.send(chunk).await;
        }
    }
}
