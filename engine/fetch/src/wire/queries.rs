//! Queries of the API: the owner of the credentials, the files of a competition, and their addresses. The API lists files
//! even for accounts that have not accepted the rules.

use std::time::SystemTime;

use reqwest::Response;
use reqwest::header::DATE;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{FetchError, Stop};
use crate::wire::ask::{Reply, ask, unexpected};
use crate::wire::body::{first_bytes, is_of_type, text_of};
use crate::wire::calls::Call;
use crate::wire::location::{Item, Location, LocationKind, Message};
use crate::wire::retry::Retry;
use crate::wire::shared::Shared;

/// At most this number of pages of a file list is requested, even if the API announces more.
const MAX_PAGES: usize = 1000;

/// Once the requested pages contain this number of files, no further page is requested.
const MAX_FILES: usize = 200_000;

/// One file of a competition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFile {
    /// Path in the bundle.
    pub path: String,
    /// Uncompressed length in bytes.
    pub bytes: u64,
}

/// Number and total length of a competition's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DataSummary {
    /// Number of files.
    pub files: u64,
    /// Uncompressed total length in bytes.
    pub bytes: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    #[serde(default)]
    files: Vec<File>,
    #[serde(default)]
    next_page_token: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(default)]
    name: Option<String>,
    #[serde(default, rename = "ref")]
    reference: Option<String>,
    #[serde(default)]
    total_bytes: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    file_summary_info: FileSummary,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileSummary {
    #[serde(default)]
    total_file_count: u64,
    #[serde(default)]
    file_types: Vec<FileType>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileType {
    #[serde(default)]
    total_size: u64,
}

pub(crate) async fn files(shared: &Shared, id: &str) -> Result<Vec<DataFile>, FetchError> {
    let mut files = Vec::new();
    let mut page_token = String::new();
    for _ in 0..MAX_PAGES {
        let page = &page_token;
        let page: Page = json(shared, Call::Files { id, page }).await?;
        files.extend(page.files.into_iter().filter_map(|file| {
            let path = file.name.or(file.reference)?;
            let bytes = file.total_bytes;
            Some(DataFile { path, bytes })
        }));
        match page.next_page_token {
            Some(next) if !next.is_empty() && next != page_token && files.len() < MAX_FILES => {
                page_token = next;
            }
            _ => return Ok(files),
        }
    }
    Ok(files)
}

pub(crate) async fn summary(shared: &Shared, id: &str) -> Result<DataSummary, FetchError> {
    let summary: Summary = json(shared, Call::Summary(id)).await?;
    let info = summary.file_summary_info;
    let bytes = info.file_types.iter().map(|one| one.total_size);
    Ok(DataSummary {
        files: info.total_file_count,
        bytes: bytes.fold(0, u64::saturating_add),
    })
}

/// The response of a server that does not respond like Kaggle's API.
const OTHER_JSON: &str = "text that is not Kaggle's JSON";

async fn json<T: DeserializeOwned>(shared: &Shared, call: Call<'_>) -> Result<T, FetchError> {
    ask(shared, call, Retry::default(), async |reply| {
        let (answer, host) = reply.answer(shared)?;
        let text = text_of(shared, answer, &host).await?;
        // The parser's message may quote the response, so it is dropped.
        serde_json::from_str(&text).map_err(|_| unexpected(host, OTHER_JSON))
    })
    .await
}

/// Returns whether `hello` is Kaggle's response to [`Call::Hello`]: the owner, or a list of competitions in the older
/// protocol. Other servers may send an empty list, too, so an empty list is not accepted.
fn is_of_kaggle(hello: &Value) -> bool {
    let competitions = hello.get("competitions").unwrap_or(hello).as_array();
    hello.get("userName").is_some_and(Value::is_string)
        || competitions
            .is_some_and(|all| !all.is_empty() && all.iter().all(|one| one.get("ref").is_some()))
}

/// The account that the credentials belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The account's name, if the API sends it.
    pub user: Option<String>,
    /// The time of the server's clock when the server answered.
    pub server_time: Option<SystemTime>,
    /// The server that answered.
    pub host: String,
}

pub(crate) async fn account(shared: &Shared) -> Result<Account, FetchError> {
    ask(shared, Call::Hello, Retry::default(), async |reply| {
        let (answer, host) = reply.answer(shared)?;
        let date = answer.headers().get(DATE);
        let date = date.and_then(|date| date.to_str().ok());
        let server_time = date.and_then(|date| httpdate::parse_http_date(date).ok());
        let text = text_of(shared, answer, &host).await?;
        let hello = serde_json::from_str(&text).ok().filter(is_of_kaggle);
        let Some(hello) = hello else {
            return Err(unexpected(host, OTHER_JSON));
        };
        let user = hello.get("userName").and_then(Value::as_str);
        Ok(Account {
            user: user.filter(|user| !user.is_empty()).map(str::to_owned),
            server_time,
            host: host.to_string(),
        })
    })
    .await
}

/// Returns the location of an item. For a bundle or one of its files, this is the cached address, or a new one if none is
/// cached.
pub(crate) async fn address(shared: &Shared, item: &Item) -> Result<Location, FetchError> {
    if let Item::File { location, .. } = item {
        return Ok(location.clone());
    }
    match shared.addresses.get(&item.key()) {
        Some(location) => Ok(location),
        None => locate(shared, item, Retry::default()).await,
    }
}

/// Requests a new address of a bundle, or of a file of a competition. Retries after temporary failures.
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
            Reply::Elsewhere(url) => {
                let message = Message {
                    is_redirected: true,
                    ..Message::get(url)
                };
                (message, LocationKind::Signed)
            }
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

/// Checks a response in which the API sends the file itself instead of a redirect to a signed address. Returns an error if
/// the response is JSON, or if it must be a zip archive and its first bytes differ from those of a zip archive.
async fn check_sent_directly(
    shared: &Shared,
    answer: Response,
    message: &Message,
    item: &Item,
) -> Result<(), Stop> {
    let is_json = is_of_type(&answer, "application/json");
    let host = shared.server(message);
    let start = first_bytes(shared, answer, &host).await?;
    if !is_json && (!item.is_zip() || start.starts_with(b"PK")) {
        return Ok(());
    }
    let got = match is_json {
        true => "JSON".to_owned(),
        false => "something else".to_owned(),
    };
    Err(Stop::Fatal(FetchError::NotZip {
        host,
        got,
        expected: "a redirect to a zip archive".into(),
    }))
}
