//! Queries the API for the owner of the credentials and the server's time.

use std::time::SystemTime;

use reqwest::header::DATE;
use serde::Deserialize;

use crate::error::FetchError;
use crate::wire::api::ask::ask;
use crate::wire::api::body::text_of;
use crate::wire::api::calls::Call;
use crate::wire::location::host;
use crate::wire::retry::Retry;
use crate::wire::shared::Shared;

/// The account that the credentials belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The account's name, if the API sends it.
    pub user: Option<String>,
    /// The server's time at which it answered.
    pub server_time: Option<SystemTime>,
    /// The host that answered.
    pub host: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Hello {
    user_name: Option<String>,
}

/// Queries the API for the owner of the credentials.
///
/// # Errors
/// Same as for [`ask`], including [`FetchError::Unauthorised`] if the credentials are rejected.
pub(crate) async fn account(shared: &Shared) -> Result<Account, FetchError> {
    ask(shared, Call::Hello, Retry::default(), async |reply| {
        let (answer, url) = reply.answer()?;
        let host = host(&url);
        let date = answer.headers().get(DATE);
        let date = date.and_then(|date| date.to_str().ok());
        let server_time = date.and_then(|date| httpdate::parse_http_date(date).ok());
        let text = text_of(shared, answer, &host).await?;
        let hello: Hello = serde_json::from_str(&text).unwrap_or_default();
        Ok(Account {
            user: hello.user_name.filter(|user| !user.is_empty()),
            server_time,
            host,
        })
    })
    .await
}
