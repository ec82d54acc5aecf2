//! A remote, one operation each. Asynchronous; every failure is a [`RemoteError`].

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutPayload};
use prep_cache::{Content, Digest, LedgerEntry};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::address::{Address, Credentials};
use crate::error::{RemoteError, is_forbidden, meaning};
use crate::key::{PublicKey, SigningKey};
use crate::layout::{self, Area};
use crate::signed::{self, Rejected};

/// Nobody writes a record this long.
const LONGEST_RECORD: u64 = 256 << 20;

/// What became of a record that was to be made.
#[derive(Debug, Clone, PartialEq)]
pub enum Put {
    New,
    /// The same was there.
    Same,
    /// Another result was there for the same step and the same inputs.
    Different(Box<LedgerEntry>),
    /// What was there is not believed, and was left alone.
    Rejected(Rejected),
}

/// What is known of a source, for all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    #[serde(flatten)]
    pub content: Content,
    /// Its bytes are in the mirror.
    #[serde(default)]
    pub mirrored: bool,
}

/// A remote.
#[derive(Debug)]
pub struct Remote {
    pub(crate) store: Arc<dyn ObjectStore>,
    root: Path,
    pub(crate) shown: String,
    pub(crate) read_only: bool,
    key: Option<SigningKey>,
    trusted: Vec<PublicKey>,
    /// Something below `private/` was not to be read.
    hidden: AtomicBool,
    /// Bytes that moved from it, and to it.
    received: AtomicU64,
    pub(crate) sent: AtomicU64,
}

impl Remote {
    /// The remote at an address. `key` signs what is put there; its signatures are believed, as those of `trusted`.
    ///
    /// # Errors
    /// When the address cannot be used.
    pub fn open(
        address: &Address,
        credentials: &Credentials,
        key: Option<SigningKey>,
        trusted: &[PublicKey],
    ) -> Result<Remote, RemoteError> {
        let (store, root) = address.open(credentials)?;
        let remote = Remote::over(store, &address.shown(), key, trusted);
        Ok(Remote {
            root,
            read_only: address.is_read_only(),
            ..remote
        })
    }

    /// A remote in a store that is there already; messages call it `shown`.
    pub fn over(
        store: Arc<dyn ObjectStore>,
        shown: &str,
        key: Option<SigningKey>,
        trusted: &[PublicKey],
    ) -> Remote {
        let mut trusted = trusted.to_vec();
        trusted.extend(key.as_ref().map(SigningKey::public));
        Remote {
            store,
            root: Path::default(),
            shown: shown.to_owned(),
            read_only: false,
            key,
            trusted,
            hidden: AtomicBool::new(false),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
        }
    }

    /// Its address, without secrets.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Whether anything can be put there: it can be written, and there is a key.
    pub fn takes(&self) -> bool {
        !self.read_only && self.key.is_some()
    }

    /// Bytes of contents that came from it so far.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Bytes of contents that were sent to it so far.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Whether something below `private/` was not to be read.
    pub(crate) fn hides(&self) -> bool {
        self.hidden.load(Ordering::Relaxed)
    }

    pub(crate) fn path(&self, name: &str) -> Path {
        let mut path = self.root.clone();
        for part in name.split('/') {
            path = path.join(part);
        }
        path
    }

    fn reading(&self, error: &object_store::Error) -> RemoteError {
        meaning(&self.shown, error, false)
    }

    pub(crate) fn writing(&self, error: &object_store::Error) -> RemoteError {
        meaning(&self.shown, error, true)
    }

