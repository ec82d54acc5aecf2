//! Kaggle's API: asking for the signed address of a bundle.

use std::time::{Duration, SystemTime};

use reqwest::header::{ACCEPT_ENCODING, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use reqwest::{Response, StatusCode, Url};
use tokio::time::{sleep, timeout};

use crate::credentials::Credentials;
use crate::error::FetchError;
use crate::message;
use crate::trouble::{self, Trouble};
use crate::wire::backoff;
use crate::wire::item::Item;
use crate::wire::location::{Location, follow, host};
use crate::wire::retry::{Next, Retry};
use crate::wire::shared::Shared;
use prep_core::units;

/// Redirects from one answer to the next, at most.
pub(crate) const REDIRECTS: usize = 5;

/// Most bytes read of an answer that is not a bundle.
const BODY: usize = 64 * 1024;

/// Where an item lies. Of a bundle the signed address: the last one, or a new one if the store refused that.
///
/// # Errors
/// As [`locate`].
pub(crate) async fn address(shared: &Shared, item: &Item) -> Result<Location, FetchError> {
    let id = match item {
        Item::File { location, .. } => return Ok(location.clone()),
        Item::Bundle(id) => id,
    };
    match shared.addresses.get(id) {
        Some(location) => Ok(location),
        None => locate(shared, id).await,
    }
}

/// A new signed address of a bundle, after as many attempts as the options allow.
///
/// # Errors
/// Those of one attempt, or the last trouble.
pub(crate) async fn locate(shared: &Shared, id: &str) -> Result<Location, FetchError> {
    let mut retry = Retry::default();
    loop {
        let (trouble, message) = match attempt(shared, id).await {
            Attempt::Located(location) => {
                shared.addresses.insert(id, location.clone());
                return Ok(location);
            }
            Attempt::Refused(error) => return Err(error),
            Attempt::Trouble(trouble, message) => (trouble, message),
        };
        let next = retry.next(&shared.options, trouble, || "nothing was changed".into());
        match next.map_err(|error| error.with_message(message))? {
            Next::After(pause) => sleep(pause).await,
            // The API gives addresses and has no ranges.
            Next::NewAddress | Next::WithoutRanges(_) => {}
        }
    }
}

enum Attempt {
    Located(Location),
    Refused(FetchError),
    Trouble(Trouble, String),
}

async fn attempt(shared: &Shared, id: &str) -> Attempt {
    let credentials = match shared.credentials() {
        Ok(credentials) => credentials,
        Err(error) => return Attempt::Refused(error),
    };
    let mut url = shared.endpoint.clone();
    match url.path_segments_mut() {
        Ok(mut segments) => {
            segments.extend(["competitions", "data", "download-all", id]);
        }
        // `Network::new` refuses such an endpoint.
        Err(()) => {
            return Attempt::Refused(FetchError::Setup {
                cause: "the endpoint has no path".into(),
            });
        }
    }
    for _ in 0..=REDIRECTS {
        let answer = match ask(shared, credentials, url.clone()).await {
            Ok(answer) => answer,
            Err(trouble) => return Attempt::Trouble(trouble, String::new()),
        };
        if !answer.status().is_redirection() {
            return refusal(shared, credentials, id, answer).await;
        }
        let to = answer.headers().get(LOCATION);
        match follow(&url, to.and_then(|to| to.to_str().ok())) {
            Err(error) => return Attempt::Refused(error),
            Ok(to) if to.origin() == shared.endpoint.origin() => url = to,
            Ok(to) => return Attempt::Located(Location::signed(to)),
        }
    }
    Attempt::Refused(FetchError::Redirect {
        from: host(&url),
        to: host(&url),
        reason: "there are too many of them",
    })
}

/// Sends the credentials; only ever called with addresses of the endpoint's origin.
async fn ask(shared: &Shared, credentials: &Credentials, url: Url) -> Result<Response, Trouble> {
    let request = shared.client.get(url).header(ACCEPT_ENCODING, "identity");
    let request = match credentials {
        Credentials::Key { username, key } => request.basic_auth(username, Some(key.expose())),
        Credentials::Token(token) => request.bearer_auth(token.expose()),
    };
    let stall = shared.options.stall;
    let host = || host(&shared.endpoint);
    match timeout(stall, request.send()).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(Trouble::Unreachable {
            host: host(),
            cause: trouble::cause(error),
        }),
        Err(_) => Err(Trouble::Stalled {
            host: host(),
            offset: 0,
            time: stall,
        }),
    }
}

/// What an answer means that is not a redirect.
async fn refusal(
    shared: &Shared,
    credentials: &Credentials,
    id: &str,
    answer: Response,
) -> Attempt {
    let status = answer.status();
    let retry_after = wanted_pause(&answer);
    let html = is_html(&answer);
    let body = body(shared, answer).await;
    let message = message::of_api(&body, credentials);
    let host = host(&shared.endpoint);
    let id = id.to_owned();
    Attempt::Refused(match status.as_u16() {
        401 => FetchError::Unauthorised { message },
        403 if message.to_lowercase().contains("rules") => FetchError::RulesNotAccepted { id },
        403 => FetchError::Forbidden { id, message },
        404 => FetchError::NoSuchCompetition { id, message },
        code if is_passing(status) => {
            let trouble = Trouble::Status {
                host,
                code,
                retry_after,
            };
            return Attempt::Trouble(trouble, message);
        }
        _ if html && status.is_success() => FetchError::NotZip {
            host,
            got: format!("HTML, {}", units::bytes(body.len() as u64)),
            expected: "a redirect to a zip archive".into(),
        },
        code => FetchError::Refused {
            host,
            code,
            message,
        },
    })
}

/// Statuses that may be others a moment later.
pub(crate) fn is_passing(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429)
}

pub(crate) fn is_html(answer: &Response) -> bool {
    let kind = answer.headers().get(CONTENT_TYPE);
    kind.and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.to_ascii_lowercase().starts_with("text/html"))
}

pub(crate) fn wanted_pause(answer: &Response) -> Option<Duration> {
    let value = answer.headers().get(RETRY_AFTER)?.to_str().ok()?;
    backoff::retry_after(value, SystemTime::now())
}

/// The start of a body as text: what arrives before the stall timer ends. The timer runs once for the whole text, because a
/// server that sends a byte now and then would otherwise hold the download for weeks.
pub(crate) async fn body(shared: &Shared, mut answer: Response) -> String {
    let mut bytes = Vec::new();
    let reading = async {
        while bytes.len() < BODY
            && let Ok(Some(chunk)) = answer.chunk().await
        {
            bytes.extend_from_slice(&chunk);
        }
    };
    // A text that is cut off still says something.
    let _ = timeout(shared.options.stall, reading).await;
    String::from_utf8_lossy(&bytes).into_owned()
}
