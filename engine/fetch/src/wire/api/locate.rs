//! Finds the address of a bundle, or of a file of a competition.

use reqwest::Response;

use crate::error::FetchError;
use crate::wire::api::ask::{CallError, Reply, ask};
use crate::wire::api::body::{first_bytes, is_of_type};
use crate::wire::api::calls::Call;
use crate::wire::item::Item;
use crate::wire::location::{Location, LocationKind, host};
use crate::wire::message::Message;
use crate::wire::retry::Retry;
use crate::wire::shared::Shared;

/// Returns the location of an item. For a bundle, this is the last signed address, or a new one if none is cached.
///
/// # Errors
/// Same as for [`locate`].
pub(crate) async fn address(shared: &Shared, item: &Item) -> Result<Location, FetchError> {
    if let Item::File { location, .. } = item {
        return Ok(location.clone());
    }
    match shared.addresses.get(&item.key()) {
        Some(location) => Ok(location),
        None => locate(shared, item, Retry::default()).await,
    }
}

/// Requests a new address of a bundle or of a file of a competition. Makes as many attempts as the options allow.
///
/// # Errors
/// The error of a failed attempt, or the last temporary failure after all attempts.
pub(crate) async fn locate(
    shared: &Shared,
    item: &Item,
    retry: Retry,
) -> Result<Location, FetchError> {
    let call = match item {
        Item::File { location, .. } => return Ok(location.clone()),
        Item::Bundle(id) => Call::Bundle(id),
        Item::Member { id, file } => Call::File { id, file },
    };
    let location = ask(shared, call, retry, async |reply| {
        let (message, kind) = match reply {
            Reply::Elsewhere(url) => (Message::get(url), LocationKind::Signed),
            Reply::Answer(answer, message) => {
                check_sent_directly(shared, answer, &message, item).await?;
                (message, LocationKind::Api)
            }
        };
        let expected = item.expected();
        Ok(Location {
            message,
            expected,
            kind,
        })
    });
    let location = location.await?;
    shared.addresses.insert(&item.key(), location.clone());
    Ok(location)
}

/// Checks the answer of an API that sends the file itself instead of an address. The file is then requested again by
/// ranges from the same URL.
async fn check_sent_directly(
    shared: &Shared,
    answer: Response,
    message: &Message,
    item: &Item,
) -> Result<(), CallError> {
    let is_json = is_of_type(&answer, "application/json");
    let host = host(&message.url);
    let start = first_bytes(shared, answer, &host).await?;
    if !is_json && (!item.is_zip() || start.starts_with(b"PK")) {
        return Ok(());
    }
    let got = match is_json {
        true => "JSON".to_owned(),
        false => "something else".to_owned(),
    };
    Err(CallError::Fatal(FetchError::NotZip {
        host,
        got,
        expected: "a redirect to a zip archive".into(),
    }))
}
