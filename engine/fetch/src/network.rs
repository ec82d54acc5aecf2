//! The handle on the network, and one that is made when it is needed.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prep_core::Cancel;
use tokio::time::sleep;

use crate::credentials::Found;
use crate::download::first::{Stop, first_answer};
use crate::error::FetchError;
use crate::options::Options;
use crate::wire::api::{self, Account, DataFile, DataSummary};
use crate::wire::item::Item;
use crate::wire::retry::Retry;
use crate::wire::shared::Shared;

/// How often the stop flag is looked at.
const GLANCE: Duration = Duration::from_millis(100);

/// Handle on the network. Cheap to clone; clones share all limits.
///
/// Its calls block the calling thread and must not be made from inside an asynchronous runtime.
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
    /// Connects nowhere yet.
    ///
    /// # Errors
    /// [`FetchError::Setup`]: the endpoint is no URL, or the system has no certificates.
    pub fn new(options: Options, credentials: impl Into<Found>) -> Result<Network, FetchError> {
        let found = credentials.into();
        Network::with_finder(options, move || Ok(found.clone()))
    }

    /// The same; `find` is asked for credentials when Kaggle is first asked for something, until it finds them.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_finder(
        options: Options,
        find: impl Fn() -> Result<Found, FetchError> + Send + Sync + 'static,
    ) -> Result<Network, FetchError> {
        let shared = Shared::new(options, Box::new(find))?;
        Ok(Network {
            shared: Arc::new(shared),
        })
    }

    /// Length in bytes of the file `name` at `url`: one request, no more than its first bytes.
    ///
    /// # Errors
    /// When it is not there.
    pub fn length(&self, name: &str, url: &str, cancel: &Cancel) -> Result<u64, FetchError> {
        let item = Item::file(name, url)?;
        let mut retry = Retry::default();
        let mut location = None;
        self.block_on_unless(cancel, async {
            let shared = &self.shared;
            let first = first_answer(shared, &item, &mut location, 0..1, None, &mut retry).await;
            match first {
                Ok((answer, _)) => Ok(answer.object.total),
                Err(Stop::Error(error)) => Err(error),
                Err(Stop::End(_)) => Err(FetchError::KeepsChanging { times: 1 }),
            }
        })
    }

    /// Length in bytes of the bundle of `id`, which proves that it may be downloaded: one call of the API, and one byte of the
    /// bundle, because an address alone proves nothing. The first answer that there are too many requests is an error.
    ///
    /// # Errors
    /// [`FetchError::RulesNotAccepted`] and the other refusals of the API.
    pub fn check_access(&self, id: &str, cancel: &Cancel) -> Result<u64, FetchError> {
        let item = Item::Bundle(id.to_owned());
        self.block_on_unless(cancel, async {
            let shared = &self.shared;
            let mut location = Some(api::locate(shared, &item, Retry::until_limited()).await?);
            let mut retry = Retry::until_limited();
            let first = first_answer(shared, &item, &mut location, 0..1, None, &mut retry).await;
            match first {
                Ok((answer, _)) => Ok(answer.object.total),
                Err(Stop::Error(error)) => Err(error),
                Err(Stop::End(_)) => Err(FetchError::KeepsChanging { times: 1 }),
            }
        })
    }

    /// A name of the account at this API that holds no secret. Finds the credentials, and asks nobody.
    ///
    /// # Errors
    /// If there are no credentials.
    pub fn account_key(&self) -> Result<String, FetchError> {
        let account = self.shared.credentials()?.credentials.account();
        Ok(format!("{account} at {}", self.shared.options.endpoint))
    }

    /// Asks the API who the credentials belong to.
    ///
    /// # Errors
    /// [`FetchError::Unauthorised`] if they are refused.
    pub fn account(&self, cancel: &Cancel) -> Result<Account, FetchError> {
        self.block_on_unless(cancel, api::account(&self.shared))
    }

    /// The files of a competition as the API lists them, also if the rules are not accepted.
    ///
    /// # Errors
    /// The refusals of the API.
    pub fn files(&self, id: &str, cancel: &Cancel) -> Result<Vec<DataFile>, FetchError> {
        self.block_on_unless(cancel, api::files(&self.shared, id))
    }

    /// Number and length of the files of a competition, by one call, also if the rules are not accepted.
    ///
    /// # Errors
    /// The refusals of the API.
    pub fn summary(&self, id: &str, cancel: &Cancel) -> Result<DataSummary, FetchError> {
        self.block_on_unless(cancel, api::summary(&self.shared, id))
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Runs a future to its end on this thread, its tasks on the network's threads.
    pub(crate) fn block_on<T>(
        &self,
        future: impl Future<Output = Result<T, FetchError>>,
    ) -> Result<T, FetchError> {
        match self.shared.runtime() {
            Some(runtime) => runtime.block_on(future),
            None => Err(FetchError::Setup {
                cause: "the network is shut down".into(),
            }),
        }
    }

    /// The same, until `cancel` is set.
    pub(crate) fn block_on_unless<T>(
        &self,
        cancel: &Cancel,
        future: impl Future<Output = Result<T, FetchError>>,
    ) -> Result<T, FetchError> {
        self.block_on(async {
            tokio::select! {
                done = future => done,
                () = cancelled(cancel) => Err(FetchError::Cancelled),
            }
        })
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

    /// The network, with credentials for Kaggle.
    ///
    /// # Errors
    /// Those of [`any`](Self::any); no credentials.
    pub fn get(&self) -> Result<Network, FetchError> {
        let network = self.any()?;
        network.shared().credentials()?;
        Ok(network)
    }

    /// The network, for what needs no credentials.
    ///
    /// # Errors
    /// Those of `make`: not allowed, no certificates.
    pub fn any(&self) -> Result<Network, FetchError> {
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

/// Ends soon after `cancel` is set.
async fn cancelled(cancel: &Cancel) {
    while !cancel.is_cancelled() {
        sleep(GLANCE).await;
    }
}
