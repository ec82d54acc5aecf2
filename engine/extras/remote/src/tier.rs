//! The remote as the second level of the local cache.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use futures::StreamExt;
use parking_lot::Mutex;
use prep_cache::{Digest, LedgerEntry, Offer, Store, Tier};
use tokio::sync::mpsc::Sender;

use crate::error::RemoteError;
use crate::link::Link;
use crate::queue::Job;
use crate::remote::Remote;

/// Maximum number of chunks of an object that are buffered between the network and the disk.
const MAX_QUEUED_CHUNKS: usize = 8;

/// Maximum number of remembered lengths. They need about 60 MB. Objects whose length was dropped are treated like
/// objects of entries without lengths.
const MAX_LENGTHS: usize = 1 << 20;

/// A link as the second level of a cache.
struct LinkTier {
    link: Link,
    /// The local cache without the second level.
    store: Store,
    /// Lengths of objects that are not on this machine, from trusted entries.
    expected: Mutex<HashMap<Digest, u64>>,
}

impl LinkTier {
    fn limit(&self, object: &Digest) -> LengthLimit {
        match self.expected.lock().get(object) {
            Some(length) => LengthLimit::Exactly(*length),
            None => LengthLimit::FreeSpace(self.store.free_space()),
        }
    }
}

impl fmt::Debug for LinkTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.link.fmt(f)
    }
}

impl Link {
    /// Returns the cache with the remote as its second level. It fetches results that are missing locally, and sends
    /// new ones.
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
        let limit = self.limit(object);
        inner.spawn(async move {
            // If the receiver was dropped, it does not need the remaining bytes.
            let _ = sender
                .send(receive(&remote, &digest, limit, &sender).await)
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
                    inner.report_other(format!(
                        "the object {} in the remote {} is too large ({}) for the free disk space; it is not fetched",
                        object.short(),
                        inner.remote.name(),
                        prep_core::units::bytes(length)
                    ));
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

/// The limit on the number of bytes that are fetched of an object.
#[derive(Clone, Copy)]
enum LengthLimit {
    /// The exact length of the object, from a trusted entry.
    Exactly(u64),
    /// The entry contains no lengths. The announced length must not exceed the free space, if that is known.
    FreeSpace(Option<u64>),
}

/// Fetches an object, at most `limit` bytes. Returns the message about its end.
async fn receive(
    remote: &Arc<Remote>,
    digest: &Digest,
    limit: LengthLimit,
    sender: &Sender<Chunk>,
) -> Chunk {
    let (length, mut pieces) = match remote.object(digest).await {
        Ok(Some(found)) => found,
        Ok(None) => return Chunk::Absent,
        Err(error) => return Chunk::Failed(error),
    };
    match limit {
        LengthLimit::Exactly(expected) if expected != length => return Chunk::WrongLength,
        LengthLimit::FreeSpace(Some(free)) if length > free => return Chunk::NoRoom(length),
        LengthLimit::Exactly(_) | LengthLimit::FreeSpace(_) => {}
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
