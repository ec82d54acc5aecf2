//! [`Network`], a handle for network access, and [`LazyNetwork`], which creates the handle on first use.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prep_core::Cancel;
use tokio::time::sleep;

use crate::credentials::FoundCredentials;
use crate::download::first::{FirstRequest, SessionStop};
use crate::download::{Order, download};
use crate::error::FetchError;
use crate::resume::hashing::Digests;
use crate::waiting::{Clock, Watcher};
use crate::wire::api;
use crate::wire::api::endpoint::Protocol;
use crate::wire::api::{Account, DataFile, DataSummary};
use crate::wire::item::Item;
use crate::wire::location::Location;
use crate::wire::retry::Retry;
use crate::wire::shared::Shared;

/// Interval at which the cancellation flag is checked.
const CANCEL_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// A handle for network access. Cloning it is cheap, and all clones have the same limits together.
///
/// Its methods block the calling thread and must not be called from an asynchronous runtime.
#[derive(Clone)]
pub struct Network {
    shared: Arc<Shared>,
}

impl fmt::Debug for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Network")
            .field("options", &self.shared.options)
            .field("credentials", &self.shared.known_credentials())
            .finish_non_exhaustive()
    }
}

impl Network {
    /// Creates a handle without opening a connection.
    ///
    /// # Errors
    /// [`FetchError::Setup`] if the endpoint is not a URL, or if the system has no certificates.
    pub fn new(
        options: DownloadOptions,
        credentials: impl Into<FoundCredentials>,
    ) -> Result<Network, FetchError> {
        let found = credentials.into();
        Network::with_finder(options, move || Ok(found.clone()))
    }

    /// Same as [`new`](Self::new), but calls `find` for the credentials on the first API call, and again until it
    /// succeeds.
    ///
    /// # Errors
    /// Same as for [`new`](Self::new).
    pub fn with_finder(
        options: DownloadOptions,
        find: impl Fn() -> Result<FoundCredentials, FetchError> + Send + Sync + 'static,
    ) -> Result<Network, FetchError> {
        let shared = Shared::new(options, Box::new(find))?;
        Ok(Network {
            shared: Arc::new(shared),
        })
    }

    /// Returns the length in bytes of the file `name` at `url`. Requests the first byte of the file.
    ///
    /// # Errors
    /// If the file does not exist or the request fails.
    pub fn file_length(&self, name: &str, url: &str, cancel: &Cancel) -> Result<u64, FetchError> {
        let item = Item::file(name, url)?;
        self.block_on_unless(cancel, self.length(&item, None, Retry::default()))
    }

    /// Returns the length in bytes of the bundle of `id`, which proves that it can be downloaded. Makes one API call
    /// and requests one byte of the bundle, because a signed URL alone does not prove it. If the server limits requests
    /// (429), returns an error without a retry.
    ///
    /// # Errors
    /// [`FetchError::RulesNotAccepted`] and other errors of the API.
    pub fn check_access(&self, id: &str, cancel: &Cancel) -> Result<u64, FetchError> {
        let item = Item::Bundle(id.to_owned());
        self.block_on_unless(cancel, async {
            let location = api::locate(&self.shared, &item, Retry::until_limited()).await?;
            let retry = Retry::until_limited();
            self.length(&item, Some(location), retry).await
        })
    }

    /// Returns the length of an item in bytes. Requests its first byte.
    async fn length(
        &self,
        item: &Item,
        mut location: Option<Location>,
        mut retry: Retry,
    ) -> Result<u64, FetchError> {
        let mut request = FirstRequest {
            shared: &self.shared,
            item,
            location: &mut location,
        };
        match request.answer(0..1, None, &mut retry).await {
            Ok((answer, _)) => Ok(answer.object.total),
            Err(SessionStop::Error(error)) => Err(error),
            Err(SessionStop::End(_)) => Err(FetchError::KeepsChanging { times: 1 }),
        }
    }

