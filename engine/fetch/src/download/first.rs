//! The description of a download (source, target, ranges), and the first answer of a session, which identifies the
//! object on the server.

use std::ops::Range;
use std::sync::Arc;

use prep_cache::Digest;
use prep_core::Progress;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::sleep;

use crate::error::FetchError;
use crate::free_space;
use crate::resume::hashing::Digests;
use crate::resume::partial::{Partial, Wanted};
use crate::resume::pieces::max_bytes;
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

/// The source and the target of a download.
#[derive(Clone)]
pub(crate) struct Order {
    pub(crate) shared: Arc<Shared>,
    pub(crate) item: Item,
    /// The published MD5 in hexadecimal. If it is `None`, any content is accepted.
    pub(crate) md5: Option<String>,
    pub(crate) partial: Arc<Partial>,
    /// The ranges to fetch. If it is `None`, the entire file is fetched.
    pub(crate) ranges: Option<Vec<Range<u64>>>,
    pub(crate) progress: Arc<Progress>,
}

impl Order {
    /// Creates the order of an entire file without a published MD5.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        item: Item,
        partial: &Arc<Partial>,
        progress: &Arc<Progress>,
    ) -> Order {
        Order {
            shared: Arc::clone(shared),
            item,
            md5: None,
            partial: Arc::clone(partial),
            ranges: None,
            progress: Arc::clone(progress),
        }
    }

    /// Returns the part of the file to fetch.
    pub(crate) fn wanted(&self) -> Wanted<'_> {
        Wanted {
            source: Digest::of_bytes(self.item.key().as_bytes()),
            ranges: self.ranges.as_deref(),
        }
    }

    /// Returns the disk space in bytes that the download needs. Members of a part are counted twice, because they are
    /// copied at the end.
    pub(crate) fn needed(&self, object: &Identity) -> u64 {
        match &self.ranges {
            None => object.total,
            Some(ranges) => ranges.iter().fold(0, |sum: u64, range| {
                sum.saturating_add(range.end.saturating_sub(range.start).saturating_mul(2))
            }),
        }
    }

    /// Returns an error if the file is so long that its piece map would not fit into memory. This check is needed for
    /// parts of a bundle, whose required disk space does not depend on the length of the entire file.
    pub(crate) fn require_map(&self, object: &Identity) -> Result<(), FetchError> {
        match object.total <= max_bytes(self.shared.options.piece.max(1)) {
            true => Ok(()),
            false => Err(FetchError::TooLong {
                item: self.item.to_string(),
                bytes: object.total,
            }),
        }
    }

    /// Returns an error if the disk has fewer than `needed` free bytes.
    pub(crate) fn require_space(&self, needed: u64) -> Result<(), FetchError> {
        match free_space(&self.partial.path) {
            Some(free) if free < needed => Err(FetchError::NoSpace {
                path: self.partial.path.clone(),
                needed,
                free,
            }),
            _ => Ok(()),
        }
    }
}
