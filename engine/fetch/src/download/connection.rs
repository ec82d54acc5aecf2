//! One connection's work: one range, asked for and written.

use std::ops::Range;

use tokio::sync::OwnedSemaphorePermit;

use crate::download::receive::{Broken, Sink, receive};
use crate::error::FetchError;
use crate::trouble::Trouble;
use crate::wire::answer::{Answer, NoAnswer, ask};
use crate::wire::identity::Identity;
use crate::wire::location::Location;
use crate::wire::shared::Shared;

/// How it failed.
pub(crate) enum Failed {
    /// Worth another connection.
    Trouble(Trouble),
    /// The object is another one now.
    Changed,
    Fatal(FetchError),
}

/// Asks for `range` of `object` and writes it; an answer that is `ready` is used instead of asking.
pub(crate) async fn connection(
    shared: &Shared,
    sink: &Sink,
    object: &Identity,
    location: Option<Location>,
    range: &Range<u64>,
    ready: Option<(Answer, OwnedSemaphorePermit)>,
) -> Result<(), Failed> {
    let (answer, _permit) = match (ready, location) {
        (Some(ready), _) => ready,
        (None, Some(location)) => {
            let permit = shared.permit().await.map_err(Failed::Fatal)?;
            match ask(shared, &location, range.clone(), Some(object)).await {
                Ok(answer) => (answer, permit),
                Err(NoAnswer::Changed) => return Err(Failed::Changed),
                Err(NoAnswer::Refused(error)) => return Err(Failed::Fatal(error)),
                Err(NoAnswer::Trouble(trouble)) => return Err(Failed::Trouble(trouble)),
            }
        }
        // Nobody begins a connection to nowhere.
        (None, None) => return Ok(()),
    };
    let (host, end) = (answer.host.clone(), answer.range.end);
    match receive(shared, sink, answer).await {
        Ok(()) if end < range.end => Err(Failed::Trouble(Trouble::Short {
            host,
            offset: end,
            missing: range.end - end,
        })),
        Ok(()) => Ok(()),
        Err(Broken::Trouble(trouble)) => Err(Failed::Trouble(trouble)),
        Err(Broken::Fatal(error)) => Err(Failed::Fatal(error)),
    }
}
