//! Makes one API call. This module adds credentials, renews the token of a login, tries both protocols, follows redirects
//! between Kaggle's hosts, and classifies the response.

use std::time::Duration;

use reqwest::header::LOCATION;
use reqwest::{RequestBuilder, Response, StatusCode, Url};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::sleep;

use crate::credentials::{KaggleCredentials, Login, Secret, find};
use crate::error::{FetchError, Server, Stop, Trouble, server_text};
use crate::wire::body::{beginning_of, encoding, is_html, is_temporary, text_of, trouble_of};
use crate::wire::calls::Call;
use crate::wire::location::{Message, follow, host};
use crate::wire::retry::{Retry, RetryAction};
use crate::wire::shared::{Shared, send};

pub(crate) const MAX_REDIRECTS: usize = 5;

pub(crate) enum Reply {
    /// A redirect to a host that is not Kaggle's.
    Elsewhere(Url),
    /// The API's own response, and the request that it answers.
    Answer(Response, Message),
}

impl Reply {
    /// Returns the response to a call and its server. A redirect to a host that is not Kaggle's is an error.
    pub(crate) fn answer(self, shared: &Shared) -> Result<(Response, Server), Stop> {
        match self {
            Reply::Answer(answer, message) => Ok((answer, shared.server(&message))),
            Reply::Elsewhere(url) => {
                let api = shared.endpoint.base(shared.endpoint.preferred());
                let api = shared.server(&Message::get(api.clone()));
                Err(unexpected(api, format!("a redirect to {}", host(&url))))
            }
        }
    }
}

pub(crate) fn unexpected(host: Server, got: impl Into<String>) -> Stop {
    let got = got.into();
    Stop::Fatal(FetchError::Unexpected { host, got })
}

/// Returns whether a call may have failed because the server does not support the protocol.
fn may_be_of_protocol(stop: &Stop) -> bool {
    matches!(
        stop,
        Stop::Absent(_) | Stop::Trouble(Trouble::NoConnection(_) | Trouble::Stalled { .. }, _)
    )
}

/// Makes a call with the preferred protocol. If the server does not support this protocol, uses the other one. Retries
/// after temporary failures. `read` converts the response.
pub(crate) async fn ask<T>(
    shared: &Shared,
    call: Call<'_>,
    mut retry: Retry,
    read: impl AsyncFn(Reply) -> Result<T, Stop>,
) -> Result<T, FetchError> {
    loop {
        let (trouble, message) = match attempt_with_both_protocols(shared, call, &read).await {
            Ok(value) => return Ok(value),
            Err(Stop::Absent(error) | Stop::Fatal(error)) => return Err(error),
            Err(Stop::Trouble(trouble, message)) => (trouble, message),
            Err(Stop::Changed | Stop::NoValidator) => {
                return Err(FetchError::KeepsChanging { times: 1 });
            }
        };
        let help = match shared.endpoint.is_official {
            true => "run again later",
            false => "run again later, or unset KAGGLE_API_ENDPOINT",
        };
        let next = retry.next(&shared.options, trouble, || help.to_owned());
        match next.map_err(|error| error.with_message(message))? {
            RetryAction::After(pause) => sleep(pause).await,
            // API calls use neither signed addresses nor ranges, so this does not occur.
            RetryAction::NewAddress | RetryAction::WithoutRanges(_) => {}
        }
    }
}

/// Makes one attempt with the preferred protocol. If this fails because the server may not support the protocol, makes one
/// attempt with the other protocol.
async fn attempt_with_both_protocols<T>(
    shared: &Shared,
    call: Call<'_>,
    read: &impl AsyncFn(Reply) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let first = shared.endpoint.preferred();
    let try_protocol = async |protocol| {
        let message = call.message(&shared.endpoint, protocol);
        read(follow_redirects(shared, message, call).await?).await
    };
    let problem = match try_protocol(first).await {
        Err(problem) if may_be_of_protocol(&problem) => problem,
        ended => return ended,
    };
    match try_protocol(first.alternative()).await {
        // If neither protocol exists, the error of the preferred protocol is reported.
        Err(other) if may_be_of_protocol(&other) => Err(problem),
        ended if is_of_api(&ended) => {
            shared.endpoint.prefer(first.alternative());
            ended
        }
        _ if matches!(problem, Stop::Absent(_)) => Err(problem),
        ended => ended,
    }
}

