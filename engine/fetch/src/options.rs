//! Options of downloads.

use std::time::Duration;

use crate::waiting::{Clock, Watcher};
use crate::wire::api::endpoint::Protocol;

/// Limits and timeouts of all downloads of a process.
#[derive(Debug, Clone)]
pub struct DownloadOptions {
    /// URL of the API, with or without `/api/v1`.
    pub endpoint: String,
    /// URL of the API's methods. `None`: derived from `endpoint`.
    pub rpc_endpoint: Option<String>,
    /// The protocol to try first.
    pub protocol: Protocol,
    /// Maximum number of connections to the object store, for all downloads together.
    pub connections: usize,
    /// Number of connections at the start of a download.
    pub first_connections: usize,
    /// Maximum rate of all downloads together in bytes per second. If it is `None`, there is no limit.
    pub max_rate: Option<u64>,
    /// Length of a piece in bytes. The piece map records complete pieces, so each connection loses at most one piece in
    /// a crash.
    pub piece: u64,
    /// Maximum length of a range request in bytes. Must be a multiple of `piece`.
    pub range: u64,
    /// A connection is closed if it sends nothing for this long, or less than the minimum rate ([`RateCheck`]).
    ///
    /// [`RateCheck`]: prep_core::RateCheck
    pub stall: Duration,
    /// Time after which a download fails if the host has never answered, for example because its name does not exist.
    pub first_contact: Duration,
    /// Number of failures in a row, without a completed piece in between, after which a download fails.
    pub attempts: u32,
    /// Pause after the first failure. It doubles with each further failure, up to a minute. With the defaults, a
    /// download survives ten minutes without a network.
    pub backoff: Duration,
    /// Maximum pause that a server may request. A longer pause is an error.
    pub patience: Duration,
    /// Whether `HTTPS_PROXY` and similar variables are used.
    pub proxies: bool,
    /// The clock that is used to check whether a login has expired.
    pub clock: Clock,
    /// Is notified while a download waits.
    pub watcher: Watcher,
}

/// URL of Kaggle's API.
pub const ENDPOINT: &str = "https://www.kaggle.com/api/v1";

impl Default for DownloadOptions {
    fn default() -> DownloadOptions {
        DownloadOptions {
            endpoint: ENDPOINT.to_owned(),
            rpc_endpoint: None,
            protocol: Protocol::default(),
            connections: 16,
            first_connections: 4,
            max_rate: None,
            piece: 256 << 10,
            range: 16 << 20,
            stall: Duration::from_secs(30),
            first_contact: Duration::from_secs(45),
            attempts: 16,
            backoff: Duration::from_millis(500),
            patience: Duration::from_secs(600),
            proxies: true,
            clock: Clock::default(),
            watcher: Watcher::default(),
        }
    }
}
