//! Adds credentials to requests, and renews the tokens of logins.

use std::time::Duration;

use reqwest::RequestBuilder;
use serde::Deserialize;

use crate::credentials::{KaggleCredentials, Login, parts};
use crate::error::FetchError;
use crate::message;
use crate::secret::Secret;
use crate::trouble::Trouble;
use crate::wire::api::ask::{self, CallError};
use crate::wire::api::body::{is_temporary, requested_pause, text_of};
use crate::wire::api::calls::Call;
use crate::wire::location::host;
use crate::wire::shared::Shared;

/// Adds the credentials to a request. `rejected` is a login's token that the API rejected. It is not sent again.
///
/// # Errors
/// If there are no credentials, or a login cannot be renewed.
pub(crate) async fn authorize(
    shared: &Shared,
    request: RequestBuilder,
    rejected: Option<&Secret>,
) -> Result<(RequestBuilder, Option<Secret>), CallError> {
    let found = shared.credentials().map_err(CallError::Fatal)?;
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

/// Returns a valid access token of a login. Renews it if necessary.
async fn token_of(
    shared: &Shared,
    login: &Login,
    rejected: Option<&Secret>,
) -> Result<Secret, CallError> {
    let valid = || {
        let token = login.token(shared.options.clock.now());
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

async fn renew(shared: &Shared, login: &Login) -> Result<Secret, CallError> {
    let path = || login.path().to_path_buf();
    let Some(refresh_token) = login.refresh_token() else {
        let message = String::new();
        return Err(CallError::Fatal(FetchError::LoginExpired {
            path: path(),
            message,
        }));
    };
    let call = Call::AccessToken {
        refresh_token: refresh_token.expose(),
    };
    let first = shared.endpoint.preferred();
    let mut last = None;
    for protocol in [first, first.alternative()] {
        let Some(message) = call.message(&shared.endpoint, protocol) else {
            continue;
        };
        let url = message.url.clone();
        let answer = match ask::send(shared, message.request(&shared.client), &url).await {
            Ok(answer) => answer,
            Err(trouble) => {
                last.get_or_insert(CallError::Trouble(trouble, String::new()));
                continue;
            }
        };
        let status = answer.status();
        let retry_after = requested_pause(&answer);
        let text = text_of(shared, answer).await;
        let now = shared.options.clock.now();
        if status.is_success()
            && let Ok(new) = serde_json::from_str::<NewToken>(&text)
            && parts::is_sendable(&new.token)
        {
            login.renew(new.token.clone(), now, Duration::from_secs(new.expires_in));
            return Ok(Secret::new(new.token));
        }
        let message = message::of_api(&text, &KaggleCredentials::Login(login.clone()));
        if is_temporary(status) {
            let (host, code) = (host(&url), status.as_u16());
            let trouble = Trouble::Status {
                host,
                code,
                retry_after,
            };
            return Err(CallError::Trouble(trouble, message));
        }
        let rejected = FetchError::LoginExpired {
            path: path(),
            message,
        };
        match status.as_u16() {
            404 | 405 | 410 | 501 => last = Some(CallError::Fatal(rejected)),
            _ => return Err(CallError::Fatal(rejected)),
        }
    }
    let message = String::new();
    Err(last.unwrap_or_else(|| {
        CallError::Fatal(FetchError::LoginExpired {
            path: path(),
            message,
        })
    }))
}
