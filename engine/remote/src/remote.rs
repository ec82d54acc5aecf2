//! A remote, one operation each. Asynchronous; every failure is a [`RemoteError`].

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{GetResult, ObjectStore, ObjectStoreExt, PutMode, PutPayload};
use prep_cache::{Content, Digest, LedgerEntry};
use prep_core::canonical;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::address::{Address, Credentials};
use crate::error::{RemoteError, is_forbidden, meaning};
use crate::key::{PublicKey, SigningKey};
use crate::layout::{self, Area};
use crate::signed::{self, Rejected};
use crate::trust::Trusted;

/// Nobody writes a record this long.
const LONGEST_RECORD: u64 = 256 << 20;
/// Bytes per second that an answer must bring, once it was waited for this long.
const LEAST_RATE: u64 = 4 << 10;
const PATIENCE: Duration = Duration::from_secs(60);

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
    /// Grows with each record that replaces another. Records of versions before serial numbers have 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub serial: u64,
    /// The remote that it was written for, by its address. Empty in records of versions before serial numbers.
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

/// The bytes of an object on their way.
pub(crate) type Pieces = BoxStream<'static, Result<Bytes, RemoteError>>;

/// A remote.
#[derive(Debug)]
pub struct Remote {
    pub(crate) store: Arc<dyn ObjectStore>,
    root: Path,
    pub(crate) shown: String,
    pub(crate) read_only: bool,
    key: Option<SigningKey>,
    trusted: Vec<Trusted>,
    /// Other addresses of the same remote.
    same_as: Vec<String>,
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
        trusted: &[Trusted],
    ) -> Result<Remote, RemoteError> {
        let (store, root) = address.open(credentials)?;
        let remote = Remote::over(store, &address.shown(), key, &[]).trusting(trusted);
        Ok(Remote {
            root,
            read_only: address.is_read_only(),
            ..remote
        })
    }

    /// The same remote; signatures of these keys are believed, too, within their limits.
    #[must_use]
    pub fn trusting(mut self, trusted: &[Trusted]) -> Remote {
        self.trusted.extend_from_slice(trusted);
        self
    }

    /// The same remote, which is also known by these addresses: records that were written for them hold here.
    #[must_use]
    pub fn same_as(self, addresses: &[Address]) -> Remote {
        let same_as = addresses.iter().map(Address::shown).collect();
        Remote { same_as, ..self }
    }

    /// A remote in a store that is there already; messages call it `shown`.
    pub fn over(
        store: Arc<dyn ObjectStore>,
        shown: &str,
        key: Option<SigningKey>,
        trusted: &[PublicKey],
    ) -> Remote {
        let own = key.as_ref().map(SigningKey::public);
        let trusted = trusted.iter().copied().chain(own);
        let trusted = trusted.map(Trusted::from).collect();
        Remote {
            store,
            root: Path::default(),
            shown: shown.to_owned(),
            read_only: false,
            key,
            trusted,
            same_as: Vec::new(),
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

    /// What a step key of a competition led to. The inner error: there is one, which is not believed.
    ///
    /// # Errors
    /// When the remote cannot tell.
    pub async fn entry(
        &self,
        key: &Digest,
        competition: &str,
    ) -> Result<Option<Result<LedgerEntry, Rejected>>, RemoteError> {
        let name = layout::entry(key);
        let found = self.record::<LedgerEntry>(&name, competition).await?;
        Ok(found.map(|entry| {
            let entry = entry?;
            let described = canonical(&entry.record);
            let is_described = Digest::of(described.as_bytes()) == *key;
            match is_described || has_long_number(&entry.record) {
                true => Ok(entry),
                false => Err(Rejected::OtherStep),
            }
        }))
    }

    /// Makes the entry of a step key of a competition, if there is none.
    ///
    /// # Errors
    /// When it cannot be written, or what is there cannot be read.
    pub async fn put_entry(
        &self,
        key: &Digest,
        entry: &LedgerEntry,
        competition: &str,
    ) -> Result<Put, RemoteError> {
        let name = layout::entry(key);
        let sealed = self.seal(&name, entry)?;
        if self.create(&name, sealed).await? {
            return Ok(Put::New);
        }
        Ok(match self.entry(key, competition).await? {
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
        let (place, competition) = (layout::source(name), layout::competition_of(name));
        let found = self.record::<Known>(&place, competition).await?;
        Ok(found.map(|known| {
            let known = known?;
            match self.is_here(&known.remote) {
                true => Ok(known),
                false => Err(Rejected::OtherRemote(known.remote)),
            }
        }))
    }

    /// Whether a record that was written for this remote holds here. Those of versions that did not say hold anywhere.
    fn is_here(&self, remote: &str) -> bool {
        let same = |address: &str| address.trim_end_matches('/') == remote.trim_end_matches('/');
        remote.is_empty() || same(&self.shown) || self.same_as.iter().any(|one| same(one))
    }

    /// Says what a source of this remote holds. Sources may change, so this replaces the record before, which should have a
    /// lower serial number.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn put_source(&self, name: &str, known: &Known) -> Result<(), RemoteError> {
        let name = layout::source(name);
        let known = Known {
            remote: self.shown.clone(),
            ..known.clone()
        };
        let sealed = self.seal(&name, &known)?;
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
        let files = listed.iter().filter_map(|one| one.location.filename());
        Ok(files.filter_map(layout::source_of).collect())
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
        competition: &str,
    ) -> Result<Option<Result<T, Rejected>>, RemoteError> {
        let got = self.store.get(&self.path(name)).await;
        let Some(got) = self.found(name, got)? else {
            return Ok(None);
        };
        if got.meta.size > LONGEST_RECORD {
            return Ok(Some(Err(Rejected::Shape)));
        }
        // What was announced is no promise.
        let mut pieces = self.pieces(got);
        let mut bytes = Vec::new();
        while let Some(piece) = pieces.try_next().await? {
            bytes.extend_from_slice(&piece);
            if bytes.len() as u64 > LONGEST_RECORD {
                return Ok(Some(Err(Rejected::Shape)));
            }
        }
        Ok(Some(signed::open(&self.trusted, competition, name, &bytes)))
    }

    /// What arrives of an answer. Fails if a server sends hardly anything for long: it would otherwise hold the run with a byte
    /// now and then, which no timeout of a single read notices.
    fn pieces(&self, got: GetResult) -> Pieces {
        let shown = self.shown.clone();
        let (mut waited, mut bytes) = (Duration::ZERO, 0);
        let timed = stream::unfold(got.into_stream(), |mut pieces| async move {
            let began = Instant::now();
            let piece = pieces.next().await?;
            Some(((piece, began.elapsed()), pieces))
        });
        let pieces = timed.map(move |(piece, time)| {
            let piece = piece.map_err(|error| meaning(&shown, &error, false))?;
            waited += time;
            bytes += piece.len() as u64;
            match is_too_slow(waited, bytes) {
                true => Err(RemoteError::Slow {
                    remote: shown.clone(),
                }),
                false => Ok(piece),
            }
        });
        pieces.boxed()
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

    /// Copies an object that is in the private area to the public one, within the remote.
    ///
    /// # Errors
    /// When the remote does not do that.
    pub(crate) async fn open_up(&self, digest: &Digest) -> Result<(), RemoteError> {
        let [from, to] = [Area::Private, Area::Open].map(|area| layout::object(area, digest));
        let copied = self.store.copy(&self.path(&from), &self.path(&to)).await;
        copied.map_err(|error| self.writing(&error))
    }

    /// Length of a bundle in the mirror, if it is there.
    ///
    /// # Errors
    /// When the remote cannot tell.
    pub(crate) async fn bundle_length(&self, digest: &Digest) -> Result<Option<u64>, RemoteError> {
        self.length(&layout::bundle(digest)).await
    }

    /// Opens an object: its length, and its bytes piece by piece, as they are there.
    ///
    /// # Errors
    /// When the remote cannot tell.
    pub(crate) async fn object(
        self: &Arc<Self>,
        digest: &Digest,
    ) -> Result<Option<(u64, Pieces)>, RemoteError> {
        for area in Area::ALL {
            let name = layout::object(area, digest);
            let got = self.store.get(&self.path(&name)).await;
            if let Some(got) = self.found(&name, got)? {
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

/// Whether a record has a number of more than 15 digits. The parser may read such a number as a neighbour of it, so the hash
/// of the record says nothing.
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

/// Whether so few bytes arrived in the time that was spent waiting for them that it makes no sense to go on.
fn is_too_slow(waited: Duration, bytes: u64) -> bool {
    waited > PATIENCE && bytes / waited.as_secs().max(1) < LEAST_RATE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_drips_is_too_slow() {
        for (seconds, bytes, expected) in [
            (0, 0, false),
            (60, 0, false),
            (61, 3, true),
            (61, 61 * LEAST_RATE, false),
            (3600, 61 * LEAST_RATE, true),
            (3600, 3600 * LEAST_RATE, false),
        ] {
            let waited = Duration::from_secs(seconds);
            assert_eq!(
                is_too_slow(waited, bytes),
                expected,
                "{seconds} s, {bytes} bytes"
            );
        }
    }
}
