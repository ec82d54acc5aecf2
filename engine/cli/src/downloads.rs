//! Sets up the network for downloads: limits and credentials.

use std::time::{Duration, Instant};

use clap::Args;
use parking_lot::Mutex;
use prep_core::units;
use prep_fetch::{DownloadOptions, FetchError, FoundCredentials, LazyNetwork, Network, Watcher};

use crate::output::printer::Printer;
use crate::session::CliSession;
use crate::values::at_least_one;

/// Heading of these options in the help. A heading of the struct would also apply to the options after it.
const HEADING: &str = "Downloads";

/// Limits of all downloads together.
#[derive(Debug, Default, Clone, Args)]
pub struct DownloadLimits {
    /// Bytes per second of all downloads together, such as 20MB
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes, help_heading = HEADING)]
    pub max_rate: Option<u64>,
    /// Connections of all downloads together [default: 16]
    #[arg(long, value_name = "N", value_parser = at_least_one, help_heading = HEADING)]
    pub connections: Option<usize>,
}

/// The purpose for which a verb uses the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The network is not used, because of `--no-download` or because the verb does not need it.
    Unused,
    /// A short request, while the user waits for the answer.
    Request,
    /// A download, which may wait for the network for up to ten minutes and then continues.
    Download,
}

impl Purpose {
    /// Returns the purpose of a verb that only sends requests, unless `no_download` is set.
    pub fn request_unless(no_download: bool) -> Purpose {
        match no_download {
            true => Purpose::Unused,
            false => Purpose::Request,
        }
    }
}

/// Maximum number of attempts of a request.
const MAX_REQUEST_ATTEMPTS: u32 = 3;

/// Returns the network. It is set up on first use, and then a message shows which credentials are used.
pub fn network(session: &CliSession, limits: &DownloadLimits, purpose: Purpose) -> LazyNetwork {
    let (session, limits) = (session.clone(), limits.clone());
    LazyNetwork::new(move || connect(&session, &limits, purpose))
}

fn connect(
    session: &CliSession,
    limits: &DownloadLimits,
    purpose: Purpose,
) -> Result<Network, FetchError> {
    let usual = DownloadOptions::default();
    let attempts = match purpose {
        Purpose::Unused => return Err(FetchError::NotAllowed),
        Purpose::Request => MAX_REQUEST_ATTEMPTS,
        Purpose::Download => usual.attempts,
    };
    let options = DownloadOptions {
        endpoint: session.kaggle.endpoint.clone(),
        connections: limits.connections.unwrap_or(usual.connections),
        max_rate: limits.max_rate,
        attempts,
        watcher: watcher(&session.printer),
        ..usual
    };
    let session = session.clone();
    Network::with_finder(options, move || credentials(&session))
}

/// Minimum time between two messages about waiting. Several downloads may wait for the same server.
const MESSAGE_INTERVAL: Duration = Duration::from_secs(5);

/// Returns a watcher that prints why a download waits.
fn watcher(printer: &Printer) -> Watcher {
    let printer = printer.clone();
    let shown: Mutex<Option<Instant>> = Mutex::default();
    Watcher::new(move |waiting| {
        let mut shown = shown.lock();
        if shown.is_none_or(|shown| shown.elapsed() >= MESSAGE_INTERVAL) {
            *shown = Some(Instant::now());
            printer.message_aside(waiting);
        }
    })
}

fn credentials(session: &CliSession) -> Result<FoundCredentials, FetchError> {
    let found = session.kaggle.credentials()?;
    session
        .printer
        .message(format!("Kaggle credentials: {}", found.origin));
    for warning in &found.warnings {
        session.printer.warning(warning);
    }
    Ok(found)
}
