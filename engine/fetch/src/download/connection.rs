//! A connection requests one range and passes its bytes to the session. All connections of a session use the address of
//! its object.
//!
//! A rejected address is treated as a failure only if it never served a request. After a rejection, one connection
//! tries the new address, and the other connections wait for its answer. So if an address has expired, or serves only
//! one request, the download only needs another API call.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use prep_core::RateCheck;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::first::Order;
use super::receive::{Cursor, Sink, receive};
use crate::error::FetchError;
use crate::trouble::Trouble;
use crate::wire::answer::{Answer, AnswerFailure, RangeRequest};
use crate::wire::api;
use crate::wire::identity::Identity;
use crate::wire::location::Location;
use crate::wire::shared::Shared;

/// The object and location of a request.
pub(crate) struct Request<'a> {
    pub(crate) object: &'a Identity,
    /// `None` if the object must come from the ready answer alone.
    pub(crate) location: Option<Location>,
    /// Set to true once the location has sent bytes.
    pub(crate) has_served: &'a AtomicBool,
}

/// An answer whose bytes have not been read yet, and the permission for its connection.
pub(crate) type ReadyAnswer = (Answer, OwnedSemaphorePermit);

/// Requests `range` of an object and passes its bytes to `sink`. If a `ready` answer is given, uses it first. A server may
/// send a shorter range than requested, and then the rest is requested.
pub(crate) async fn connection(
    shared: &Shared,
    sink: &Sink,
    request: Request<'_>,
    range: &Range<u64>,
    mut ready: Option<ReadyAnswer>,
) -> Result<(), AnswerFailure> {
    let start = ready
        .as_ref()
        .map_or(range.start, |(answer, _)| answer.range.start);
    let mut cursor = Cursor::new(sink, start, request.object.total);
    let mut rate = RateCheck::new(shared.options.stall);
    let mut host = String::new();
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
                    return Err(AnswerFailure::Trouble(Trouble::Slow {
                        host: answer.host,
                        offset: cursor.offset,
                        bytes: rate.bytes(),
                        time: rate.period(),
                    }));
                }
                request.has_served.store(true, Ordering::Relaxed);
                (answer, permit)
            }
            // The answer to a request for the entire file ended early.
            (None, None) => {
                return Err(AnswerFailure::Trouble(Trouble::Short {
                    host,
                    offset: cursor.offset,
                    missing: range.end.saturating_sub(cursor.offset),
                }));
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

pub(crate) struct SessionAddress<'a> {
    pub(crate) location: &'a mut Option<Location>,
    /// A failure of a connection with a smaller number has already been handled.
    pub(crate) number: u64,
    /// Whether the address has served a request.
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

    /// Returns whether another connection may use the address.
    pub(crate) fn is_usable(&self) -> bool {
        !self.is_tried || self.has_served.load(Ordering::Relaxed)
    }

    /// Prepares the address for another connection. Requests a new address if the last one was rejected.
    pub(crate) async fn prepare(&mut self, order: &Order) -> Result<(), FetchError> {
        if self.location.is_none() {
            *self.location = Some(api::address(&order.shared, &order.item).await?);
        }
        self.is_tried = !self.has_served.load(Ordering::Relaxed);
        Ok(())
    }

    /// Records that a connection to the address with this number has ended.
    pub(crate) fn end_connection(&mut self, number: u64) {
        if number == self.number {
            self.is_tried = false;
        }
    }

    /// Discards the address with this number, which the server rejected. Returns whether this is a failure.
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
