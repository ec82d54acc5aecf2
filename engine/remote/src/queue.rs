//! Results and bundles on their way to the remote.
//!
//! They go one after the other: objects first, then the entry that names them. Who offers does not wait; what does not fit
//! into the queue stays here, which is said.

use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use prep_cache::{Content, Digest, Offer, Store, StoreError};
use tokio::sync::mpsc::{Sender, channel};

use crate::error::RemoteError;
use crate::layout::Area;
use crate::link::{Inner, Link, held};
use crate::remote::{Known, Put};

/// A result is small: its objects stay in the store until they are sent.
const MOST: usize = 20_000;
/// Objects of a result on their way at once.
const SIDE_BY_SIDE: usize = 4;
/// Between two looks whether all is sent.
const GLANCE: Duration = Duration::from_millis(20);

/// Outputs of steps with these names are what everybody may see.
const PUBLIC: &str = "public/";

#[derive(Default)]
pub(crate) struct Queue {
    sender: OnceLock<Sender<Job>>,
    pending: AtomicUsize,
}

/// Something to be sent.
pub(crate) enum Job {
    Result {
        offer: Offer,
        store: Store,
    },
    Source {
        name: String,
        content: Content,
        /// The bundle, if it goes to the mirror. Open, so that it may be removed meanwhile.
        file: Option<File>,
    },
}

/// What became of something that was sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Sent {
    Put(Put),
    /// An object that it needs is not on this machine, and not there.
    Incomplete(Digest),
}

impl Link {
    /// Hands over something to be sent by and by.
    pub(crate) fn enqueue(&self, job: Job) {
        let inner = self.inner();
        if !inner.remote.takes() {
            inner.no_key();
            return;
        }
        if !inner.is_written() {
            return;
        }
        let sender = inner.queue.sender.get_or_init(|| start(inner));
        inner.queue.pending.fetch_add(1, Ordering::Relaxed);
        if sender.try_send(job).is_err() {
            inner.queue.pending.fetch_sub(1, Ordering::Relaxed);
            inner.dropped();
        }
    }

    /// How much is on its way.
    pub fn pending(&self) -> usize {
        self.inner().queue.pending.load(Ordering::Relaxed)
    }

    /// Waits until everything is sent, or cannot be, or `stop` says so.
    pub fn finish(&self, stop: impl Fn() -> bool) {
        while self.pending() > 0 && !stop() {
            std::thread::sleep(GLANCE);
        }
    }

    /// Sends a result now.
    ///
    /// # Errors
    /// When the remote does not take it.
    pub fn send(&self, offer: Offer, store: &Store) -> Result<Sent, RemoteError> {
        let (inner, store) = (self.inner().clone(), store.clone());
        self.inner()
            .wait(async move { result(&inner, &offer, &store).await })
    }

    /// Sends what is known of a source now, and its bytes if there is a `file`.
    ///
    /// # Errors
    /// When the remote does not take it.
    pub fn send_source(
        &self,
        name: &str,
        content: &Content,
        file: Option<File>,
    ) -> Result<(), RemoteError> {
        let (inner, name, content) = (self.inner().clone(), name.to_owned(), content.clone());
        self.inner()
            .wait(async move { source(&inner, &name, &content, file).await })
    }
}

fn start(inner: &Arc<Inner>) -> Sender<Job> {
    let (sender, mut receiver) = channel::<Job>(MOST);
    let link = Arc::downgrade(inner);
    inner.spawn(async move {
        while let Some(job) = receiver.recv().await {
            let Some(inner) = link.upgrade() else { return };
            if inner.is_written() {
                let sent = match job {
                    Job::Result { offer, store } => result(&inner, &offer, &store).await.map(drop),
                    Job::Source {
                        name,
                        content,
                        file,
                    } => source(&inner, &name, &content, file).await,
                };
                if let Err(error) = sent {
                    inner.trouble(&error, true);
                }
            }
            inner.queue.pending.fetch_sub(1, Ordering::Relaxed);
        }
    });
    sender
}

