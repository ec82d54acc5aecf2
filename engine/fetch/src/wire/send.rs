//! Sends one request. Every request of this crate uses this function.

use reqwest::{RequestBuilder, Response};
use tokio::time::{sleep, timeout};

use crate::trouble::{self, Trouble};
use crate::waiting::{SLOW_AFTER, WaitReport};
use crate::wire::shared::Shared;

/// Sends a request and waits for the header of the answer, at most for the stall timeout. Reports a silence of some
/// seconds. `offset` is that of the requested bytes, for messages.
pub(crate) async fn send(
    shared: &Shared,
    request: RequestBuilder,
    host: String,
    offset: u64,
) -> Result<Response, Trouble> {
    let stall = shared.options.stall;
    let answer = timeout(stall, request.send());
    let report = async {
        sleep(SLOW_AFTER).await;
        let host = host.clone();
        shared
            .options
            .watcher
            .report(&WaitReport::Silence { host, until: stall });
        std::future::pending::<()>().await;
    };
    let answer = tokio::select! {
        answer = answer => answer,
        () = report => return Err(Trouble::Stalled { host, offset, time: stall }),
    };
    match answer {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => {
            let cause = trouble::cause(error);
            Err(Trouble::Unreachable { host, cause })
        }
        Err(_) => Err(Trouble::Stalled {
            host,
            offset,
            time: stall,
        }),
    }
}
