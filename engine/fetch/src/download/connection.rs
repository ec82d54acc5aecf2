//! A connection requests one range and passes its bytes to the session.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::OwnedSemaphorePermit;

use crate::download::receive::{Sink, receive};
use crate::trouble::Trouble;
use crate::wire::answer::{Answer, AnswerFailure, RangeRequest};
use crate::wire::identity::Identity;
use crate::wire::location::Location;
use crate::wire::shared::Shared;

/// The object and location of a request.
pub(crate) struct Request<'a> {
    pub(crate) object: &'a Identity,
    pub(crate) location: Option<Location>,
    /// Set to true once the location has sent bytes.
    pub(crate) has_served: &'a AtomicBool,
}

/// Requests `range` of an object and passes its bytes to `sink`. If a `ready` answer is given, uses it instead of
/// sending a request.
pub(crate) async fn connection(
    shared: &Shared,
    sink: &Sink,
    request: Request<'_>,
    range: &Range<u64>,
    ready: Option<(Answer, OwnedSemaphorePermit)>,
) -> Result<(), AnswerFailure> {
    let (answer, _permit) = match (ready, request.location) {
        (Some(ready), _) => ready,
        (None, Some(location)) => {
            let permit = shared.permit().await?;
            let range_request = RangeRequest {
                location: &location,
                range: range.clone(),
                expected: Some(request.object),
            };
            let answer = range_request.send(shared).await?;
            request.has_served.store(true, Ordering::Relaxed);
            (answer, permit)
        }
        // This case does not occur, because a connection is never started without a location.
        (None, None) => return Ok(()),
    };
    let (host, end) = (answer.host.clone(), answer.range.end);
    receive(shared, sink, answer).await?;
    if end < range.end {
        return Err(AnswerFailure::Trouble(Trouble::Short {
            host,
            offset: end,
            missing: range.end - end,
        }));
    }
    Ok(())
}