/// Returns whether the API itself responded. A web page or an overloaded server may respond in its place.
fn is_of_api<T>(ended: &Result<T, Stop>) -> bool {
    match ended {
        Ok(_) => true,
        Err(Stop::Fatal(error)) => matches!(
            error,
            FetchError::Unauthorised { .. }
                | FetchError::RulesNotAccepted { .. }
                | FetchError::MayNotParticipate { .. }
                | FetchError::Forbidden { .. }
        ),
        Err(_) => false,
    }
}

/// Sends a call with credentials. Follows redirects to hosts that may receive the credentials.
async fn follow_redirects(
    shared: &Shared,
    mut message: Message,
    call: Call<'_>,
) -> Result<Reply, Stop> {
    let mut rejected = None;
    for _ in 0..=MAX_REDIRECTS {
        let request = message.request(&shared.client);
        let (request, token) = authorize(shared, request, rejected.as_ref()).await?;
        let answer = send(shared, request, &message, 0).await?;
        let status = answer.status();
        // The access token may have been revoked, or it may have expired if the local clock is slow. Therefore one new token
        // is requested.
        if status == StatusCode::UNAUTHORIZED && token.is_some() && rejected.is_none() {
            rejected = token;
            continue;
        }
        if !status.is_redirection() {
            return classify_answer(shared, answer, message, call).await;
        }
        let to = answer
            .headers()
            .get(LOCATION)
            .and_then(|to| to.to_str().ok());
        let from = shared.server(&message);
        let to = follow(from, &message.url, to)?;
        if !shared.endpoint.is_trusted(&to) {
            return Ok(Reply::Elsewhere(to));
        }
        // A request with valid credentials is never redirected to a login page, so no request is sent to a login page.
        if is_login(&to) {
            let host = shared.server(&Message::get(to));
            return Err(Stop::Fatal(FetchError::LoginPage { host }));
        }
        // As in browsers, only these two statuses keep the method POST. All others change it to GET.
        if !matches!(status.as_u16(), 307 | 308) {
            message.body = None;
        }
        message.url = to;
    }
    Err(Stop::Fatal(FetchError::Redirect {
        from: shared.server(&message),
        to: host(&message.url),
        reason: "there are too many redirects",
    }))
}

/// Returns whether the URL is that of a login page.
fn is_login(url: &Url) -> bool {
    let mut segments = url.path_segments().into_iter().flatten();
    segments.any(|segment| matches!(segment.to_ascii_lowercase().as_str(), "login" | "signin"))
}

/// Converts a response to a reply. Web pages, encoded responses and error responses become errors.
async fn classify_answer(
    shared: &Shared,
    answer: Response,
    message: Message,
    call: Call<'_>,
) -> Result<Reply, Stop> {
    let status = answer.status();
    let host = shared.server(&message);
    if is_html(&answer) && status.is_success() {
        return Err(unexpected(host, "a web page"));
    }
    if status.is_success()
        && let Some(encoding) = encoding(answer.headers())
    {
        return Err(Stop::Fatal(FetchError::Encoded { host, encoding }));
    }
    if status.is_success() {
        return Ok(Reply::Answer(answer, message));
    }
    let trouble = trouble_of(&answer, host.clone());
    let text = beginning_of(shared, answer, &host).await;
    let found = shared.credentials()?;
    let message = server_text(&text, &found.credentials);
    let code = status.as_u16();
    if host.is_of_endpoint()
        && !is_temporary(status)
        && serde_json::from_str::<Value>(&text).is_err()
    {
        let got = format!("status {code} without Kaggle's JSON");
        let error = FetchError::Unexpected { host, got };
        return Err(match code {
            404 | 405 | 410 | 501 => Stop::Absent(error),
            _ => Stop::Fatal(error),
        });
    }
    let id = call.id().to_owned();
    let mentions = |part: &str| message.to_lowercase().contains(part);
    Err(Stop::Fatal(match code {
        401 => FetchError::Unauthorised {
            host,
            used: found.origin.to_string(),
            others: found.others.iter().map(ToString::to_string).collect(),
            can_log_in: matches!(found.credentials, KaggleCredentials::Login(_)),
            message,
        },
        403 if mentions("competitions.participate") => {
            FetchError::MayNotParticipate { host, id, message }
        }
        403 if mentions("rules") => FetchError::RulesNotAccepted { id },
        403 if !id.is_empty() => FetchError::Forbidden { host, id, message },
        404 if !id.is_empty() => {
            let error = FetchError::NoSuchCompetition { host, id, message };
            return Err(Stop::Absent(error));
        }
        _ if is_temporary(status) => return Err(Stop::Trouble(trouble, message)),
        code @ (404 | 405 | 410 | 501) => {
            return Err(Stop::Absent(FetchError::Refused {
                host,
                code,
                message,
            }));
        }
        code => FetchError::Refused {
            host,
            code,
            message,
        },
    }))
}

