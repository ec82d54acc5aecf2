//! Single, asynchronous operations on a remote. Every error is a [`RemoteError`].

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryFutureExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{GetOptions, GetResult, ObjectStore, ObjectStoreExt, PutMode, PutPayload};
use parking_lot::Mutex;
use prep_cache::{Content, Digest, LedgerEntry};
use prep_core::{Cancel, RateCheck, Remedy, canonical, chain};
use prep_fetch::NetworkVariables;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, timeout};

use crate::address::{Address, CloudCredentials};
use crate::error::{ErrorContext, RemoteError, classify, is_forbidden};
use crate::hashes::list_bytes;
use crate::key::{KeyError, PublicKey, SigningKey};
use crate::layout::Area;
use crate::trust::{Rejection, TrustedSigner};
use crate::{layout, trust};

const MAX_RECORD_BYTES: u64 = 256 << 20;
/// Maximum time until a response begins, including retries. It is also the period over which the transfer rate is measured.
const PATIENCE: Duration = Duration::from_secs(60);
const CANCEL_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The outcome of creating an entry.
#[derive(Debug, Clone, PartialEq)]
pub enum PutOutcome {
    /// The entry was created, or its objects were sent again in order to replace damaged ones.
    New,
    /// The same entry already existed.
    Same,
    /// An entry of the same step and inputs existed, with different outputs.
    Different(Box<LedgerEntry>),
    /// An entry existed that is not trusted. It was left unchanged.
    Rejected(Rejection),
}

/// The record of a source, which all machines read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteSource {
    /// Digests and length of the source.
    #[serde(flatten)]
    pub content: Content,
    /// Whether the source's bytes were in the mirror when the record was written.
    #[serde(default)]
    pub mirrored: bool,
    /// Serial number, higher than that of the replaced record. It is 0 in records of old versions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub serial: u64,
    /// Address of the remote for which the record was written. It is empty in records of old versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remote: String,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(serial: &u64) -> bool {
    *serial == 0
}

pub(crate) type ByteChunks = BoxStream<'static, Result<Bytes, RemoteError>>;

/// A remote cache.
#[derive(Debug)]
pub struct Remote {
    pub(crate) store: Arc<dyn ObjectStore>,
    root: Path,
    pub(crate) context: ErrorContext,
    pub(crate) read_only: bool,
    key: Option<SigningKey>,
    trusted: Vec<TrustedSigner>,
    same_as: Vec<String>,
    key_error: Option<KeyError>,
    /// Time limit of reads, see [`Remote::with_patience`].
    patience: Duration,
    /// Whether reading a file in the private area was denied.
    hidden: AtomicBool,
    received: AtomicU64,
    pub(crate) sent: AtomicU64,
    /// Bytes that were not sent because the remote already has them.
    skipped: AtomicU64,
    /// The cancellation flag of the current run.
    pub(crate) cancel: Mutex<Cancel>,
}

impl Remote {
    /// Opens the remote at an address. Signs records with `key`, and trusts records that `key` or a key in `trusted` signed.
    /// If `key` is an error, only the operations that sign a record fail with it. Errors about connections name `variables`.
    pub fn open(
        address: &Address,
        credentials: &CloudCredentials,
        variables: NetworkVariables,
        key: Result<Option<SigningKey>, KeyError>,
        trusted: &[TrustedSigner],
    ) -> Result<Remote, RemoteError> {
        let (store, root) = address.open(credentials)?;
        let (key, key_error) = key.map_or_else(|error| (None, Some(error)), |key| (key, None));
        let remote =
            Remote::with_store(store, &address.without_secrets(), key, &[]).with_trusted(trusted);
        Ok(Remote {
            root,
            read_only: address.is_read_only(),
            key_error,
            context: ErrorContext {
                variables,
                ..remote.context
            },
            ..remote
        })
    }

