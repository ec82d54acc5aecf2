//! Sends a single request. All requests of this crate are sent by this function.

use reqwest::{RequestBuilder, Response, Url};
use tokio::time::{Instant, sleep, timeout};

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
    let time = shared.options.stall;
    let host = host(url);
    let began = Instant::now();
    let answer = timeout(time, request.send());
    let report = async {
        sleep(REPORT_SILENCE_AFTER).await;
        let host = host.clone();
        shared
            .options
            .watcher
            .report(&WaitReport::Silence { host, until: time });
        std::future::pending::<()>().await;
    };
    let answer = tokio::select! {
        answer = answer => Some(answer),
        () = report => None,
    };
    let failed = |host: &str| shared.contacts.record_failure(host, began);
    match answer {
        Some(Ok(Ok(answer))) => {
            shared.contacts.record_answer(&host);
            Ok(answer)
        }
        Some(Ok(Err(error))) => Err(Trouble::Unreachable {
            unanswered: failed(&host),
            host,
            cause: trouble::cause(error),
        }),
        Some(Err(_)) | None => Err(Trouble::Stalled {
            unanswered: failed(&host),
            host,
            offset,
            time,
        }),
    }
}
