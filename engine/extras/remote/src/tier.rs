//! Connects the remote to the local cache and to sources. The remote is the second level of the local cache. A bundle
//! that is not on this machine is read from the mirror.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::{fmt, io};

use futures::StreamExt;
use parking_lot::Mutex;
use prep_cache::{Content, Digest, LedgerEntry, Offer, Store, Tier};
use prep_core::{Context, FileValue, Source, SourceState, StepError, Value};
use tokio::sync::mpsc::Sender;

use crate::error::RemoteError;
use crate::link::Link;
use crate::remote::Remote;
use crate::send::Job;

/// Maximum number of chunks of an object that are buffered between the network and the disk.
const MAX_QUEUED_CHUNKS: usize = 8;

/// Maximum number of objects whose lengths are stored. The lengths need about 60 MB. If there are more, all lengths are
/// dropped. An object is then fetched without knowing its length in advance.
const MAX_LENGTHS: usize = 1 << 20;

/// A link as the second level of a cache.
struct LinkTier {
    link: Link,
    /// The local cache without the second level.
    store: Store,
    /// Lengths of objects that are not on this machine, from trusted entries.
    expected: Mutex<HashMap<Digest, u64>>,
}

impl fmt::Debug for LinkTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.link.fmt(f)
    }
}

impl Link {
    /// Returns the cache with the remote as its second level. The cache then fetches results that are missing locally, and
    /// sends new results.
    pub fn attach(&self, store: &Store) -> Store {
        self.remember_in(store);
        store.with_tier(Arc::new(LinkTier {
            link: self.clone(),
            store: store.clone(),
            expected: Mutex::default(),
        }))
    }
}

impl Tier for LinkTier {
    fn entry(&self, key: &Digest, competition: &str) -> Option<LedgerEntry> {
        let inner = self.link.inner();
        let (remote, key, competition) = (inner.remote.clone(), *key, competition.to_owned());
        match inner.ask(async move { remote.entry(&key, &competition).await })?? {
            Ok(entry) => Some(LedgerEntry {
                is_remote: true,
                ..entry
            }),
            Err(rejected) => {
                inner.report_rejection("a result", &rejected);
                None
            }
        }
    }

    fn may_have(&self, object: &Digest) -> bool {
        self.link.inner().may_have(object)
    }

    fn expect(&self, object: &Digest, length: u64) {
        let mut expected = self.expected.lock();
        if expected.len() >= MAX_LENGTHS {
            expected.clear();
        }
        expected.insert(*object, length);
    }

    fn fetch(&self, object: &Digest, to: &mut dyn Write) -> io::Result<bool> {
        let inner = self.link.inner();
        if !inner.is_read() {
            return Ok(false);
        }
        let (sender, mut receiver) = tokio::sync::mpsc::channel(MAX_QUEUED_CHUNKS);
        let (remote, digest) = (inner.remote.clone(), *object);
        let expected = self.expected.lock().get(object).copied();
        let free = expected
            .is_none()
            .then(|| self.store.free_space())
            .flatten();
        inner.spawn(async move {
            // If the receiver was dropped, it does not need the remaining bytes.
            let _ = sender
                .send(receive(&remote, &digest, expected, free, &sender).await)
                .await;
        });
        loop {
            // This works on threads of any runtime, unlike the channel's own blocking call.
            match futures::executor::block_on(receiver.recv()) {
                Some(Chunk::Bytes(bytes)) => to.write_all(&bytes)?,
                Some(Chunk::End) => return Ok(true),
                Some(Chunk::Failed(error)) => {
                    inner.report_error(&error, false);
                    inner.mark_absent(*object);
                    return Ok(false);
                }
                Some(Chunk::WrongLength) => {
                    inner.mark_damaged(*object);
                    return Ok(false);
                }
                Some(Chunk::NoRoom(length)) => {
                    inner.mark_absent(*object);
                    let message = format!(
                        "the object {} in the remote {} is too large ({}) for the free disk space; it is not fetched",
                        object.short(),
                        inner.remote.name(),
                        prep_core::units::bytes(length)
                    );
                    inner.report(message, None);
                    return Ok(false);
                }
                Some(Chunk::Absent) | None => {
                    inner.record_absent(*object);
                    return Ok(false);
                }
            }
        }
    }

