//! The first answer of a session, which tells what object there is; and when to try again.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::answer::{Answer, NoAnswer, ask};
use crate::error::FetchError;
use crate::hashing::Digests;
use crate::identity::Identity;
use crate::location::Location;
use crate::network::Shared;
use crate::trouble::Trouble;
use crate::{api, backoff};

/// New addresses in a row that may be refused.
pub(crate) const ADDRESSES: u32 = 3;

/// Answers in a row that may ignore the range before the server is taken to know none.
pub(crate) const IGNORED: u32 = 2;

/// How a session ended.
pub(crate) enum End {
    /// All bytes are there; with digests if they are those of the whole.
    Complete(Option<Digests>, Identity),
    /// The object is another one now.
    Changed,
    /// The server sends no ranges and the connection broke.
    StartAnew(Trouble),
}

pub(crate) type Step<T> = Result<T, Stop>;

/// Why the session does not go on.
pub(crate) enum Stop {
    End(End),
    Error(FetchError),
}

impl From<FetchError> for Stop {
    fn from(error: FetchError) -> Stop {
        Stop::Error(error)
    }
}

/// The pause after so many failures; `None` when there were too many.
pub(crate) fn wait(
    shared: &Shared,
    trouble: &Trouble,
    failures: u32,
) -> Result<Option<Duration>, FetchError> {
    let options = &shared.options;
    let asked = trouble.retry_after();
    if let (Trouble::Status { host, .. }, Some(wait)) = (trouble, asked)
        && wait > options.patience
    {
        return Err(FetchError::Quota {
            host: host.clone(),
            wait,
            message: String::new(),
        });
    }
    let own = backoff::own_pause(failures, options);
    Ok((failures < options.attempts).then(|| asked.unwrap_or(own)))
}

pub(crate) async fn permit(shared: &Shared) -> Result<OwnedSemaphorePermit, FetchError> {
    let semaphore: Arc<Semaphore> = Arc::clone(&shared.connections);
    semaphore
        .acquire_owned()
        .await
        .map_err(|error| FetchError::Setup {
            cause: error.to_string(),
        })
}

/// The answer that tells which object it is.
pub(crate) async fn first_answer(
    shared: &Shared,
    id: &str,
    location: &mut Option<Location>,
    range: Range<u64>,
    known: Option<&Identity>,
) -> Step<(Answer, OwnedSemaphorePermit)> {
    let (mut failures, mut addresses, mut ignored) = (0, 0, 0);
    loop {
        let permit = permit(shared).await?;
        let at = match &*location {
            Some(location) => location.clone(),
            None => location.insert(api::address(shared, id).await?).clone(),
        };
        let trouble = match ask(shared, &at, range.clone(), known).await {
            Ok(answer) => return Ok((answer, permit)),
            Err(NoAnswer::Changed) => return Err(Stop::End(End::Changed)),
            Err(NoAnswer::Refused(error)) => return Err(error.into()),
            Err(NoAnswer::Trouble(trouble)) => trouble,
        };
        drop(permit);
        if matches!(trouble, Trouble::RangeIgnored { .. }) {
            ignored += 1;
            if ignored >= IGNORED {
                return Err(Stop::End(End::StartAnew(trouble)));
            }
        }
        let pause = if matches!(trouble, Trouble::Address { .. }) {
            *location = None;
            shared.addresses.forget(id);
            addresses += 1;
            (addresses < ADDRESSES).then_some(Duration::ZERO)
        } else {
            failures += 1;
            wait(shared, &trouble, failures)?
        };
        match pause {
            Some(pause) => tokio::time::sleep(pause).await,
            None => {
                return Err(FetchError::GaveUp {
                    cause: trouble,
                    attempts: failures.max(addresses),
                    kept: "nothing was lost, run again to go on".into(),
                }
                .into());
            }
        }
    }
}