/// Objects first, the entry last.
async fn result(inner: &Arc<Inner>, offer: &Offer, store: &Store) -> Result<Sent, RemoteError> {
    let is_public = offer.step.starts_with(PUBLIC);
    let mut objects: Vec<Digest> = offer.entry.objects().copied().collect();
    objects.sort_unstable();
    objects.dedup();
    // What was made again with one that is damaged there may be damaged, too, without anybody having looked.
    let anew = objects.iter().any(|digest| inner.is_wrong(digest));
    let sent = stream::iter(objects)
        .map(|digest| async move {
            let area = match is_public && !offer.given.contains(&digest) {
                true => Area::Open,
                false => Area::Private,
            };
            match object(inner, area, digest, store, anew).await? {
                true => Ok(Ok(())),
                false => Ok(Err(digest)),
            }
        })
        .buffer_unordered(SIDE_BY_SIDE)
        .try_collect::<Vec<Result<(), Digest>>>()
        .await?;
    if let Some(Err(digest)) = sent.into_iter().find(Result::is_err) {
        return Ok(Sent::Incomplete(digest));
    }
    let put = inner.remote.put_entry(&offer.key, &offer.entry).await?;
    let Offer {
        competition, step, ..
    } = offer;
    match &put {
        Put::New | Put::Same => {}
        Put::Rejected(rejected) => inner.rejected("a result", rejected),
        Put::Different(theirs) => {
            let differs = offer.entry.outputs.iter().find(|(name, digest)| {
                theirs
                    .outputs
                    .get(*name)
                    .is_none_or(|other| other != *digest)
            });
            let (ours, other) = differs.map_or((String::new(), String::new()), |(name, ours)| {
                let other = theirs.outputs.get(name).map(Digest::short);
                (ours.short(), other.unwrap_or_default())
            });
            inner.other(format!(
                "`{competition}/{step}` is not deterministic: from the same inputs this machine made {ours}, the remote has {other}; please report it"
            ));
        }
    }
    Ok(Sent::Put(put))
}

/// Sees to it that an object is there; false if that is not possible.
async fn object(
    inner: &Arc<Inner>,
    area: Area,
    digest: Digest,
    store: &Store,
    anew: bool,
) -> Result<bool, RemoteError> {
    if !anew && held(&inner.there).contains(&digest) {
        return Ok(true);
    }
    let store = store.clone();
    let opened = tokio::task::spawn_blocking(move || {
        let object = store.open_object(&digest)?;
        let file = object.file().try_clone();
        file.map_err(|cause| StoreError::Io {
            action: "open",
            path: object.path().to_owned(),
            cause,
        })
    });
    let file = match opened.await {
        Ok(Ok(file)) => file,
        // What is there is known to be damaged.
        _ if inner.is_wrong(&digest) => return Ok(false),
        // It may have come from there.
        _ => {
            for area in Area::ALL {
                if inner.remote.object_length(area, &digest).await?.is_some() {
                    inner.set_there(digest);
                    return Ok(true);
                }
            }
            return Ok(false);
        }
    };
    let file = Arc::new(file);
    inner.remote.put_object(area, &digest, file, anew).await?;
    inner.set_sent(digest);
    Ok(true)
}

async fn source(
    inner: &Arc<Inner>,
    name: &str,
    content: &Content,
    file: Option<File>,
) -> Result<(), RemoteError> {
    let remote = &inner.remote;
    let known = match remote.source(name).await? {
        Some(Ok(known)) if known.content.digest == content.digest => Some(known),
        _ => None,
    };
    // What was found damaged there is replaced.
    let anew = inner.is_wrong(&content.digest);
    let is_mirrored = known.as_ref().is_some_and(|known| known.mirrored);
    let mirrored = match file {
        Some(file) if !is_mirrored || anew => {
            let file = Arc::new(file);
            remote.put_bundle(&content.digest, file, anew).await?;
            inner.set_sent(content.digest);
            true
        }
        _ => is_mirrored,
    };
    let new = Known {
        content: content.clone(),
        mirrored,
    };
    match known {
        Some(known) if known == new => Ok(()),
        _ => remote.put_source(name, &new).await,
    }
}
