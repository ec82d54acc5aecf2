//! Options of downloads, and the reports that a download is waiting for a server.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use prep_core::units;

use crate::error::Trouble;
use crate::wire::calls::Protocol;
use crate::wire::connect::NetworkVariables;

/// Limits and timeouts of all downloads of a process.
#[derive(Clone)]
pub struct DownloadOptions {
    /// URL of the API for [`Protocol::Rest`], with or without `/api/v1`.
    pub endpoint: String,
    /// URL of the API for [`Protocol::Rpc`]. `None` means that this URL is derived from `endpoint`.
    pub rpc_endpoint: Option<String>,
    /// The protocol to try first.
    pub protocol: Protocol,
    /// Maximum number of connections to the object store, for all downloads together.
    pub connections: usize,
    /// Number of connections at the start of a download.
    pub first_connections: usize,
    /// Maximum rate of all downloads together in bytes per second. `None` means unlimited.
    pub max_rate: Option<u64>,
    /// Length of a piece in bytes. If the process crashes, each connection loses at most one piece.
    pub piece: u64,
    /// Maximum length of a range request in bytes. Must be a multiple of `piece`.
    pub range: u64,
    /// A connection is closed if it receives no bytes, or fewer bytes than the minimum rate, for this time.
    pub stall: Duration,
    /// Time after which a download fails if the host never responded, for example because the host does not exist.
    pub first_contact: Duration,
    /// A download fails after this number of consecutive failures. A completed piece resets the count.
    pub attempts: u32,
    /// Pause after the first failure. It doubles with each further failure, up to a minute. With the defaults, a download
    /// survives ten minutes without a network.
    pub backoff: Duration,
    /// Maximum pause that a server may request. A longer pause is an error.
    pub patience: Duration,
    /// The proxies and certificates that environment variables name.
    pub variables: NetworkVariables,
    /// The clock for checking whether a login has expired.
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
            variables: NetworkVariables::default(),
            clock: Arc::new(SystemTime::now),
            watcher: Arc::new(|_| {}),
        }
    }
}

/// If a server is silent for longer than this, the watcher is notified.
pub(crate) const REPORT_SILENCE_AFTER: Duration = Duration::from_secs(3);

/// If a pause between two attempts is shorter than this, it is not reported, unless there is no connection.
const MIN_REPORTED_PAUSE: Duration = Duration::from_secs(2);

/// The reason why a download waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitReport {
    /// The connection is not established, or no response has arrived.
    Silence {
        /// The server.
        host: String,
        /// Time after which the attempt ends, measured from its start.
        until: Duration,
    },
    /// An attempt failed and will be repeated.
    Retry {
        /// The error.
        cause: String,
        /// Time until the next attempt.
        pause: Duration,
        /// Number of failed attempts in a row.
        failures: u32,
    },
}

impl WaitReport {
    /// Creates the report about a pause. Returns `None` if the pause is too short to be reported.
    pub(crate) fn new(trouble: &Trouble, pause: Duration, failures: u32) -> Option<WaitReport> {
        let is_offline = matches!(trouble, Trouble::NoConnection(_));
        (is_offline || pause >= MIN_REPORTED_PAUSE).then(|| WaitReport::Retry {
            cause: trouble.to_string(),
            pause,
            failures,
        })
    }
}

impl fmt::Display for WaitReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitReport::Silence { host, until } => {
                let (slow, until) = (
                    units::approximate_duration(REPORT_SILENCE_AFTER),
                    units::approximate_duration(*until),
                );
                write!(
                    formatter,
                    "no answer from {host} for {slow}; waiting up to {until}"
                )
            }
            WaitReport::Retry {
                cause,
                pause,
                failures,
            } => {
                let (pause, next) = (units::approximate_duration(*pause), failures + 1);
                write!(
                    formatter,
                    "{cause}; trying again in {pause} (attempt {next})"
                )
            }
        }
    }
}

/// Receives reports from several threads.
pub type Watcher = Arc<dyn Fn(&WaitReport) + Send + Sync>;

/// Returns the current time.
pub type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;
