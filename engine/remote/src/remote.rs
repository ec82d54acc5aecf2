//! A remote, one operation each. Asynchronous; every failure is a [`RemoteError`].

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutPayload, WriteMultipart,
};
use prep_cache::{Content, Digest, LedgerEntry};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::address::{Address, Credentials};
use crate::error::{RemoteError, meaning};
use crate::key::{PublicKey, SigningKey};
use crate::layout::{self, Area};
use crate::signed::{self, Rejected};

/// From this length on, a file is sent in parts.
const PART: u64 = 8 << 20;
/// A store takes no more parts than this of one file.
const MOST_PARTS: u64 = 9_000;
/// Parts of one file on their way at once.
const PARTS_IN_FLIGHT: usize = 4;
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
    store: Arc<dyn ObjectStore>,
    root: Path,
    shown: String,
    read_only: bool,
    key: Option<SigningKey>,
    trusted: Vec<PublicKey>,
    /// Bytes that moved from it, and to it.
    received: AtomicU64,
    sent: AtomicU64,
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

    fn path(&self, name: &str) -> Path {
        let mut path = self.root.clone();
        for part in name.split('/') {
            path = path.join(part);
        }
        path
    }

    fn reading(&self, error: &object_store::Error) -> RemoteError {
        meaning(&self.shown, error, false)
    }

    fn writing(&self, error: &object_store::Error) -> RemoteError {
        meaning(&self.shown, error, true)
    }

    /// Turns "not found" into none; a bucket that is not there stays an error.
    fn found<T>(&self, result: object_store::Result<T>) -> Result<Option<T>, RemoteError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) => match (&error, self.reading(&error)) {
                (_, place @ RemoteError::NoPlace { .. }) => Err(place),
                (object_store::Error::NotFound { .. }, _) => Ok(None),
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
        let key = self.key.as_ref().filter(|_| !self.read_only);
        let key = key.ok_or_else(|| RemoteError::ReadOnly { remote: remote() })?;
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
        let Some(got) = self.found(got)? else {
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

    async fn length(&self, name: &str) -> Result<Option<u64>, RemoteError> {
        let head = self.store.head(&self.path(name)).await;
        Ok(self.found(head)?.map(|meta| meta.size))
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
            let path = self.path(&layout::object(area, digest));
            let got = self.store.get(&path).await;
            if let Some(got) = self.found(got)? {
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

    /// Sends an object, unless it is there; `anew`: even then.
    ///
    /// # Errors
    /// When it cannot be written; when the file does not hold the object.
    pub async fn put_object(
        &self,
        area: Area,
        digest: &Digest,
        file: Arc<File>,
        anew: bool,
    ) -> Result<(), RemoteError> {
        let name = layout::object(area, digest);
        self.put_file(&name, digest, file, anew).await
    }

    /// Sends a bundle, with the tree of its hashes.
    ///
    /// # Errors
    /// As [`put_object`](Self::put_object).
    pub async fn put_bundle(
        &self,
        digest: &Digest,
        file: Arc<File>,
        hashes: Vec<u8>,
    ) -> Result<(), RemoteError> {
        let path = self.path(&layout::hashes(digest));
        let put = self.store.put(&path, hashes.into()).await;
        put.map_err(|error| self.writing(&error))?;
        let name = layout::bundle(digest);
        self.put_file(&name, digest, file, false).await
    }

    /// The tree of hashes of a bundle.
    pub(crate) async fn hashes(&self, digest: &Digest) -> Result<Option<Bytes>, RemoteError> {
        let got = self.store.get(&self.path(&layout::hashes(digest))).await;
        let Some(got) = self.found(got)? else {
            return Ok(None);
        };
        let bytes = got.bytes().await.map_err(|error| self.reading(&error))?;
        let count = bytes.len() as u64;
        self.received.fetch_add(count, Ordering::Relaxed);
        Ok(Some(bytes))
    }

    /// A stretch of a bundle, as it is there.
    pub(crate) async fn stretch(
        &self,
        digest: &Digest,
        range: Range<u64>,
    ) -> Result<Option<Bytes>, RemoteError> {
        let path = self.path(&layout::bundle(digest));
        let got = self.store.get_range(&path, range).await;
        let got = self.found(got)?;
        let count = got.as_ref().map_or(0, Bytes::len) as u64;
        self.received.fetch_add(count, Ordering::Relaxed);
        Ok(got)
    }

    /// Sends a file, held against its digest on the way: what was sent wrongly never gets its name.
    async fn put_file(
        &self,
        name: &str,
        digest: &Digest,
        file: Arc<File>,
        anew: bool,
    ) -> Result<(), RemoteError> {
        if self.read_only {
            let remote = self.shown.clone();
            return Err(RemoteError::ReadOnly { remote });
        }
        let bytes = file.metadata().map_err(|_| self.unreadable(digest))?.len();
        if !anew && self.length(name).await? == Some(bytes) {
            return Ok(());
        }
        let path = self.path(name);
        if bytes <= PART {
            let content = self.read(&file, digest, 0..bytes).await?;
            if Digest::of(&content) != *digest {
                return Err(self.unreadable(digest));
            }
            let put = self.store.put(&path, content.into()).await;
            put.map_err(|error| self.writing(&error))?;
            self.sent.fetch_add(bytes, Ordering::Relaxed);
        } else {
            let upload = self.store.put_multipart(&path).await;
            let upload = upload.map_err(|error| self.writing(&error))?;
            self.put_parts(upload, digest, &file, bytes).await?;
        }
        Ok(())
    }

    async fn put_parts(
        &self,
        upload: Box<dyn MultipartUpload>,
        digest: &Digest,
        file: &Arc<File>,
        bytes: u64,
    ) -> Result<(), RemoteError> {
        let part = PART.max(bytes.div_ceil(MOST_PARTS).next_multiple_of(1 << 20));
        let size = usize::try_from(part).unwrap_or(usize::MAX);
        let mut upload = WriteMultipart::new_with_chunk_size(upload, size);
        let mut hasher = blake3::Hasher::new();
        let mut at = 0;
        let sent = loop {
            if at == bytes {
                break match Digest::from(hasher.finalize()) == *digest {
                    true => Ok(()),
                    false => Err(self.unreadable(digest)),
                };
            }
            let range = at..(at + part).min(bytes);
            at = range.end;
            let length = range.end - range.start;
            let content = match self.read(file, digest, range).await {
                Ok(content) => content,
                Err(error) => break Err(error),
            };
            hasher.update(&content);
            if let Err(error) = upload.wait_for_capacity(PARTS_IN_FLIGHT).await {
                break Err(self.writing(&error));
            }
            upload.put(content.into());
            self.sent.fetch_add(length, Ordering::Relaxed);
        };
        match sent {
            Ok(()) => {
                let finished = upload.finish().await;
                finished.map(drop).map_err(|error| self.writing(&error))
            }
            Err(error) => {
                // Parts without an end are invisible; the store removes them by its own rules.
                let _ = upload.abort().await;
                Err(error)
            }
        }
    }

    async fn read(
        &self,
        file: &Arc<File>,
        digest: &Digest,
        range: Range<u64>,
    ) -> Result<Vec<u8>, RemoteError> {
        let file = file.clone();
        let length = usize::try_from(range.end - range.start).unwrap_or(0);
        let reading = tokio::task::spawn_blocking(move || {
            let mut content = vec![0; length];
            file.read_exact_at(&mut content, range.start)?;
            Ok::<_, std::io::Error>(content)
        });
        match reading.await {
            Ok(Ok(content)) => Ok(content),
            _ => Err(self.unreadable(digest)),
        }
    }

    fn unreadable(&self, digest: &Digest) -> RemoteError {
        RemoteError::Failed {
            remote: self.shown.clone(),
            cause: format!(
                "the file of {} on this machine cannot be read, or changed; it was not sent",
                digest.short()
            ),
        }
    }
}
