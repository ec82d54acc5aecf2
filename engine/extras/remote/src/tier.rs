//! The remote as the second level of the local cache, and the mirror as a substitute for downloads.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::{fmt, io};

use futures::StreamExt;
use parking_lot::Mutex;
use prep_cache::{Content, Digest, LedgerEntry, Offer, Store, Tier};
use prep_core::{Context, FileValue, Remedy, Source, SourceState, StepError, Value, WithRemedy};
use tokio::sync::mpsc::Sender;

use crate::error::RemoteError;
use crate::link::Link;
use crate::remote::Remote;
use crate::send::Job;

const MAX_QUEUED_CHUNKS: usize = 8;

/// When the lengths of this number of objects are stored, all of them are dropped. At this number, they need about 60
/// MB.
const MAX_LENGTHS: usize = 1 << 20;

struct LinkTier {
    link: Link,
    store: Store,
    /// Lengths of objects in trusted entries. They limit the fetch of an object.
    expected: Mutex<HashMap<Digest, u64>>,
}

impl fmt::Debug for LinkTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.link.fmt(f)
    }
}

impl Link {
    /// Returns a cache that fetches results from the remote if they are missing locally, and that sends new results.
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
        if !inner.accepts_reads() {
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
            // If the receiver was dropped, nobody needs the last message.
            let _ = sender
                .send(receive(&remote, &digest, expected, free, &sender).await)
                .await;
        });
        // Unlike `blocking_recv`, `block_on` works on threads of any runtime.
        let mut next = || futures::executor::block_on(receiver.recv()).unwrap_or(Chunk::Absent);
        let mut chunk = next();
        while let Chunk::Bytes(bytes) = chunk {
            to.write_all(&bytes)?;
            chunk = next();
        }
        match chunk {
            Chunk::End => return Ok(true),
            Chunk::Failed(RemoteError::Stopped) => {
                return Err(io::Error::other(StepError::Cancelled));
            }
            Chunk::Failed(error) => {
                inner.report_error(&error, false);
                inner.mark_absent(*object);
            }
            Chunk::WrongLength => inner.mark_damaged("object", *object),
            Chunk::NoRoom(length) => {
                inner.mark_absent(*object);
                let message = format!(
                    "the object {} in the remote {} is too large ({}) for the free disk space; it is not fetched",
                    object.short(),
                    inner.remote.name(),
                    prep_core::units::bytes(length)
                );
                inner.report(message, None);
            }
            Chunk::Absent | Chunk::Bytes(_) => inner.record_absent(*object),
        }
        Ok(false)
    }

    fn report_damaged(&self, object: &Digest) {
        self.link.inner().mark_damaged("object", *object);
    }

    fn offer(&self, offer: Offer) {
        let store = self.store.clone();
        let offer = Box::new(offer);
        self.link.enqueue(Job::Result { offer, store });
    }
}

enum Chunk {
    Bytes(bytes::Bytes),
    End,
    Absent,
    /// The object's length differs from the length in its entry.
    WrongLength,
    /// The object is larger than the free disk space.
    NoRoom(u64),
    Failed(RemoteError),
}

/// Fetches an object and sends its bytes to `sender`. Returns the chunk that states how the transfer ended.
///
/// `expected` is the length of the object in the signed entry of a result. If it is `None`, the object must fit into
/// `free`, the free disk space in bytes.
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

/// A source that reads a bundle from the mirror. If the mirror does not have the bundle, the source `inner` provides
/// it.
pub struct MirroredSource {
    inner: Box<dyn Source>,
    name: String,
    /// The published checksums. A content that does not match them is ignored.
    md5: Option<String>,
    sha256: Option<String>,
    link: Link,
    /// The content of the source when it was last used.
    last_used: Option<Content>,
    remote_answer: RemoteContent,
}

/// The content that the remote's record of a source states. Empty until the remote was queried.
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
            last_used: None,
            remote_answer: RemoteContent::default(),
        }
    }

    /// Sets the source's content at its last use. This content takes precedence over the content that the remote records.
    #[must_use]
    pub fn with_content(self, last_used: Option<Content>) -> MirroredSource {
        MirroredSource { last_used, ..self }
    }

    /// Returns a cell, into which a query of the remote writes the content that the remote records for this source. The
    /// cell remains empty if the remote is not queried, for example because the source is on this machine.
    pub fn remote_answer(&self) -> RemoteContent {
        self.remote_answer.clone()
    }

    fn query_remote(&self) -> Option<Content> {
        let inner = self.link.inner();
        let (link, name) = (inner.clone(), self.name.clone());
        let known = inner.ask(async move { link.source(&name).await })??;
        let fits = self.is_published(&known.content);
        if !fits {
            let name = &self.name;
            let message = format!(
                "the remote's results of `{name}` are not used, because their bundle does not have the published checksum"
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

    /// Returns the content of the source, if the mirror may have it and the source is not on this machine.
    fn mirrored_content(&self, context: &Context) -> Result<Option<Content>, StepError> {
        if self.inner.location().is_some() {
            return Ok(None);
        }
        let last_used = self.last_used.as_ref();
        let last_used = last_used.filter(|content| self.is_published(content));
        let recorded = || self.remote_answer.get_or_init(|| self.query_remote());
        let content = last_used.or_else(|| recorded().as_ref()).cloned();
        Ok(content.filter(|content| !context.outside.is_lost(&content.digest)))
    }

    /// Adds to an error of `inner` that the mirror does not have an intact copy of the file either, although the remote has
    /// results of it.
    fn explain(&self, error: StepError) -> StepError {
        let inner = self.link.inner();
        let recorded = self.remote_answer.get().and_then(Option::as_ref);
        let content = self.last_used.as_ref().or(recorded);
        let absent = content.filter(|known| !inner.may_have(&known.digest));
        match error.remedy().zip(absent) {
            Some((remedy, known)) if inner.accepts_reads() => {
                let (what, repair) = match inner.is_damaged(&known.digest) {
                    true => ("has a damaged copy of", Remedy::RepairRemote),
                    false => ("lacks", Remedy::SendBundle),
                };
                let (remote, cause) = (inner.remote.name(), prep_core::chain(&error));
                let message = format!("the mirror of {remote} {what} the bundle, and {cause}");
                let cause = WithRemedy::new(message, repair.or(remedy));
                StepError::new(error.failure(), cause)
            }
            _ => error,
        }
    }

    fn read_from_mirror(&self, context: &Context, content: &Content) {
        let bundle = self.link.bundle(content.digest, content.bytes);
        context.outside.set_ranges(content.digest, bundle);
    }

    /// Sends a fetched bundle to the mirror. Other machines use the mirrored bundle only after [`Link::offer_source`] wrote
    /// the source record of the bundle.
    fn offer(&self, context: &Context, value: &Value) -> Result<(), StepError> {
        if !self.link.mirrors() {
            return Ok(());
        }
        let digest = FileValue::from_value(value)?.digest;
        let mut records = context.store.named_sources(&self.name)?.into_iter();
        // A part of a bundle is recorded under a different name, so there may be no record.
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
        let value = self.inner.run(context);
        let value = value.map_err(|error| self.explain(error))?;
        self.offer(context, &value)?;
        Ok(value)
    }

    fn obstacle(&self, context: &Context) -> Option<StepError> {
        let error = self.inner.obstacle(context)?;
        Some(self.explain(error))
    }

    fn location(&self) -> Option<PathBuf> {
        self.inner.location()
    }
}
