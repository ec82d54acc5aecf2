//! Events for the owner of the server. Clients do not see them.

use std::net::SocketAddr;
use std::time::Duration;

/// An answered request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEvent {
    pub client: SocketAddr,
    pub request: String,
    pub status: u16,
    /// Length of the upload in bytes.
    pub bytes: Option<u64>,
    /// Whether the submission is valid. `None` if it was not graded.
    pub valid: Option<bool>,
    pub time: Duration,
    /// An error of the server, which clients do not see.
    pub trouble: Option<String>,
}

/// A function that receives events. Several threads call it.
pub type EventSink = std::sync::Arc<dyn Fn(&ServerEvent) + Send + Sync>;