    /// Returns a name for the account and the API's address. It contains no secret. Searches for the credentials but
    /// makes no request.
    ///
    /// # Errors
    /// If there are no credentials.
    pub fn account_key(&self) -> Result<String, FetchError> {
        let account = self.shared.credentials()?.credentials.account();
        Ok(format!("{account} at {}", self.shared.options.endpoint))
    }

    /// Queries the API for the owner of the credentials.
    ///
    /// # Errors
    /// [`FetchError::Unauthorised`] if the API rejects the credentials.
    pub fn account(&self, cancel: &Cancel) -> Result<Account, FetchError> {
        self.block_on_unless(cancel, api::account(&self.shared))
    }

    /// Returns the API's file list of a competition. This does not require that the rules are accepted.
    ///
    /// # Errors
    /// If an API call fails.
    pub fn files(&self, id: &str, cancel: &Cancel) -> Result<Vec<DataFile>, FetchError> {
        self.block_on_unless(cancel, api::files(&self.shared, id))
    }

    /// Returns the number and total length of a competition's files with one API call. This does not require that the
    /// rules are accepted.
    ///
    /// # Errors
    /// If the API call fails.
    pub fn summary(&self, id: &str, cancel: &Cancel) -> Result<DataSummary, FetchError> {
        self.block_on_unless(cancel, api::summary(&self.shared, id))
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Downloads into a partial file until it is complete, or until the run is cancelled. Returns `None` if the order
    /// has ranges.
    pub(crate) fn download(
        &self,
        order: &Order,
        cancel: &Cancel,
    ) -> Result<Option<Digests>, FetchError> {
        self.block_on_unless(cancel, download(order))
    }

    /// Runs a future on this thread until it is ready or `cancel` is set. Tasks that it spawns run on the network's
    /// threads.
    pub(crate) fn block_on_unless<T>(
        &self,
        cancel: &Cancel,
        future: impl Future<Output = Result<T, FetchError>>,
    ) -> Result<T, FetchError> {
        let Some(runtime) = self.shared.runtime() else {
            let cause = "the network is shut down".into();
            return Err(FetchError::Setup { cause });
        };
        runtime.block_on(async {
            tokio::select! {
                done = future => done,
                () = cancelled(cancel) => Err(FetchError::Cancelled),
            }
        })
    }
}

/// A network handle that is created on first use. Clones refer to the same handle.
#[derive(Clone)]
pub struct LazyNetwork {
    create: Arc<CreateNetwork>,
    created: Arc<Mutex<Option<Network>>>,
}

type CreateNetwork = dyn Fn() -> Result<Network, FetchError> + Send + Sync;

impl LazyNetwork {
    /// Creates a lazy handle. The first call that needs the network calls `create`. If it fails, the next call tries
    /// again.
    pub fn new(
        create: impl Fn() -> Result<Network, FetchError> + Send + Sync + 'static,
    ) -> LazyNetwork {
        LazyNetwork {
            create: Arc::new(create),
            created: Arc::default(),
        }
    }

    /// Returns the network if there are credentials for Kaggle.
    ///
    /// # Errors
    /// Same as for [`any`](Self::any), and an error if there are no credentials.
    pub fn get(&self) -> Result<Network, FetchError> {
        let network = self.any()?;
        network.shared().credentials()?;
        Ok(network)
    }

    /// Returns the network for requests without credentials.
    ///
    /// # Errors
    /// If the network cannot be created, for example because downloads are not allowed or the system has no
    /// certificates.
    pub fn any(&self) -> Result<Network, FetchError> {
        let mut created = self.created.lock();
        match &*created {
            Some(network) => Ok(network.clone()),
            None => Ok(created.insert((self.create)()?).clone()),
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

/// Completes soon after `cancel` is set.
async fn cancelled(cancel: &Cancel) {
    while !cancel.is_cancelled() {
        sleep(CANCEL_CHECK_INTERVAL).await;
    }
}

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