    fn report_damaged(&self, object: &Digest) {
        self.link.inner().mark_damaged(*object);
    }

    fn offer(&self, offer: Offer) {
        let store = self.store.clone();
        let offer = Box::new(offer);
        self.link.enqueue(Job::Result { offer, store });
    }
}

/// Messages from the task that fetches an object.
enum Chunk {
    Bytes(bytes::Bytes),
    End,
    Absent,
    /// The length of the object differs from the length in its entry.
    WrongLength,
    /// The object is larger than the free disk space.
    NoRoom(u64),
    Failed(RemoteError),
}

/// Fetches an object and sends its bytes to `sender`. `expected` is the object's length in a trusted entry. If it is
/// `None`, the length that the server announces must not exceed `free`, the free disk space. Returns the last message to
/// send, which states how the transfer ended.
async fn receive(
    remote: &Arc<Remote>,
    digest: &Digest,
    expected: Option<u64>,
    free: Option<u64>,
    sender: &Sender<Chunk>,
) -> Chunk {
    let (length, mut pieces) = match remote.object(digest).await {
        Ok(Some(found)) => found,
        Ok(None) => return Chunk::Absent,
        Err(error) => return Chunk::Failed(error),
    };
    match expected {
        Some(expected) if expected != length => return Chunk::WrongLength,
        None if free.is_some_and(|free| length > free) => return Chunk::NoRoom(length),
        _ => {}
    }
    let mut left = length;
    while let Some(piece) = pieces.next().await {
        let bytes = match piece {
            Ok(bytes) => bytes,
            Err(error) => return Chunk::Failed(error),
        };
        // The server may send more bytes than it announced.
        let Some(rest) = left.checked_sub(bytes.len() as u64) else {
            return Chunk::WrongLength;
        };
        left = rest;
        if sender.send(Chunk::Bytes(bytes)).await.is_err() {
            return Chunk::End;
        }
    }
    Chunk::End
}

/// A source that uses the mirror before it downloads a bundle.
pub struct MirroredSource {
    inner: Box<dyn Source>,
    /// The name under which the cache records the source's content.
    name: String,
    /// The published checksums. A record of the mirror with different checksums is ignored.
    md5: Option<String>,
    sha256: Option<String>,
    link: Link,
    /// The content that the source had when it was last used.
    stated: Option<Content>,
    remote_answer: RemoteContent,
}

/// The content that the remote records for a source. Empty until the remote was queried.
pub type RemoteContent = Arc<OnceLock<Option<Content>>>;

impl MirroredSource {
    /// Wraps the source `inner`. `name` is the name under which the cache records the content of this source. `md5` and
    /// `sha256` are its published checksums.
    pub fn new(
        inner: Box<dyn Source>,
        name: &str,
        md5: Option<&str>,
        sha256: Option<&str>,
        link: Link,
    ) -> MirroredSource {
        MirroredSource {
            inner,
            name: name.to_owned(),
            md5: md5.map(str::to_owned),
            sha256: sha256.map(str::to_owned),
            link,
            stated: None,
            remote_answer: RemoteContent::default(),
        }
    }

    /// Sets the content that the source had when it was last used. If it is `Some`, it is used in place of the content
    /// that the remote records.
    #[must_use]
    pub fn with_content(self, stated: Option<Content>) -> MirroredSource {
        MirroredSource { stated, ..self }
    }

    /// Returns the content that the remote records for this source. The cell is empty until the remote is queried. The
    /// remote is queried only if the source is not on this machine and its last content is unknown.
    pub fn remote_answer(&self) -> RemoteContent {
        self.remote_answer.clone()
    }

