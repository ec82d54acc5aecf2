//! Uploads results of steps, bundles and source records. A source record states the content of a source from which results
//! were computed.
//!
//! An upload runs immediately, or as a job of a queue that a background task processes. The objects of a result are sent
//! before the entry that names them.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::{StreamExt, TryStreamExt, stream};
use prep_cache::{Content, Digest, Offer, Store, StoreError};
use prep_core::Remedy;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::error::RemoteError;
use crate::layout::{self, Area};
use crate::link::{Inner, Link};
use crate::remote::PutOutcome;
use crate::send::Job;
use crate::trust::Rejection;

const CONCURRENT_OBJECTS: usize = 4;

/// Name prefix of steps whose outputs everybody may read.
const PUBLIC_PREFIX: &str = "public/";

/// The outcome of sending a result.
#[derive(Debug, Clone, PartialEq)]
pub enum SendOutcome {
    /// The result was sent, with this outcome for its entry.
    Recorded(PutOutcome),
    /// The result was not sent, because this object is neither on this machine nor in the remote.
    Incomplete(Digest),
}

/// The outcome of sending a source record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceOutcome {
    /// The remote has the record.
    Recorded {
        /// Whether the mirror has the bytes of the source.
        mirrored: bool,
    },
    /// A record existed whose signer is not trusted. It was left unchanged, and nothing was sent.
    Rejected(Rejection),
}

impl Link {
    /// Adds a job to the queue, unless the remote cannot be written.
    pub(crate) fn enqueue(&self, job: Job) {
        let inner = self.inner();
        if !inner.remote.is_writable() {
            // A read-only remote receives nothing on purpose, so a missing key is not reported.
            if !inner.remote.read_only {
                inner.report_no_key();
            }
            return;
        }
        if !inner.accepts_writes() {
            return;
        }
        let bytes = job.bytes();
        if !inner.queue.reserve(bytes) {
            inner.report_dropped();
            return;
        }
        let sender = inner.queue.sender.get_or_init(|| start(inner));
        if sender.send((job, bytes)).is_err() {
            inner.queue.release(bytes);
            inner.report_dropped();
        }
    }

    /// Queues the upload of a source record. Other machines take the content of the source from this record, and search
    /// the remote for results that were computed from it. Therefore this machine must have computed its results from
    /// `content`.
    pub fn offer_source(&self, name: &str, content: &Content) {
        let (name, content) = (name.to_owned(), content.clone());
        self.enqueue(Job::Source { name, content });
    }

    /// Waits until all jobs were sent or have failed, or until `stop` returns true. If a job was stopped, reports this and
    /// returns false.
    pub fn finish(&self, stop: impl Fn() -> bool) -> bool {
        let inner = self.inner();
        let is_done = inner.queue.wait(stop) && !inner.was_stopped.load(Ordering::Relaxed);
        if !is_done {
            let message = format!(
                "stopped before all results were sent to the remote {}; results stay on this machine",
                inner.remote.name()
            );
            inner.report(message, Some(Remedy::SendLater));
        }
        is_done
    }

    /// Sends a result immediately.
    pub fn send(&self, offer: Offer, store: &Store) -> Result<SendOutcome, RemoteError> {
        let (inner, store) = (self.inner().clone(), store.clone());
        self.inner()
            .wait(async move { result(&inner, &offer, &store).await })
    }

    /// Sends a source record immediately. If `file` is given, also sends the bytes of this file to the mirror.
    ///
    /// `content` must be the content from which this machine computed its results. Other machines take the content of
    /// the source from the record, and search the remote for results that were computed from it.
    pub fn send_source(
        &self,
        name: &str,
        content: &Content,
        file: Option<File>,
    ) -> Result<SourceOutcome, RemoteError> {
        let (inner, name, content) = (self.inner().clone(), name.to_owned(), content.clone());
        self.inner()
            .wait(async move { source(&inner, &name, &content, file).await })
    }
}

