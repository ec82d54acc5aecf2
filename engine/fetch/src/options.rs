//! How to fetch.

use std::time::Duration;

use crate::clock::Clock;
use crate::waiting::Watcher;
use crate::wire::api::endpoint::Protocol;

/// Limits and patience of all downloads of a process.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the API is, with or without `/api/v1`.
    pub endpoint: String,
    /// Where its methods are called; `None`: where they are at that endpoint.
    pub rpc_endpoint: Option<String>,
    /// The protocol that is tried first.
    pub protocol: Protocol,
    /// Connections to the store, of all downloads together.
    pub connections: usize,
    /// Connections with which a download begins.
    pub first_connections: usize,
    /// Bytes per second of all downloads together; none for no limit.
    pub max_rate: Option<u64>,
    /// Bytes that a connection may need to start again after a crash; the unit of the piece map.
    pub piece: u64,
    /// Most bytes of one range request; a multiple of `piece`.
    pub range: u64,
    /// A connection that yields nothing for this long is given up.
    pub stall: Duration,
    /// Failures in a row, without a piece completed in between, after which a download gives up.
    pub attempts: u32,
    /// First pause after a failure; it doubles with each further one, up to a minute. With the defaults, a download
    /// outlives ten minutes without a network.
    pub backoff: Duration,
    /// Longest pause that a server may ask for; a longer one is an error that says so.
    pub patience: Duration,
    /// Whether `HTTPS_PROXY` and its like are heeded.
    pub proxies: bool,
    /// Tells when a login expires.
    pub clock: Clock,
    /// Is told of waiting.
    pub watcher: Watcher,
}

/// Kaggle's API.
pub const ENDPOINT: &str = "https://www.kaggle.com/api/v1";

impl Default for Options {
    fn default() -> Options {
        Options {
            endpoint: ENDPOINT.to_owned(),
            rpc_endpoint: None,
            protocol: Protocol::default(),
            connections: 16,
            first_connections: 4,
            max_rate: None,
            piece: 256 << 10,
            range: 16 << 20,
            stall: Duration::from_secs(30),
            attempts: 16,
            backoff: Duration::from_millis(500),
            patience: Duration::from_secs(600),
            proxies: true,
            clock: Clock::default(),
            watcher: Watcher::default(),
        }
    }
}