/// Adds the credentials to a request. Also returns the access token, if the credentials are a login. A token that the API
/// has `rejected` is not sent again.
pub(crate) async fn authorize(
    shared: &Shared,
    request: RequestBuilder,
    rejected: Option<&Secret>,
) -> Result<(RequestBuilder, Option<Secret>), Stop> {
    let found = shared.credentials()?;
    Ok(match &found.credentials {
        KaggleCredentials::Key { username, key } => {
            (request.basic_auth(username, Some(key.expose())), None)
        }
        KaggleCredentials::Token(token) => (request.bearer_auth(token.expose()), None),
        KaggleCredentials::Login(login) => {
            let token = token_of(shared, login, rejected).await?;
            (request.bearer_auth(token.expose()), Some(token))
        }
    })
}

/// Returns a valid access token of a login, but never the token `rejected`. Requests a new token if necessary.
async fn token_of(
    shared: &Shared,
    login: &Login,
    rejected: Option<&Secret>,
) -> Result<Secret, Stop> {
    let valid = || {
        let token = login.token((shared.options.clock)());
        token.filter(|token| Some(token) != rejected)
    };
    if let Some(token) = valid() {
        return Ok(token);
    }
    let _guard = login.renewing().await;
    // Another task or process may have renewed the token during the wait.
    match valid() {
        Some(token) => Ok(token),
        None => renew(shared, login).await,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewToken {
    token: String,
    expires_in: u64,
}

/// Requests a new access token and stores it. Uses the other protocol if the server of the preferred protocol cannot be
/// reached or does not support the call.
async fn renew(shared: &Shared, login: &Login) -> Result<Secret, Stop> {
    let expired = |message| {
        let path = login.path().to_path_buf();
        Stop::Fatal(FetchError::LoginExpired { path, message })
    };
    let Some(refresh_token) = login.refresh_token() else {
        return Err(expired(String::new()));
    };
    let call = Call::AccessToken {
        refresh_token: refresh_token.expose(),
    };
    let first = shared.endpoint.preferred();
    let mut last = None;
    for protocol in [first, first.alternative()] {
        let message = call.message(&shared.endpoint, protocol);
        let request = message.request(&shared.client);
        let answer = match send(shared, request, &message, 0).await {
            Ok(answer) => answer,
            Err(trouble) => {
                last.get_or_insert(trouble.into());
                continue;
            }
        };
        let status = answer.status();
        let host = shared.server(&message);
        let trouble = trouble_of(&answer, host.clone());
        let text = match status.is_success() {
            true => text_of(shared, answer, &host).await?,
            false => beginning_of(shared, answer, &host).await,
        };
        let now = (shared.options.clock)();
        if status.is_success()
            && let Ok(new) = serde_json::from_str::<NewToken>(&text)
            && find::is_sendable(&new.token)
        {
            login.renew(new.token.clone(), now, Duration::from_secs(new.expires_in));
            return Ok(Secret::new(new.token));
        }
        let message = server_text(&text, &KaggleCredentials::Login(login.clone()));
        if is_temporary(status) {
            return Err(Stop::Trouble(trouble, message));
        }
        match status.as_u16() {
            404 | 405 | 410 | 501 => last = Some(expired(message)),
            _ => return Err(expired(message)),
        }
    }
    Err(last.unwrap_or_else(|| expired(String::new())))
}
