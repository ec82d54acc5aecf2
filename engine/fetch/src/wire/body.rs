//! Reads the bytes of an answer with a stall timeout and a rate limit. Verifies that exactly the announced number of
//! bytes arrives.

use bytes::Bytes;
use reqwest::Response;
use tokio::time::timeout;

use crate::trouble::{self, Trouble};
use crate::wire::answer::Answer;
use crate::wire::shared::Shared;

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

    /// Returns the next bytes. `None` after the announced number of bytes.
    pub(crate) async fn next(&mut self, shared: &Shared) -> Result<Option<Bytes>, Trouble> {
        let stall = shared.options.stall;
        let (host, offset) = (self.host.clone(), self.offset);
        let missing = self.end.saturating_sub(offset);
        let chunk = match timeout(stall, self.response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) if missing == 0 => return Ok(None),
            Ok(Ok(None)) => {
                return Err(Trouble::Short {
                    host,
                    offset,
                    missing,
                });
            }
            Ok(Err(error)) => {
                let cause = trouble::cause(error);
                return Err(Trouble::Broken {
                    host,
                    offset,
                    cause,
                });
            }
            Err(_) => {
                return Err(Trouble::Stalled {
                    host,
                    offset,
                    time: stall,
                });
            }
        };
        let bytes = chunk.len() as u64;
        if bytes > missing {
            let what = "more bytes than it announced".into();
            return Err(Trouble::OtherRange { host, what });
        }
        shared.rate.take(bytes).await;
        self.offset += bytes;
        Ok(Some(chunk))
    }
}
