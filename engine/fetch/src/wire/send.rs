//! Sends a single request. All requests of this crate are sent by this function.

use reqwest::{RequestBuilder, Response, Url};
use tokio::time::{sleep, timeout};

use crate::trouble::{self, Trouble};
use crate::waiting::{REPORT_SILENCE_AFTER, WaitReport};
use crate::wire::location::host;
use crate::wire::shared::Shared;

/// Sends a request and waits for the header of the answer, for at most the stall timeout. Reports silence that lasts
/// some seconds. `url` is that of the request, and `offset` is the offset of the requested bytes, for messages.
pub(crate) async fn send(
    shared: &Shared,
    request: RequestBuilder,
    url: &Url,
    offset: u64,
) -> Result<Response, Trouble> {
    let stall = shared.options.stall;
    let host = host(url);
    let answer = timeout(stall, request.send());
    let report = async {
        sleep(REPORT_SILENCE_AFTER).await;
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