    /// Returns the content that the remote records for this source, if it matches the published checksums.
    fn query_remote(&self) -> Option<Content> {
        let inner = self.link.inner();
        let (link, name) = (inner.clone(), self.name.clone());
        let known = inner.ask(async move { link.source(&name).await })??;
        let fits = self.is_published(&known.content);
        if !fits {
            let message = format!(
                "the bundle of `{}` in the mirror does not have the published checksum; it is not used",
                self.name
            );
            inner.report(message, None);
        }
        fits.then_some(known.content)
    }

    fn is_published(&self, content: &Content) -> bool {
        let sums = [(&self.md5, &content.md5), (&self.sha256, &content.sha256)];
        sums.iter().all(|(published, found)| {
            published.as_ref().is_none_or(|published| {
                found
                    .as_ref()
                    .is_some_and(|found| found.eq_ignore_ascii_case(published))
            })
        })
    }

    /// Returns the content of the source if it can be read from the mirror. Returns `None` if the source is on this
    /// machine, or if the mirror lacks the content.
    fn mirrored_content(&self, context: &Context) -> Result<Option<Content>, StepError> {
        if self.inner.location().is_some() {
            return Ok(None);
        }
        let stated = self.stated.as_ref();
        let stated = stated.filter(|content| self.is_published(content));
        let recorded = || self.remote_answer.get_or_init(|| self.query_remote());
        let content = stated.or_else(|| recorded().as_ref()).cloned();
        Ok(content.filter(|content| !context.outside.is_lost(&content.digest)))
    }

    fn read_from_mirror(&self, context: &Context, content: &Content) {
        let bundle = self.link.bundle(content.digest, content.bytes);
        context.outside.set_ranges(content.digest, bundle);
    }

    /// Sends a fetched bundle to the mirror. Other machines use it only after its source record is written.
    /// [`Link::offer_source`] writes that record, after results were computed from the bundle.
    fn offer(&self, context: &Context, value: &Value) -> Result<(), StepError> {
        if !self.link.mirrors() {
            return Ok(());
        }
        let digest = FileValue::from_value(value)?.digest;
        let mut records = context.store.named_sources(&self.name)?.into_iter();
        // A part of a bundle is recorded under a different name.
        let record = records.find(|record| record.digest == digest);
        let file = self.inner.location().and_then(|path| File::open(path).ok());
        if let (Some(record), Some(file)) = (record, file) {
            let content = record.content();
            self.link.enqueue(Job::Bundle { content, file });
        }
        Ok(())
    }
}

fn value(content: &Content) -> Value {
    FileValue::outside(content.digest, content.bytes).into_value()
}

impl Source for MirroredSource {
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    fn state(&self, context: &Context) -> Result<SourceState, StepError> {
        let state = self.inner.state(context)?;
        match (&state, self.mirrored_content(context)?) {
            (SourceState::Unread { .. } | SourceState::Rejected { .. }, _) | (_, None) => Ok(state),
            (SourceState::Known { value: known }, Some(content)) => {
                if value(&content).digest() == *known {
                    self.read_from_mirror(context, &content);
                }
                Ok(state)
            }
            (SourceState::Missing, Some(content)) => {
                self.read_from_mirror(context, &content);
                Ok(SourceState::Known {
                    value: value(&content).digest(),
                })
            }
        }
    }

    fn run(&self, context: &Context) -> Result<Value, StepError> {
        if let Some(content) = self.mirrored_content(context)? {
            context.store.name_content(&self.name, &content)?;
            self.read_from_mirror(context, &content);
            return Ok(value(&content));
        }
        let value = self.inner.run(context)?;
        self.offer(context, &value)?;
        Ok(value)
    }

    fn location(&self) -> Option<PathBuf> {
        self.inner.location()
    }
}
