//! A handle for network access, and a handle that is created on first use.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prep_core::Cancel;
use tokio::time::sleep;

use crate::credentials::FoundCredentials;
use crate::download::{FirstRequest, Order, download};
use crate::error::{FetchError, Stop};
use crate::options::DownloadOptions;
use crate::resume::partial::Digests;
use crate::wire::location::{Item, Location};
use crate::wire::queries;
use crate::wire::queries::{Account, DataFile, DataSummary};
use crate::wire::retry::Retry;
use crate::wire::shared::Shared;

const CANCEL_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// A handle for network access. Limits apply to all clones together.
///
/// The methods block the calling thread. Do not call them from an asynchronous runtime.
#[derive(Clone)]
pub struct Network {
    shared: Arc<Shared>,
}

impl fmt::Debug for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Network")
            .field("credentials", &self.shared.known_credentials())
            .finish_non_exhaustive()
    }
}

impl Network {
    /// Creates a handle without opening a connection.
    ///
    /// # Errors
    /// [`FetchError::Endpoint`] if the endpoint is not a URL, [`FetchError::Certificates`] if the system has no certificates.
    pub fn new(
        options: DownloadOptions,
        credentials: impl Into<FoundCredentials>,
    ) -> Result<Network, FetchError> {
        let found = credentials.into();
        Network::with_finder(options, move || Ok(found.clone()))
    }

    /// Same as [`new`](Self::new), but API calls get the credentials from `find`. After `find` has succeeded once, it is
    /// not called again.
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

    /// Returns the length in bytes of the file `name` at `url`. Requests only its first byte.
    ///
    /// # Errors
    /// If the file does not exist or the request fails.
    pub fn file_length(&self, name: &str, url: &str, cancel: &Cancel) -> Result<u64, FetchError> {
        let item = Item::file(name, url)?;
        self.block_on_unless(cancel, self.length(&item, None, Retry::default()))
    }

    /// Checks that the bundle of `id` can be downloaded, and returns its length in bytes. Makes one API call and requests
    /// one byte, because the signed URL alone does not show that a download works.
    ///
    /// Does not retry if the server limits the rate of requests (status 429).
    ///
    /// # Errors
    /// [`FetchError::RulesNotAccepted`] and other errors of the API.
    pub fn check_access(&self, id: &str, cancel: &Cancel) -> Result<u64, FetchError> {
        let item = Item::Bundle(id.to_owned());
        self.block_on_unless(cancel, async {
            let location = queries::locate(&self.shared, &item, Retry::until_limited()).await?;
            let retry = Retry::until_limited();
            self.length(&item, Some(location), retry).await
        })
    }

    /// Returns the length of an item in bytes. Requests its first byte from `location`. If `location` is `None`, first finds
    /// the location of the item.
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
            Err(Stop::Fatal(error) | Stop::Absent(error)) => Err(error),
            Err(_) => Err(FetchError::KeepsChanging { times: 1 }),
        }
    }

    /// Returns a string that identifies the account and the API. The string contains no secret. Sends no request.
    ///
    /// # Errors
    /// If there are no credentials.
    pub fn account_key(&self) -> Result<String, FetchError> {
        let account = self.shared.credentials()?.credentials.account();
        Ok(format!("{account} at {}", self.shared.options.endpoint))
    }

    /// Requests the owner of the credentials from the API.
    ///
    /// # Errors
    /// [`FetchError::Unauthorised`] if the API rejects the credentials.
    pub fn account(&self, cancel: &Cancel) -> Result<Account, FetchError> {
        self.block_on_unless(cancel, queries::account(&self.shared))
    }

    /// Returns whether a server has answered a request, possibly with an error.
    pub fn has_answer(&self) -> bool {
        self.shared.contacts.any_answered()
    }

    /// Returns a competition's files from the API. The account need not have accepted the rules.
    ///
    /// # Errors
    /// If an API call fails.
    pub fn files(&self, id: &str, cancel: &Cancel) -> Result<Vec<DataFile>, FetchError> {
        self.block_on_unless(cancel, queries::files(&self.shared, id))
    }

    /// Returns the number and total length of a competition's files. The account need not have accepted the rules.
    ///
    /// # Errors
    /// If the API call fails.
    pub fn summary(&self, id: &str, cancel: &Cancel) -> Result<DataSummary, FetchError> {
        self.block_on_unless(cancel, queries::summary(&self.shared, id))
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Downloads the file of `order` into its partial file. Only an order of an entire file returns digests.
    pub(crate) fn download(
        &self,
        order: &Order,
        cancel: &Cancel,
    ) -> Result<Option<Digests>, FetchError> {
        self.block_on_unless(cancel, download(order))
    }

    /// Runs a future on this thread until it is ready or `cancel` is set. Tasks that the future spawns run on the threads
    /// of the asynchronous runtime.
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

/// A network handle that is created on first use. Clones share the handle.
#[derive(Clone)]
pub struct LazyNetwork {
    create: Arc<CreateNetwork>,
    created: Arc<Mutex<Option<Network>>>,
}

type CreateNetwork = dyn Fn() -> Result<Network, FetchError> + Send + Sync;

impl LazyNetwork {
    /// Creates a lazy handle. Calls that need the network call `create`, until it succeeds once.
    pub fn new(
        create: impl Fn() -> Result<Network, FetchError> + Send + Sync + 'static,
    ) -> LazyNetwork {
        LazyNetwork {
            create: Arc::new(create),
            created: Arc::default(),
        }
    }

    /// Returns the network handle after checking that there are credentials.
    ///
    /// # Errors
    /// Same as for [`any`](Self::any), and an error if there are no credentials.
    pub fn get(&self) -> Result<Network, FetchError> {
        let network = self.any()?;
        network.shared().credentials()?;
        Ok(network)
    }

    /// Returns the network handle without checking that there are credentials.
    ///
    /// # Errors
    /// If the handle cannot be created, for example because downloads are not allowed.
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

/// Waits until `cancel` is set.
async fn cancelled(cancel: &Cancel) {
    while !cancel.is_cancelled() {
        sleep(CANCEL_CHECK_INTERVAL).await;
    }
}
