//! What the server tells its owner. Clients never see it.

use std::net::SocketAddr;
use std::time::Duration;

/// A request that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub client: SocketAddr,
    pub request: String,
    pub status: u16,
    /// Of the upload.
    pub bytes: Option<u64>,
    /// Whether the submission is valid, if it came to that.
    pub valid: Option<bool>,
    pub time: Duration,
    /// What is wrong on this side, which clients are not told.
    pub trouble: Option<String>,
}

/// Takes events; called from several threads.
pub type Log = std::sync::Arc<dyn Fn(&Event) + Send + Sync>;
