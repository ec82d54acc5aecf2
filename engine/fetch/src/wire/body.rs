//! Reads the bytes of answers. All bodies are read by [`chunk`], so a server that stops sending, or sends too slowly,
//! never blocks a request.

use bytes::Bytes;
use prep_core::RateCheck;
use reqwest::Response;
use tokio::time::{Instant, timeout};

use crate::trouble::{self, Trouble};
use crate::wire::answer::Answer;
use crate::wire::shared::Shared;

/// The sender and the position of a body, for messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Position<'a> {
    pub(crate) host: &'a str,
    pub(crate) offset: u64,
}

/// Returns the next bytes of a body. `None` at its end.
///
/// # Errors
/// If the connection breaks, or the server sends less than the minimum rate.
pub(crate) async fn chunk(
    response: &mut Response,
    rate: &mut RateCheck,
    position: Position<'_>,
) -> Result<Option<Bytes>, Trouble> {
    let host = || position.host.to_owned();
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
            cause: trouble::cause(error),
        }),
        Err(_) => Err(too_slow(bytes)),
    }
}

/// The body of an answer with a file. Verifies that exactly the announced number of bytes arrives.
pub(crate) struct Body {
    response: Response,
    host: String,
    offset: u64,
    end: u64,
}

impl Body {
    pub(crate) fn new(answer: Answer) -> Body {
        Body {
            response: answer.response,
            host: answer.host,
            offset: answer.range.start,
            end: answer.range.end,
        }
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Returns the next bytes, after waiting for the rate limit. `None` after the announced number of bytes.
    pub(crate) async fn next(
        &mut self,
        shared: &Shared,
        rate: &mut RateCheck,
    ) -> Result<Option<Bytes>, Trouble> {
        let missing = self.end.saturating_sub(self.offset);
        let position = Position {
            host: &self.host,
            offset: self.offset,
        };
        let Some(chunk) = chunk(&mut self.response, rate, position).await? else {
            return match missing {
                0 => Ok(None),
                missing => Err(Trouble::Short {
                    host: self.host.clone(),
                    offset: self.offset,
                    missing,
                }),
            };
        };
        let bytes = chunk.len() as u64;
        if bytes > missing {
            return Err(Trouble::OtherRange {
                host: self.host.clone(),
                what: "more bytes than it announced".into(),
            });
        }
        shared.rate.take(bytes).await;
        self.offset += bytes;
        Ok(Some(chunk))
    }
}
