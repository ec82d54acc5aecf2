//! Reads responses as text.

use std::time::SystemTime;

use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use tokio::time::timeout;

use crate::trouble::Trouble;
use crate::wire::backoff;
use crate::wire::shared::Shared;

/// Maximum number of bytes that are read of a response that is not a file.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// Returns whether the status may be temporary.
pub(crate) fn is_temporary(status: StatusCode) -> bool {
    let code = status.as_u16();
    matches!(code, 408 | 425 | 429) || status.is_server_error() && code != 501
}

pub(crate) fn is_html(answer: &Response) -> bool {
    is_of_type(answer, "text/html")
}

pub(crate) fn is_of_type(answer: &Response, media_type: &str) -> bool {
    let found = answer.headers().get(CONTENT_TYPE);
    found
        .and_then(|found| found.to_str().ok())
        .is_some_and(|found| found.to_ascii_lowercase().starts_with(media_type))
}

/// Returns the failure for an answer with a temporary status, with the pause that the server requests.
pub(crate) fn trouble_of(answer: &Response, host: String) -> Trouble {
    let value = answer.headers().get(RETRY_AFTER);
    let value = value.and_then(|value| value.to_str().ok());
    Trouble::Status {
        host,
        code: answer.status().as_u16(),
        retry_after: value.and_then(|value| backoff::retry_after(value, SystemTime::now())),
    }
}

/// Reads the beginning of a body as text, for at most the stall timeout. The timeout covers the entire text. Otherwise
/// a server that sends a byte now and then could block the download for weeks.
pub(crate) async fn text_of(shared: &Shared, mut answer: Response) -> String {
    let mut bytes = Vec::new();
    let reading = async {
        while bytes.len() < MAX_TEXT_BYTES
            && let Ok(Some(chunk)) = answer.chunk().await
        {
            bytes.extend_from_slice(&chunk);
        }
    };
    // If the text is incomplete, the part that arrived may still be useful.
    let _ = timeout(shared.options.stall, reading).await;
    String::from_utf8_lossy(&bytes).into_owned()
}
