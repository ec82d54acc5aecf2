//! A connection requests one range and passes its bytes to the session.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::OwnedSemaphorePermit;

use crate::download::receive::{AnswerError, Sink, receive};
use crate::error::FetchError;
use crate::trouble::Trouble;
use crate::wire::answer::{Answer, AnswerFailure, ask};
use crate::wire::identity::Identity;
use crate::wire::location::Location;
use crate::wire::shared::Shared;

/// The reason why a connection failed.
pub(crate) enum ConnectionError {
    /// The request can be repeated.
    Trouble(Trouble),
    /// The object on the server changed during the download.
    Changed,
    Fatal(FetchError),
}

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
) -> Result<(), ConnectionError> {
    let (answer, _permit) = match (ready, request.location) {
        (Some(ready), _) => ready,
        (None, Some(location)) => {
            let permit = shared.permit().await.map_err(ConnectionError::Fatal)?;
            match ask(shared, &location, range.clone(), Some(request.object)).await {
                Ok(answer) => {
                    request.has_served.store(true, Ordering::Relaxed);
                    (answer, permit)
                }
                Err(AnswerFailure::Changed) => return Err(ConnectionError::Changed),
                Err(AnswerFailure::Refused(error)) => return Err(ConnectionError::Fatal(error)),
                Err(AnswerFailure::Trouble(trouble)) => {
                    return Err(ConnectionError::Trouble(trouble));
                }
            }
        }
        // This case does not occur, because a connection is never started without a location.
        (None, None) => return Ok(()),
    };
    let (host, end) = (answer.host.clone(), answer.range.end);
    match receive(shared, sink, answer).await {
        Ok(()) if end < range.end => Err(ConnectionError::Trouble(Trouble::Short {
            host,
            offset: end,
            missing: range.end - end,
        })),
        Ok(()) => Ok(()),
        Err(AnswerError::Trouble(trouble)) => Err(ConnectionError::Trouble(trouble)),
        Err(AnswerError::Fatal(error)) => Err(ConnectionError::Fatal(error)),
    }
}
