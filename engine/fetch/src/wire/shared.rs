//! What all downloads of a process share: one client, one runtime, one limit of connections and of rate.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use reqwest::Client;
use reqwest::redirect::Policy;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::credentials::Found;
use crate::error::FetchError;
use crate::options::Options;
use crate::wire::addresses::Addresses;
use crate::wire::api::endpoint::Endpoint;
use crate::wire::rate::RateLimit;

/// Longest time in which a connection is made. Who cannot be reached is reported soon, and the other protocol is tried.
const CONNECT: Duration = Duration::from_secs(10);

/// Threads of the network.
const THREADS: usize = 2;

/// How long a thread for blocking work stays without work: ten years.
const FOR_GOOD: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(crate) options: Options,
    pub(crate) endpoint: Endpoint,
    /// Looked for when the API is first asked.
    credentials: OnceLock<Found>,
    find: Box<Find>,
    finding: Mutex<()>,
    pub(crate) rate: RateLimit,
    pub(crate) addresses: Addresses,
    connections: Arc<Semaphore>,
    runtime: Option<Runtime>,
}

/// Finds credentials.
pub(crate) type Find = dyn Fn() -> Result<Found, FetchError> + Send + Sync;

impl Shared {
    /// Connects nowhere yet.
    pub(crate) fn new(options: Options, find: Box<Find>) -> Result<Shared, FetchError> {
        let setup = |cause: String| FetchError::Setup { cause };
        let rpc = options.rpc_endpoint.as_deref();
        let endpoint = Endpoint::parse(&options.endpoint, rpc, options.protocol).map_err(setup)?;
        let no_threads = |error: std::io::Error| {
            setup(format!(
                "the system starts no further thread: {}",
                error.kind()
            ))
        };
        prep_cache::probe(THREADS + 1).map_err(no_threads)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("fetch")
            .thread_keep_alive(FOR_GOOD)
            .enable_all()
            .build()
            .map_err(no_threads)?;
        // Names of hosts are looked up on threads for blocking work. With one of them the work is done whatever comes.
        drop(runtime.spawn_blocking(|| ()));
        let client = client(&options).map_err(setup)?;
        Ok(Shared {
            client,
            endpoint,
            credentials: OnceLock::new(),
            find,
            finding: Mutex::default(),
            connections: Arc::new(Semaphore::new(options.connections.max(1))),
            rate: RateLimit::new(options.max_rate),
            addresses: Addresses::default(),
            runtime: Some(runtime),
            options,
        })
    }

    /// The credentials for the API; they are looked for until they are found once.
    pub(crate) fn credentials(&self) -> Result<&Found, FetchError> {
        if let Some(found) = self.credentials.get() {
            return Ok(found);
        }
        let _one_at_a_time = self.finding.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = self.credentials.get() {
            return Ok(found);
        }
        let found = (self.find)()?;
        Ok(self.credentials.get_or_init(|| found))
    }

    /// The credentials, if they were needed yet.
    pub(crate) fn known_credentials(&self) -> Option<&Found> {
        self.credentials.get()
    }

    /// None once the last handle is gone.
    pub(crate) fn runtime(&self) -> Option<&Runtime> {
        self.runtime.as_ref()
    }

    /// The right to hold one connection; waits until there is one.
    pub(crate) async fn permit(&self) -> Result<OwnedSemaphorePermit, FetchError> {
        let semaphore = Arc::clone(&self.connections);
        semaphore
            .acquire_owned()
            .await
            .map_err(|error| FetchError::Setup {
                cause: error.to_string(),
            })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The last handle may go from within one of the runtime's own threads.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// HTTP/1.1 only: with HTTP/2 all ranges would share one TCP connection, and its throttling. Redirects are followed by
/// hand, because the credentials must stay with the API.
fn client(options: &Options) -> Result<Client, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(|error| error.to_string())?
        .with_no_client_auth();
    let builder = Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("prep/", env!("CARGO_PKG_VERSION")))
        .http1_only()
        .redirect(Policy::none())
        .referer(false)
        .tcp_nodelay(true)
        .connect_timeout(options.stall.min(CONNECT))
        .pool_max_idle_per_host(options.connections);
    let builder = if options.proxies {
        builder
    } else {
        builder.no_proxy()
    };
    builder.build().map_err(|error| error.to_string())
}
