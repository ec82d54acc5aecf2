//! A competition's bundle as a source: a file in the data directory, downloaded from Kaggle if it does not exist.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use prep_cache::{Content, SourceRecord};
use prep_core::{Context, Source, SourceState, StepError, Value};

use crate::bundle::local::{LocalBundle, SearchPath};
use crate::download::Order;
use crate::network::{LazyNetwork, Network};
use crate::resume::partial::{LockOutcome, Partial};
use crate::wire::item::Item;

/// Pause between two checks of a lock that another process has.
const LOCK_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// A source for the bundle of one competition.
#[derive(Debug, Clone)]
pub struct KaggleBundle {
    /// Kaggle's name of the competition.
    kaggle: String,
    local: LocalBundle,
    target: PathBuf,
    md5: Option<String>,
    network: LazyNetwork,
}

impl KaggleBundle {
    /// Creates the source. It searches for `ID.zip` and `ID/ID.zip` in the directories of `search`. If the file is in
    /// none of them, the source downloads the bundle of the competition `kaggle` to `DATA/ID/ID.zip`. If `md5` is given,
    /// a file with a different MD5 is an error.
    pub fn new(
        kaggle: &str,
        search: SearchPath<'_>,
        md5: Option<&str>,
        network: impl Into<LazyNetwork>,
    ) -> KaggleBundle {
        let id = search.id;
        KaggleBundle {
            kaggle: kaggle.to_owned(),
            local: LocalBundle::new(id, &search.all(), md5),
            target: search.data.join(id).join(format!("{id}.zip")),
            md5: md5.map(str::to_owned),
            network: network.into(),
        }
    }

    /// Same as [`LocalBundle::with_content`].
    #[must_use]
    pub fn with_content(self, stated: Option<Content>) -> KaggleBundle {
        KaggleBundle {
            local: self.local.with_content(stated),
            ..self
        }
    }

    /// Returns Kaggle's name of the competition.
    pub(crate) fn kaggle(&self) -> &str {
        &self.kaggle
    }

    /// Returns the path of the downloaded bundle.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Returns the network. If there is no network, the error lists the paths at which the bundle was searched.
    pub(crate) fn network(&self, context: &Context) -> Result<Network, StepError> {
        let network = self.network.get();
        network.map_err(|cause| self.local.not_fetched_in(context, cause))
    }

    /// Downloads the bundle. Returns `None` if another process has just downloaded it.
    fn fetch(&self, context: &Context) -> Result<Option<Value>, StepError> {
        let network = self.network(context)?;
        let item = Item::Bundle(self.kaggle.clone());
        let record = fetch_file(&network, item, self.md5.clone(), &self.target, context)?;
        let remember = |record| self.local.remember(context, &self.target, &record);
        record.map(remember).transpose()
    }
}

/// Locks the partial file of `target`, and waits while another process has the lock. Returns `None` if `target` exists.
pub(crate) fn lock(target: &Path, context: &Context) -> Result<Option<Arc<Partial>>, StepError> {
    loop {
        context.check()?;
        match Partial::try_lock(target)? {
            LockOutcome::Ours(partial) => return Ok(Some(Arc::new(partial))),
            LockOutcome::Complete => return Ok(None),
            LockOutcome::Busy => std::thread::sleep(LOCK_CHECK_INTERVAL),
        }
    }
}

/// Downloads a file to `target` and records its digests. If `md5` is given, a different MD5 is an error. Returns `None`
/// if another process has just downloaded the file.
pub(crate) fn fetch_file(
    network: &Network,
    item: Item,
    md5: Option<String>,
    target: &Path,
    context: &Context,
) -> Result<Option<SourceRecord>, StepError> {
    let Some(partial) = lock(target, context)? else {
        return Ok(None);
    };
    let order = Order {
        md5,
        ..Order::new(network.shared(), item, &partial, &context.progress)
    };
    let downloaded = network.download(&order, &context.cancel);
    if downloaded.is_err() {
        // The error of the download is more useful than that of the removal.
        let _ = partial.remove_if_empty();
    }
    let Some(digests) = downloaded? else {
        return Ok(None);
    };
    let file = partial.finish()?;
    let store = &context.store;
    let record = store.remember_source(target, &file, digests.digest, &digests.md5)?;
    Ok(Some(record))
}

impl Source for KaggleBundle {
    fn kind(&self) -> &'static str {
        "bundle"
    }

    fn state(&self, context: &Context) -> Result<SourceState, StepError> {
        self.local.state(context)
    }

    fn run(&self, context: &Context) -> Result<Value, StepError> {
        if self.local.path().is_none()
            && let Some(value) = self.fetch(context)?
        {
            return Ok(value);
        }
        self.local.run(context)
    }

    fn location(&self) -> Option<PathBuf> {
        self.local.path().map(Path::to_path_buf)
    }
}
