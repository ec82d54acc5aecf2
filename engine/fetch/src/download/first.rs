//! Requests the first answer of a session, which identifies the object on the server.

use std::ops::Range;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::sleep;

use crate::error::FetchError;
use crate::resume::hashing::Digests;
use crate::trouble::Trouble;
use crate::wire::answer::{Answer, AnswerFailure, RangeRequest};
use crate::wire::api;
use crate::wire::identity::Identity;
use crate::wire::item::Item;
use crate::wire::location::Location;
use crate::wire::retry::{Retry, RetryAction};
use crate::wire::shared::Shared;

/// The outcome of a session that ended without an error.
pub(crate) enum SessionEnd {
    /// All requested bytes were fetched. The digests are `Some` if the entire object was fetched.
    Complete(Option<Digests>, Box<Identity>),
    /// The object on the server changed during the session.
    Changed,
    /// The server sends nothing that identifies the object, so the entire file must come from a single request.
    NoValidator,
    /// The connection broke, and the server does not support ranges, so the download has to start over.
    StartOver(Trouble),
}

pub(crate) type SessionResult<T> = Result<T, SessionStop>;

/// The reason why a session stops.
pub(crate) enum SessionStop {
    End(SessionEnd),
    Error(FetchError),
}

impl From<FetchError> for SessionStop {
    fn from(error: FetchError) -> SessionStop {
        SessionStop::Error(error)
    }
}

/// A request whose answer identifies the object on the server.
pub(crate) struct FirstRequest<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) item: &'a Item,
    /// The location of the item. `None` if it has to be requested.
    pub(crate) location: &'a mut Option<Location>,
}

impl FirstRequest<'_> {
    /// Requests `range` until the server sends an answer. If the object is `known`, a different object ends the
    /// session. Failures are counted in `retry`. The caller continues to use this counter.
    pub(crate) async fn answer(
        &mut self,
        range: Range<u64>,
        known: Option<&Identity>,
        retry: &mut Retry,
    ) -> SessionResult<(Answer, OwnedSemaphorePermit)> {
        let FirstRequest { shared, item, .. } = *self;
        loop {
            let permit = shared.permit().await?;
            let location = match &*self.location {
                Some(location) => location.clone(),
                None => self
                    .location
                    .insert(api::address(shared, item).await?)
                    .clone(),
            };
            let request = RangeRequest {
                location: &location,
                range: range.clone(),
                expected: known,
            };
            let trouble = match request.send(shared).await {
                Ok(answer) => return Ok((answer, permit)),
                Err(AnswerFailure::Changed) => return Err(SessionStop::End(SessionEnd::Changed)),
                Err(AnswerFailure::Refused(error)) => return Err(error.into()),
                Err(AnswerFailure::Trouble(trouble)) => trouble,
            };
            drop(permit);
            let kept = || "no data was lost; run again to continue".into();
            match retry.next(&shared.options, trouble, kept)? {
                RetryAction::After(pause) => sleep(pause).await,
                RetryAction::NewAddress => {
                    *self.location = None;
                    shared.addresses.forget(&item.key());
                }
                RetryAction::WithoutRanges(trouble) => {
                    return Err(SessionStop::End(SessionEnd::StartOver(trouble)));
                }
            }
        }
    }
}