fn start(inner: &Arc<Inner>) -> UnboundedSender<(Job, u64)> {
    let (sender, mut receiver) = unbounded_channel::<(Job, u64)>();
    let link = Arc::downgrade(inner);
    inner.spawn(async move {
        while let Some((job, bytes)) = receiver.recv().await {
            let Some(inner) = link.upgrade() else { return };
            if inner.accepts_writes() {
                let sent = match job {
                    Job::Result { offer, store } => result(&inner, &offer, &store).await.map(drop),
                    Job::Bundle { content, file } => bundle(&inner, &content, file).await,
                    Job::Source { name, content } => {
                        source(&inner, &name, &content, None).await.map(drop)
                    }
                };
                if let Err(error) = sent {
                    let is_stopped = matches!(error, RemoteError::Stopped);
                    inner.was_stopped.fetch_or(is_stopped, Ordering::Relaxed);
                    inner.report_error(&error, true);
                }
            }
            inner.queue.release(bytes);
        }
    });
    sender
}

async fn result(
    inner: &Arc<Inner>,
    offer: &Offer,
    store: &Store,
) -> Result<SendOutcome, RemoteError> {
    let is_public = offer.step.starts_with(PUBLIC_PREFIX);
    let mut objects: Vec<Digest> = offer.entry.objects().copied().collect();
    objects.sort_unstable();
    objects.dedup();
    // If one object is damaged in the remote, others may be damaged as well. So all objects of the result are sent again.
    let replace = objects.iter().any(|digest| inner.is_damaged(digest));
    let sent = stream::iter(objects)
        .map(|digest| async move {
            let area = match is_public && !offer.given.contains(&digest) {
                true => Area::Open,
                false => Area::Private,
            };
            let found = object(inner, area, digest, store, replace).await?;
            Ok::<_, RemoteError>((digest, found))
        })
        .buffer_unordered(CONCURRENT_OBJECTS)
        .try_collect::<HashMap<Digest, ObjectLocation>>()
        .await?;
    let mut absent = sent
        .iter()
        .filter(|(_, found)| **found == ObjectLocation::Missing);
    if let Some((digest, _)) = absent.next() {
        return Ok(SendOutcome::Incomplete(*digest));
    }
    let length = |digest: &Digest| match sent.get(digest) {
        Some(ObjectLocation::Local(length)) => Some(*length),
        _ => None,
    };
    let mut entry = offer.entry.clone();
    // The signed entry contains the lengths of its objects only if the lengths are certain. They are certain if all objects
    // are on this machine, or if a trusted entry contained the lengths.
    match offer.entry.objects().map(length).collect() {
        Some(lengths) => entry.lengths = lengths,
        None if entry.lengths.len() == entry.objects().count() => {}
        None => entry.lengths.clear(),
    }
    let (remote, competition) = (&inner.remote, &offer.competition);
    let put = remote.put_entry(&offer.key, &entry, competition, inner.replaces_all());
    let put = match put.await? {
        PutOutcome::Same if replace => PutOutcome::New,
        put => put,
    };
    match &put {
        PutOutcome::New | PutOutcome::Same => {}
        PutOutcome::Rejected(rejected) => inner.report_rejection("a result", rejected),
        PutOutcome::Different(theirs) => {
            let outputs = offer.entry.outputs.iter();
            let mut outputs = outputs.map(|(name, ours)| (Some(ours), theirs.outputs.get(name)));
            let differs = outputs.find(|(ours, theirs)| ours != theirs);
            let (ours, theirs) = differs.unwrap_or_default();
            let [ours, theirs] =
                [ours, theirs].map(|output| output.map(Digest::short).unwrap_or_default());
            let message = format!(
                "`{competition}/{}` is not deterministic: for the same inputs, this machine produced {ours} and the remote has {theirs}; report this as a bug",
                offer.step
            );
            inner.report(message, None);
        }
    }
    Ok(SendOutcome::Recorded(put))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ObjectLocation {
    /// The object is on this machine, has this length in bytes, and is now also in the remote.
    Local(u64),
    /// The object is only in the remote.
    Remote,
    Missing,
}

/// Ensures that an object is in the area `area` of the remote. If `replace` is true, replaces the copy in the remote.
async fn object(
    inner: &Arc<Inner>,
    area: Area,
    digest: Digest,
    store: &Store,
    replace: bool,
) -> Result<ObjectLocation, RemoteError> {
    if !replace && inner.present.lock().contains(&(area, digest)) {
        let length = store.len_of(&digest);
        inner.remote.skip(length.unwrap_or(0));
        return Ok(length.map_or(ObjectLocation::Remote, ObjectLocation::Local));
    }
    let store = store.clone();
    let opened = tokio::task::spawn_blocking(move || {
        let object = store.open_object(&digest)?;
        let file = object.file().try_clone();
        let file = file.map_err(|cause| StoreError::Io {
            action: "open",
            path: object.path().to_owned(),
            cause,
        });
        Ok::<_, StoreError>((object.len(), file?))
    });
    let (length, file) = match opened.await {
        Ok(Ok(found)) => found,
        // The object is not on this machine, and the copy in the remote is damaged.
        _ if inner.is_damaged(&digest) => return Ok(ObjectLocation::Missing),
        _ => return in_remote(inner, area, digest).await,
    };
    let file = Arc::new(file);
    let name = layout::object(area, &digest);
    let put = inner.remote.put_file(&name, &digest, file, replace);
    put.await?;
    inner.mark_sent(digest);
    inner.mark_present(area, digest);
    Ok(ObjectLocation::Local(length))
}

/// Looks in the remote for an object that is not on this machine.
///
/// A public object must be in the public area, because not all readers can read the private area. If necessary, the
/// object is copied from the private area.
async fn in_remote(
    inner: &Arc<Inner>,
    area: Area,
    digest: Digest,
) -> Result<ObjectLocation, RemoteError> {
    let remote = &inner.remote;
    let is_in = |area| async move {
        let length = remote.length(&layout::object(area, &digest)).await?;
        Ok::<_, RemoteError>(length.is_some())
    };
    let exists = match area {
        // Everybody may read the public area, so a private object may be in it.
        Area::Private => is_in(Area::Private).await? || is_in(Area::Open).await?,
        Area::Open if is_in(Area::Open).await? => true,
        Area::Open if is_in(Area::Private).await? => {
            remote.copy_to_public(&digest).await?;
            true
        }
        Area::Open => false,
    };
    if !exists {
        return Ok(ObjectLocation::Missing);
    }
    inner.mark_present(area, digest);
    Ok(ObjectLocation::Remote)
}

/// Sends a bundle to the mirror, unless the mirror has an undamaged copy.
async fn bundle(inner: &Arc<Inner>, content: &Content, file: File) -> Result<(), RemoteError> {
    let replace = inner.is_damaged(&content.digest);
    let put = inner
        .remote
        .put_bundle(&content.digest, Arc::new(file), replace);
    put.await?;
    inner.mark_sent(content.digest);
    Ok(())
}

/// Writes a source record, unless the remote has the same record. If `file` is given and the mirror does not contain it,
/// sends the file to the mirror. The record then states what the mirror contains. A record whose signer is not trusted is replaced only on request, because other users may
/// trust the signer and not this machine.
async fn source(
    inner: &Arc<Inner>,
    name: &str,
    content: &Content,
    file: Option<File>,
) -> Result<SourceOutcome, RemoteError> {
    let before = match inner.checked_source(name).await? {
        Some(Err(rejected)) if rejected.is_about_signer() && !inner.replaces_all() => {
            return Ok(SourceOutcome::Rejected(rejected));
        }
        found => found.and_then(Result::ok),
    };
    let same = before
        .as_ref()
        .filter(|known| known.content.digest == content.digest);
    let mirrored = match file {
        Some(file) => bundle(inner, content, file).await.map(|()| true)?,
        None => inner.remote.has_bundle(content).await?,
    };
    let mut content = content.clone();
    if let Some(known) = same {
        // Keep known checksums. A machine that does not verify checksums does not compute all of them.
        content.md5 = content.md5.or_else(|| known.content.md5.clone());
        content.sha256 = content.sha256.or_else(|| known.content.sha256.clone());
        if known.content == content && known.mirrored == mirrored {
            return Ok(SourceOutcome::Recorded { mirrored });
        }
    }
    let put = inner.put_source(name, &content, mirrored, before.as_ref());
    put.await.map(|()| SourceOutcome::Recorded { mirrored })
}
