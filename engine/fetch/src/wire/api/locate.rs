//! The address of a bundle, or of one of its files.

use reqwest::Response;

use crate::error::FetchError;
use crate::wire::api::ask::{Problem, Reply, ask};
use crate::wire::api::body::is_of_type;
use crate::wire::api::calls::{Call, Message};
use crate::wire::item::Item;
use crate::wire::location::{Location, host};
use crate::wire::retry::Retry;
use crate::wire::shared::Shared;

/// Where an item is. Of a bundle the signed address: the last one, or a new one if the store refused that.
///
/// # Errors
/// As [`locate`].
pub(crate) async fn address(shared: &Shared, item: &Item) -> Result<Location, FetchError> {
    if let Item::File { location, .. } = item {
        return Ok(location.clone());
    }
    match shared.addresses.get(&item.key()) {
        Some(location) => Ok(location),
        None => locate(shared, item, Retry::default()).await,
    }
}

/// A new address of a bundle or of one of its files, after as many attempts as the options allow.
///
/// # Errors
/// Those of one attempt, or the last trouble.
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
        let expected = item.expected();
        match reply {
            Reply::Elsewhere(url) => Ok(Location::signed(url, expected)),
            Reply::Answer(answer, message) => sent_directly(answer, &message, item).await,
        }
    });
    let location = location.await?;
    shared.addresses.insert(&item.key(), location.clone());
    Ok(location)
}

/// The API answers with the bytes themselves: they are asked for again, by range, at the same place.
async fn sent_directly(
    mut answer: Response,
    message: &Message,
    item: &Item,
) -> Result<Location, Problem> {
    let is_json = is_of_type(&answer, "application/json");
    let start = match answer.chunk().await {
        Ok(chunk) => chunk.unwrap_or_default(),
        Err(_) => Default::default(),
    };
    if !is_json && (!item.is_zip() || start.starts_with(b"PK")) {
        return Ok(Location::of_api(message.clone(), item.expected()));
    }
    let got = match is_json {
        true => "JSON".to_owned(),
        false => "something else".to_owned(),
    };
    Err(Problem::Fatal(FetchError::NotZip {
        host: host(&message.url),
        got,
        expected: "a redirect to a zip archive".into(),
    }))
}