    /// Returns the error for a missing signing key, or for one that cannot be used.
    pub(crate) fn no_key(&self) -> RemoteError {
        let (cause, remedy) = match &self.key_error {
            Some(error) => (chain(error), error.remedy()),
            None => ("there is no signing key".into(), Some(Remedy::ChooseKey)),
        };
        let remote = self.context.remote.clone();
        RemoteError::NoKey {
            remote,
            cause,
            remedy,
        }
    }

    /// Also trusts these keys, each within its limits.
    #[must_use]
    pub fn with_trusted(mut self, trusted: &[TrustedSigner]) -> Remote {
        self.trusted.extend_from_slice(trusted);
        self
    }

    /// Also accepts records that were written for these addresses, which must be addresses of the same remote.
    #[must_use]
    pub fn same_as(self, addresses: &[Address]) -> Remote {
        let same_as = addresses.iter().map(Address::without_secrets).collect();
        Remote { same_as, ..self }
    }

    /// Sets the time within which a response must begin. It is also the period over which the transfer rate is measured.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Remote {
        Remote { patience, ..self }
    }

    /// Creates a remote in an existing store. Messages call the remote `name`.
    pub fn with_store(
        store: Arc<dyn ObjectStore>,
        name: &str,
        key: Option<SigningKey>,
        trusted: &[PublicKey],
    ) -> Remote {
        let own = key.as_ref().map(SigningKey::public);
        let trusted = trusted.iter().copied().chain(own);
        let trusted = trusted.map(TrustedSigner::from).collect();
        Remote {
            store,
            root: Path::default(),
            context: ErrorContext {
                remote: name.to_owned(),
                ..ErrorContext::default()
            },
            read_only: false,
            key,
            key_error: None,
            trusted,
            same_as: Vec::new(),
            patience: PATIENCE,
            hidden: AtomicBool::new(false),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            cancel: Mutex::default(),
        }
    }

    /// Returns the address without secrets.
    pub fn name(&self) -> &str {
        &self.context.remote
    }

    /// Returns the key that signs this machine's records. Fails if the remote is read-only, or if there is no key.
    pub fn require_writable(&self) -> Result<&SigningKey, RemoteError> {
        match &self.key {
            _ if self.read_only => Err(RemoteError::ReadOnly {
                remote: self.context.remote.clone(),
            }),
            None => Err(self.no_key()),
            Some(key) => Ok(key),
        }
    }

    /// Returns whether the remote is not read-only and there is a key.
    pub fn is_writable(&self) -> bool {
        !self.read_only && self.key.is_some()
    }

    /// Returns the number of bytes of objects and bundles received so far.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes of objects and bundles sent so far.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes that were sent, or not sent because the remote already has them.
    pub fn settled(&self) -> u64 {
        self.sent() + self.skipped.load(Ordering::Relaxed)
    }

    pub(crate) fn skip(&self, bytes: u64) {
        self.skipped.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Waits for `work`. Fails soon after the run is cancelled.
    pub(crate) async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = Result<T, RemoteError>>,
    ) -> Result<T, RemoteError> {
        let cancel = self.cancel.lock().clone();
        tokio::select! {
            done = work => done,
            () = stopped(&cancel) => Err(RemoteError::Stopped),
        }
    }

    pub(crate) fn denies_private_reads(&self) -> bool {
        self.hidden.load(Ordering::Relaxed)
    }

    pub(crate) fn path(&self, name: &str) -> Path {
        let mut path = self.root.clone();
        for part in name.split('/') {
            path = path.join(part);
        }
        path
    }

    /// Waits for a response, at most for `self.patience`. All reads call this function, so no server can block a run.
    /// Fails soon after the run is cancelled.
    async fn in_time<T>(&self, response: impl Future<Output = T>) -> Result<T, RemoteError> {
        let too_late = |_| RemoteError::Overloaded {
            remote: self.context.remote.clone(),
        };
        let response = timeout(self.patience, response);
        self.unless_stopped(response.map_err(too_late)).await
    }

    fn read_error(&self, error: &object_store::Error) -> RemoteError {
        classify(&self.context, error, false)
    }

    pub(crate) fn write_error(&self, error: &object_store::Error) -> RemoteError {
        classify(&self.context, error, true)
    }

    /// Converts an error that means "not found" to `None`, unless the bucket is missing.
    ///
    /// In the private area, a denied read also means "not found", because the credentials may permit reading only the
    /// public area.
    fn none_if_missing<T>(
        &self,
        name: &str,
        result: object_store::Result<T>,
    ) -> Result<Option<T>, RemoteError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) => match (&error, self.read_error(&error)) {
                (_, place @ RemoteError::NoBucket { .. }) => Err(place),
                (object_store::Error::NotFound { .. }, _) => Ok(None),
                _ if layout::is_private(name) && is_forbidden(&error) => {
                    self.hidden.store(true, Ordering::Relaxed);
                    Ok(None)
                }
                (_, meaning) => Err(meaning),
            },
        }
    }

    /// Returns the entry of a step of `competition`. The inner error means that the entry exists but is not trusted.
    pub async fn entry(
        &self,
        key: &Digest,
        competition: &str,
    ) -> Result<Option<Result<LedgerEntry, Rejection>>, RemoteError> {
        let name = layout::entry(key);
        let found = self.record::<LedgerEntry>(&name, competition).await?;
        Ok(found.map(|entry| {
            let entry = entry?;
            let described = canonical(&entry.record);
            let is_described = Digest::of_bytes(described.as_bytes()) == *key;
            match is_described || has_long_number(&entry.record) {
                true => Ok(entry),
                false => Err(Rejection::OtherStep),
            }
        }))
    }

    /// Creates the entry of a step, unless one exists. If `replace` is true, replaces an entry that is not trusted.
    pub async fn put_entry(
        &self,
        key: &Digest,
        entry: &LedgerEntry,
        competition: &str,
        replace: bool,
    ) -> Result<PutOutcome, RemoteError> {
        let name = layout::entry(key);
        let sealed = self.seal(&name, entry)?;
        if self.create(&name, sealed.clone()).await? {
            return Ok(PutOutcome::New);
        }
        Ok(match self.entry(key, competition).await? {
            Some(Err(_)) if replace => {
                self.put(&name, sealed).await?;
                PutOutcome::New
            }
            Some(Ok(theirs)) if theirs.outputs == entry.outputs => PutOutcome::Same,
            Some(Ok(theirs)) => PutOutcome::Different(Box::new(theirs)),
            Some(Err(rejected)) => PutOutcome::Rejected(rejected),
            // The existing entry was removed after `create` found it. A later run creates it again.
            None => PutOutcome::Same,
        })
    }

    /// Returns the record of a source. The inner error means that the record exists but is not trusted.
    pub async fn source(
        &self,
        name: &str,
    ) -> Result<Option<Result<RemoteSource, Rejection>>, RemoteError> {
        let (place, competition) = (layout::source(name), layout::competition_of(name));
        let found = self.record::<RemoteSource>(&place, competition).await?;
        Ok(found.map(|known| {
            let known = known?;
            match self.is_this_remote(&known.remote) {
                true => Ok(known),
                false => Err(Rejection::OtherRemote(known.remote)),
            }
        }))
    }

    /// Returns whether a record is valid in this remote. `remote` is the address in the record. Records of old versions
    /// have an empty address and are valid in every remote.
    fn is_this_remote(&self, remote: &str) -> bool {
        let same = |address: &str| address.trim_end_matches('/') == remote.trim_end_matches('/');
        remote.is_empty() || same(&self.context.remote) || self.same_as.iter().any(|one| same(one))
    }

    /// Writes the record of a source, or replaces it. `known` must have a higher serial number than the existing record.
    pub async fn put_source(&self, name: &str, known: &RemoteSource) -> Result<(), RemoteError> {
        let name = layout::source(name);
        let known = RemoteSource {
            remote: self.context.remote.clone(),
            ..known.clone()
        };
        let sealed = self.seal(&name, &known)?;
        self.put(&name, sealed).await
    }

    /// Returns the names of all sources. Fails on a plain web server, which cannot list files.
    pub async fn sources(&self) -> Result<Vec<String>, RemoteError> {
        let mut pages = self.store.list(Some(&self.path(layout::SOURCES)));
        let mut listed = Vec::new();
        while let Some(found) = self.in_time(pages.next()).await? {
            listed.push(found.map_err(|error| self.read_error(&error))?);
        }
        let files = listed.iter().filter_map(|one| one.location.filename());
        Ok(files.filter_map(layout::source_of).collect())
    }

    fn seal<T: Serialize>(&self, name: &str, record: &T) -> Result<Vec<u8>, RemoteError> {
        let sealed = trust::seal(self.require_writable()?, name, record);
        sealed.map_err(|error| RemoteError::failed(&self.context.remote, error.to_string()))
    }

    async fn record<T: DeserializeOwned>(
        &self,
        name: &str,
        competition: &str,
    ) -> Result<Option<Result<T, Rejection>>, RemoteError> {
        let Some(got) = self.get(name, GetOptions::default()).await? else {
            return Ok(None);
        };
        let opened = self.collect(got, MAX_RECORD_BYTES).await?;
        Ok(Some(match opened {
            Some(bytes) => trust::open(&self.trusted, competition, name, &bytes),
            None => Err(Rejection::Malformed),
        }))
    }

    async fn get(&self, name: &str, options: GetOptions) -> Result<Option<GetResult>, RemoteError> {
        let path = self.path(name);
        let got = self.in_time(self.store.get_opts(&path, options)).await?;
        self.none_if_missing(name, got)
    }

    /// Collects the bytes of a response. Returns `None` if there are more than `max_bytes`, even if the server announced
    /// fewer.
    async fn collect(
        &self,
        got: GetResult,
        max_bytes: u64,
    ) -> Result<Option<Vec<u8>>, RemoteError> {
        if got.range.end.saturating_sub(got.range.start) > max_bytes {
            return Ok(None);
        }
        let mut pieces = self.pieces(got);
        let mut bytes = Vec::new();
        while let Some(piece) = pieces.try_next().await? {
            bytes.extend_from_slice(&piece);
            if bytes.len() as u64 > max_bytes {
                return Ok(None);
            }
        }
        Ok(Some(bytes))
    }

    /// Returns the bytes of a response as they arrive. The stream fails if the server sends less than the minimum rate.
    fn pieces(&self, got: GetResult) -> ByteChunks {
        let (context, cancel) = (self.context.clone(), self.cancel.lock().clone());
        let rate = RateCheck::new(self.patience);
        let failed = context.clone();
        let pieces = got.into_stream();
        let pieces = pieces.map_err(move |error| classify(&failed, &error, false));
        let pieces = stream::unfold((pieces, rate), move |(mut pieces, mut rate)| {
            let (context, cancel) = (context.clone(), cancel.clone());
            async move {
                let began = Instant::now();
                let too_slow = |remote| Err(RemoteError::Overloaded { remote });
                let next = tokio::select! {
                    next = timeout(rate.left(), pieces.next()) => next,
                    () = stopped(&cancel) => Ok(Some(Err(RemoteError::Stopped))),
                };
                let piece = match next {
                    Ok(None) => return None,
                    Ok(Some(Err(error))) => Err(error),
                    Ok(Some(Ok(piece))) => match rate.add(piece.len() as u64, began.elapsed()) {
                        true => Ok(piece),
                        false => too_slow(context.remote),
                    },
                    Err(_) => too_slow(context.remote),
                };
                Some((piece, (pieces, rate)))
            }
        });
        pieces.boxed()
    }

    /// Writes or replaces a small file.
    async fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), RemoteError> {
        let path = self.path(name);
        let put = self.in_time(self.store.put(&path, bytes.into())).await?;
        put.map(drop).map_err(|error| self.write_error(&error))
    }

    /// Creates a small file. Returns `false` if the file exists.
    async fn create(&self, name: &str, bytes: Vec<u8>) -> Result<bool, RemoteError> {
        let path = self.path(name);
        let payload = PutPayload::from(bytes);
        let mode = PutMode::Create;
        let put = self.store.put_opts(&path, payload.clone(), mode.into());
        match self.in_time(put).await? {
            Ok(_) => Ok(true),
            Err(
                object_store::Error::AlreadyExists { .. }
                | object_store::Error::Precondition { .. },
            ) => Ok(false),
            // This store cannot create a file on the condition that the file does not exist yet. Two machines may both
            // write the entry. That does no harm, because both write the same content.
            Err(object_store::Error::NotImplemented { .. }) => {
                if self.length(name).await?.is_some() {
                    return Ok(false);
                }
                let put = self.in_time(self.store.put(&path, payload)).await?;
                put.map(|_| true).map_err(|error| self.write_error(&error))
            }
            Err(error) => Err(self.write_error(&error)),
        }
    }

    pub(crate) async fn length(&self, name: &str) -> Result<Option<u64>, RemoteError> {
        let path = self.path(name);
        let head = self.in_time(self.store.head(&path)).await?;
        Ok(self.none_if_missing(name, head)?.map(|meta| meta.size))
    }

    /// Returns whether the mirror has a bundle and its list of hashes. Compares only their lengths.
    pub(crate) async fn has_bundle(&self, content: &Content) -> Result<bool, RemoteError> {
        let bundle = layout::bundle(&content.digest);
        let hashes = layout::hashes(&content.digest);
        Ok(self.length(&bundle).await? == Some(content.bytes)
            && self.length(&hashes).await? == Some(list_bytes(content.bytes)))
    }

    /// Copies an object from the private area to the public area. Fails if the store does not support copying.
    pub(crate) async fn copy_to_public(&self, digest: &Digest) -> Result<(), RemoteError> {
        let [from, to] = [Area::Private, Area::Open].map(|area| layout::object(area, digest));
        let copied = self.store.copy(&self.path(&from), &self.path(&to)).await;
        copied.map_err(|error| self.write_error(&error))
    }

    /// Returns the length and the bytes of an object. The bytes are not verified.
    pub(crate) async fn object(
        self: &Arc<Self>,
        digest: &Digest,
    ) -> Result<Option<(u64, ByteChunks)>, RemoteError> {
        for area in Area::ALL {
            let name = layout::object(area, digest);
            if let Some(got) = self.get(&name, GetOptions::default()).await? {
                let (remote, length) = (self.clone(), got.meta.size);
                let pieces = self.pieces(got).inspect_ok(move |bytes| {
                    let count = bytes.len() as u64;
                    remote.received.fetch_add(count, Ordering::Relaxed);
                });
                return Ok(Some((length, pieces.boxed())));
            }
        }
        Ok(None)
    }

    /// Reads a range of a file. The bytes are not verified.
    pub(crate) async fn part(
        &self,
        name: &str,
        range: Range<u64>,
    ) -> Result<Option<Bytes>, RemoteError> {
        if range.is_empty() {
            return Ok(Some(Bytes::new()));
        }
        let length = range.end - range.start;
        let options = GetOptions::default().with_range(Some(range));
        let Some(got) = self.get(name, options).await? else {
            return Ok(None);
        };
        // If the response is too long, an empty one replaces it. The caller's verification then fails.
        let bytes = self.collect(got, length).await?.unwrap_or_default();
        self.received
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(Some(bytes.into()))
    }
}

/// Waits until the run is cancelled.
async fn stopped(cancel: &Cancel) {
    while !cancel.is_cancelled() {
        sleep(CANCEL_CHECK_INTERVAL).await;
    }
}

/// Returns whether a record contains a number of more than 15 digits. The parser may round such a number. Then the hash
/// of the parsed record differs from the step key, so the hash must not be compared with the key.
fn has_long_number(record: &serde_json::Value) -> bool {
    use serde_json::Value;

    match record {
        Value::Number(number) => {
            let text = number.to_string();
            number.is_f64() && text.bytes().filter(u8::is_ascii_digit).count() > 15
        }
        Value::Array(values) => values.iter().any(has_long_number),
        Value::Object(values) => values.values().any(has_long_number),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}
