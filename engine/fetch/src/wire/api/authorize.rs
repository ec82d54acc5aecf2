//! Adds credentials to requests, and renews the tokens of logins.

use std::time::Duration;

use reqwest::RequestBuilder;
use serde::Deserialize;

use crate::credentials::{KaggleCredentials, Login, parts};
use crate::error::FetchError;
use crate::secret::Secret;
use crate::trouble;
use crate::wire::api::ask::CallError;
use crate::wire::api::body::{beginning_of, is_temporary, text_of, trouble_of};
use crate::wire::api::calls::Call;
use crate::wire::location::host;
use crate::wire::send::send;
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
    let expired = |message| {
        let path = login.path().to_path_buf();
        CallError::Fatal(FetchError::LoginExpired { path, message })
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
        let answer = match send(shared, request, &message.url, 0).await {
            Ok(answer) => answer,
            Err(trouble) => {
                last.get_or_insert(trouble.into());
                continue;
            }
        };
        let status = answer.status();
        let host = host(&message.url);
        let trouble = trouble_of(&answer, host.clone());
        let text = match status.is_success() {
            true => text_of(shared, answer, &host).await?,
            false => beginning_of(shared, answer, &host).await,
        };
        let now = shared.options.clock.now();
        if status.is_success()
            && let Ok(new) = serde_json::from_str::<NewToken>(&text)
            && parts::is_sendable(&new.token)
        {
            login.renew(new.token.clone(), now, Duration::from_secs(new.expires_in));
            return Ok(Secret::new(new.token));
        }
        let message = trouble::of_api(&text, &KaggleCredentials::Login(login.clone()));
        if is_temporary(status) {
            return Err(CallError::Trouble(trouble, message));
        }
        match status.as_u16() {
            404 | 405 | 410 | 501 => last = Some(expired(message)),
            _ => return Err(expired(message)),
        }
    }
    Err(last.unwrap_or_else(|| expired(String::new())))
}