    /// Turns "not found" into none; a bucket that is not there stays an error. Below `private/` what may not be read counts
    /// as not there: agents may see the rest.
    fn found<T>(
        &self,
        name: &str,
        result: object_store::Result<T>,
    ) -> Result<Option<T>, RemoteError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) => match (&error, self.reading(&error)) {
                (_, place @ RemoteError::NoPlace { .. }) => Err(place),
                (object_store::Error::NotFound { .. }, _) => Ok(None),
                _ if layout::is_private(name) && is_forbidden(&error) => {
                    self.hidden.store(true, Ordering::Relaxed);
                    Ok(None)
                }
                (_, meaning) => Err(meaning),
            },
        }
    }

    /// What a step key led to. The inner error: there is one, which is not believed.
    ///
    /// # Errors
    /// When the remote cannot tell.
    pub async fn entry(
        &self,
        key: &Digest,
    ) -> Result<Option<Result<LedgerEntry, Rejected>>, RemoteError> {
        self.record(&layout::entry(key)).await
    }

    /// Makes the entry of a step key, if there is none.
    ///
    /// # Errors
    /// When it cannot be written, or what is there cannot be read.
    pub async fn put_entry(&self, key: &Digest, entry: &LedgerEntry) -> Result<Put, RemoteError> {
        let name = layout::entry(key);
        let sealed = self.seal(&name, entry)?;
        if self.create(&name, sealed).await? {
            return Ok(Put::New);
        }
        Ok(match self.entry(key).await? {
            Some(Ok(theirs)) if theirs.outputs == entry.outputs => Put::Same,
            Some(Ok(theirs)) => Put::Different(Box::new(theirs)),
            Some(Err(rejected)) => Put::Rejected(rejected),
            // It was removed just now: whoever needs it makes it again.
            None => Put::Same,
        })
    }

    /// What a source held last.
    ///
    /// # Errors
    /// When the remote cannot tell.
    pub async fn source(&self, name: &str) -> Result<Option<Result<Known, Rejected>>, RemoteError> {
        self.record(&layout::source(name)).await
    }

    /// Says what a source holds. It may hold something else by and by, so this replaces what was said before.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn put_source(&self, name: &str, known: &Known) -> Result<(), RemoteError> {
        let name = layout::source(name);
        let sealed = self.seal(&name, known)?;
        let put = self.store.put(&self.path(&name), sealed.into()).await;
        put.map(drop).map_err(|error| self.writing(&error))
    }

    /// Names of all sources that it knows.
    ///
    /// # Errors
    /// When it cannot be listed (a plain web server cannot).
    pub async fn sources(&self) -> Result<Vec<String>, RemoteError> {
        let folder = self.path(layout::SOURCES);
        let listed = self.store.list(Some(&folder)).try_collect::<Vec<_>>().await;
        let listed = listed.map_err(|error| self.reading(&error))?;
        let names = listed.iter().filter_map(|one| one.location.filename());
        Ok(names.map(str::to_owned).collect())
    }

    fn seal<T: Serialize>(&self, name: &str, record: &T) -> Result<Vec<u8>, RemoteError> {
        let remote = || self.shown.clone();
        if self.read_only {
            return Err(RemoteError::ReadOnly { remote: remote() });
        }
        let key = self.key.as_ref();
        let key = key.ok_or_else(|| RemoteError::NoKey { remote: remote() })?;
        signed::seal(key, name, record).map_err(|error| RemoteError::Failed {
            remote: remote(),
            cause: error.to_string(),
        })
    }

    async fn record<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<Result<T, Rejected>>, RemoteError> {
        let got = self.store.get(&self.path(name)).await;
        let Some(got) = self.found(name, got)? else {
            return Ok(None);
        };
        if got.meta.size > LONGEST_RECORD {
            return Ok(Some(Err(Rejected::Shape)));
        }
        let bytes = got.bytes().await.map_err(|error| self.reading(&error))?;
        Ok(Some(signed::open(&self.trusted, name, &bytes)))
    }

    /// Makes a small file unless there is one; false if there is.
    async fn create(&self, name: &str, bytes: Vec<u8>) -> Result<bool, RemoteError> {
        let path = self.path(name);
        let payload = PutPayload::from(bytes);
        let mode = PutMode::Create;
        match self
            .store
            .put_opts(&path, payload.clone(), mode.into())
            .await
        {
            Ok(_) => Ok(true),
            Err(
                object_store::Error::AlreadyExists { .. }
                | object_store::Error::Precondition { .. },
            ) => Ok(false),
            // A store that cannot make files exclusively: equal entries are equal whoever is last.
            Err(object_store::Error::NotImplemented { .. }) => {
                if self.length(name).await?.is_some() {
                    return Ok(false);
                }
                let put = self.store.put(&path, payload).await;
                put.map(|_| true).map_err(|error| self.writing(&error))
            }
            Err(error) => Err(self.writing(&error)),
        }
    }

    pub(crate) async fn length(&self, name: &str) -> Result<Option<u64>, RemoteError> {
        let head = self.store.head(&self.path(name)).await;
        Ok(self.found(name, head)?.map(|meta| meta.size))
    }

    /// Length of an object, if it is there.
    ///
    /// # Errors
    /// When the remote cannot tell.
    pub async fn object_length(
        &self,
        area: Area,
        digest: &Digest,
    ) -> Result<Option<u64>, RemoteError> {
        self.length(&layout::object(area, digest)).await
    }

    /// The bytes of an object, piece by piece, as they are there.
    ///
    /// # Errors
    /// When the remote cannot tell.
    pub async fn object(
        self: &Arc<Self>,
        digest: &Digest,
    ) -> Result<Option<BoxStream<'static, Result<Bytes, RemoteError>>>, RemoteError> {
        for area in Area::ALL {
            let name = layout::object(area, digest);
            let got = self.store.get(&self.path(&name)).await;
            if let Some(got) = self.found(&name, got)? {
                let remote = self.clone();
                let pieces = got.into_stream().map(move |piece| match piece {
                    Ok(bytes) => {
                        let count = bytes.len() as u64;
                        remote.received.fetch_add(count, Ordering::Relaxed);
                        Ok(bytes)
                    }
                    Err(error) => Err(remote.reading(&error)),
                });
                return Ok(Some(pieces.boxed()));
            }
        }
        Ok(None)
    }

    /// A stretch of the list of a bundle's hashes, as it is there.
    pub(crate) async fn hashes(
        &self,
        digest: &Digest,
        range: Range<u64>,
    ) -> Result<Option<Bytes>, RemoteError> {
        self.part(&layout::hashes(digest), range).await
    }

    /// A stretch of a bundle, as it is there.
    pub(crate) async fn stretch(
        &self,
        digest: &Digest,
        range: Range<u64>,
    ) -> Result<Option<Bytes>, RemoteError> {
        self.part(&layout::bundle(digest), range).await
    }

    async fn part(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, RemoteError> {
        if range.is_empty() {
            return Ok(Some(Bytes::new()));
        }
        let got = self.store.get_range(&self.path(name), range).await;
        let got = self.found(name, got)?;
        let count = got.as_ref().map_or(0, Bytes::len) as u64;
        self.received.fetch_add(count, Ordering::Relaxed);
        Ok(got)
    }
}
