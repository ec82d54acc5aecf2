//! A connection requests one range and passes its bytes to the session.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use prep_core::RateCheck;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::download::receive::{Cursor, Sink, receive};
use crate::trouble::Trouble;
use crate::wire::answer::{Answer, AnswerFailure, RangeRequest};
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
