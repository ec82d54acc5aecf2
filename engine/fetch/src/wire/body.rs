//! Reads response bodies. All functions read with [`chunk`], which fails if the server stops or sends too slowly.

use std::time::SystemTime;

use bytes::Bytes;
use prep_core::RateCheck;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use tokio::time::{Instant, timeout};

use crate::error::{Server, Trouble, transport_cause};
use crate::wire::retry;
use crate::wire::shared::Shared;

/// The server that sends a body, and the offset of the next byte. Errors state both.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Position<'a> {
    pub(crate) host: &'a Server,
    pub(crate) offset: u64,
}

/// Returns the next bytes of a body, or `None` at its end. Fails if the connection breaks or bytes arrive too slowly.
pub(crate) async fn chunk(
    response: &mut Response,
    rate: &mut RateCheck,
    position: Position<'_>,
) -> Result<Option<Bytes>, Trouble> {
    let host = || position.host.clone();
    let offset = position.offset;
    let began = Instant::now();
    let arrived = timeout(rate.left(), response.chunk()).await;
    let (bytes, time) = (rate.bytes(), rate.period());
    let too_slow = |bytes| match bytes {
        0 => Trouble::Stalled {
            host: host(),
            offset,
            time,
            unanswered: None,
        },
        bytes => Trouble::Slow {
            host: host(),
            offset,
            bytes,
            time,
        },
    };
    match arrived {
        Ok(Ok(Some(chunk))) => {
            let length = chunk.len() as u64;
            match rate.add(length, began.elapsed()) {
                true => Ok(Some(chunk)),
                false => Err(too_slow(bytes + length)),
            }
        }
        Ok(Ok(None)) => Ok(None),
        Ok(Err(error)) => Err(Trouble::Broken {
            host: host(),
            offset,
            cause: transport_cause(&error),
        }),
        Err(_) => Err(too_slow(bytes)),
    }
}

const MAX_TEXT_BYTES: usize = 4 << 20;

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

/// Returns the failure for a response whose status is temporary. The failure contains the pause that the server
/// requests.
pub(crate) fn trouble_of(answer: &Response, host: Server) -> Trouble {
    let value = answer.headers().get(RETRY_AFTER);
    let value = value.and_then(|value| value.to_str().ok());
    Trouble::Status {
        host,
        code: answer.status().as_u16(),
        retry_after: value.and_then(|value| retry::retry_after(value, SystemTime::now())),
    }
}

/// Reads a response body as text, at most [`MAX_TEXT_BYTES`] bytes. The stall timeout applies to the entire text, because
/// a server could send single bytes slowly for weeks.
pub(crate) async fn text_of(
    shared: &Shared,
    answer: Response,
    host: &Server,
) -> Result<String, Trouble> {
    match read_text(shared, answer, host).await {
        (text, None) => Ok(text),
        (_, Some(trouble)) => Err(trouble),
    }
}

/// Same as [`text_of`], but returns the part that arrived in time, which may still be useful in a message.
pub(crate) async fn beginning_of(shared: &Shared, answer: Response, host: &Server) -> String {
    read_text(shared, answer, host).await.0
}

pub(crate) async fn first_bytes(
    shared: &Shared,
    mut answer: Response,
    host: &Server,
) -> Result<Bytes, Trouble> {
    let mut rate = RateCheck::new(shared.options.stall);
    let position = Position { host, offset: 0 };
    Ok(chunk(&mut answer, &mut rate, position)
        .await?
        .unwrap_or_default())
}

/// Reads a response as text until it ends, fails, or has [`MAX_TEXT_BYTES`] bytes. Also returns the failure.
async fn read_text(
    shared: &Shared,
    mut answer: Response,
    host: &Server,
) -> (String, Option<Trouble>) {
    let time = shared.options.stall;
    let mut bytes = Vec::new();
    let reading = async {
        let mut rate = RateCheck::new(time);
        while bytes.len() < MAX_TEXT_BYTES {
            let offset = bytes.len() as u64;
            let position = Position { host, offset };
            match chunk(&mut answer, &mut rate, position).await? {
                Some(chunk) => bytes.extend_from_slice(&chunk),
                None => break,
            }
        }
        Ok(())
    };
    let ended = timeout(time, reading).await;
    let trouble = match ended {
        Ok(ended) => ended.err(),
        Err(_) => Some(Trouble::Slow {
            host: host.clone(),
            offset: 0,
            bytes: bytes.len() as u64,
            time,
        }),
    };
    (String::from_utf8_lossy(&bytes).into_owned(), trouble)
}

/// A longer content encoding is truncated to this number of characters.
const MAX_SHOWN_VALUE: usize = 40;

/// Returns the content encoding of a response, for messages. `None` without an encoding.
pub(crate) fn encoding(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_ENCODING)?;
    let value = String::from_utf8_lossy(value.as_bytes());
    let value = value.trim();
    let is_plain = value.is_empty() || value.eq_ignore_ascii_case("identity");
    let shown = value.chars().filter(char::is_ascii_graphic);
    (!is_plain).then(|| shown.take(MAX_SHOWN_VALUE).collect())
}
