//! Queries the API about the files of a competition. The API also answers for accounts that have not accepted the
//! rules.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::FetchError;
use crate::wire::api::ask::{CallError, ask};
use crate::wire::api::body::text_of;
use crate::wire::api::calls::Call;
use crate::wire::location::host;
use crate::wire::retry::Retry;
use crate::wire::shared::Shared;

/// Maximum number of pages that are read. It is enough for 200,000 files.
const MAX_PAGES: usize = 1000;

/// Maximum number of files that are returned.
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

/// Returns the files of a competition. Reads the list page by page.
///
/// # Errors
/// Same as for [`ask`].
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

/// Returns the number and total length of a competition's files. Makes one API call.
///
/// # Errors
/// Same as for [`ask`].
pub(crate) async fn summary(shared: &Shared, id: &str) -> Result<DataSummary, FetchError> {
    let summary: Summary = json(shared, Call::Summary(id)).await?;
    let info = summary.file_summary_info;
    let bytes = info.file_types.iter().map(|one| one.total_size);
    Ok(DataSummary {
        files: info.total_file_count,
        bytes: bytes.fold(0, u64::saturating_add),
    })
}

/// Makes a call whose answer is JSON.
async fn json<T: DeserializeOwned>(shared: &Shared, call: Call<'_>) -> Result<T, FetchError> {
    ask(shared, call, Retry::default(), async |reply| {
        let (answer, url) = reply.answer()?;
        let text = text_of(shared, answer, &host(&url)).await?;
        // The parser's message is dropped, because it may quote the response.
        serde_json::from_str(&text).map_err(|_| CallError::unexpected(&url))
    })
    .await
}
