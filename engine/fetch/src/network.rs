//! What all downloads of a process share: one client, one runtime, one limit of connections and of rate.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

use crate::addresses::Addresses;
use crate::api;
use crate::credentials::Credentials;
use crate::error::FetchError;
use crate::options::Options;
use crate::rate::RateLimit;

/// Handle on the network. Cheap to clone; clones share all limits.
///
/// Its calls block the calling thread and must not be made from inside an asynchronous runtime.
#[derive(Clone)]
pub struct Network {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(crate) options: Options,
    pub(crate) endpoint: Url,
    pub(crate) credentials: Credentials,
    pub(crate) connections: Arc<Semaphore>,
    pub(crate) rate: RateLimit,
    pub(crate) addresses: Addresses,
    runtime: Option<Runtime>,
}

impl fmt::Debug for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Network")
            .field("options", &self.shared.options)
            .field("credentials", &self.shared.credentials)
            .finish_non_exhaustive()
    }
}

impl Network {
    /// Connects nowhere yet.
    ///
    /// # Errors
    /// [`FetchError::Setup`]: the endpoint is no URL, or the system has no certificates.
    pub fn new(options: Options, credentials: Credentials) -> Result<Network, FetchError> {
        let setup = |cause: String| FetchError::Setup { cause };
        let endpoint: Url = options
            .endpoint
            .trim_end_matches('/')
            .parse()
            .map_err(|error| setup(format!("the endpoint is no address: {error}")))?;
        if !matches!(endpoint.scheme(), "http" | "https") || endpoint.host_str().is_none() {
            return Err(setup(
                "the endpoint is not an address of http or https".into(),
            ));
        }
        if !endpoint.username().is_empty() || endpoint.password().is_some() {
            let cause = "the endpoint holds a user or password, which do not belong in an address";
            return Err(setup(cause.into()));
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("fetch")
            .enable_all()
            .build()
            .map_err(|error| setup(error.to_string()))?;
        let client = client(&options).map_err(setup)?;
        let shared = Shared {
            client,
            endpoint,
            credentials,
            connections: Arc::new(Semaphore::new(options.connections.max(1))),
            rate: RateLimit::new(options.max_rate),
            addresses: Addresses::default(),
            runtime: Some(runtime),
            options,
        };
        Ok(Network {
            shared: Arc::new(shared),
        })
    }

    /// Whether the bundle of `id` may be downloaded: one call of the API, no bytes of the bundle.
    ///
    /// # Errors
    /// [`FetchError::RulesNotAccepted`] and the other refusals of the API.
    pub fn check_access(&self, id: &str) -> Result<(), FetchError> {
        self.block_on(async { api::locate(&self.shared, id).await.map(|_| ()) })
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Runs a future to its end on this thread, its tasks on the network's threads.
    pub(crate) fn block_on<T>(
        &self,
        future: impl Future<Output = Result<T, FetchError>>,
    ) -> Result<T, FetchError> {
        match &self.shared.runtime {
            Some(runtime) => runtime.block_on(future),
            None => Err(FetchError::Setup {
                cause: "the network is shut down".into(),
            }),
        }
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

/// A network that is set up when it is first needed. Clones share it.
#[derive(Clone)]
pub struct LazyNetwork {
    make: Arc<Make>,
    made: Arc<Mutex<Option<Network>>>,
}

type Make = dyn Fn() -> Result<Network, FetchError> + Send + Sync;

impl LazyNetwork {
    /// `make` is called until it succeeds once.
    pub fn new(
        make: impl Fn() -> Result<Network, FetchError> + Send + Sync + 'static,
    ) -> LazyNetwork {
        LazyNetwork {
            make: Arc::new(make),
            made: Arc::default(),
        }
    }

    /// The network.
    ///
    /// # Errors
    /// Those of `make`: no credentials, no certificates.
    pub fn get(&self) -> Result<Network, FetchError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        match &*made {
            Some(network) => Ok(network.clone()),
            None => Ok(made.insert((self.make)()?).clone()),
        }
    }
}

impl From<Network> for LazyNetwork {
    fn from(network: Network) -> LazyNetwork {
        LazyNetwork::new(move || Ok(network.clone()))
    }
}

impl fmt::Debug for LazyNetwork {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LazyNetwork")
            .finish_non_exhaustive()
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
        .connect_timeout(options.stall)
        .pool_max_idle_per_host(options.connections);
    let builder = if options.proxies {
        builder
    } else {
        builder.no_proxy()
    };
    builder.build().map_err(|error| error.to_string())
}
