//! The remote as the second level of the local store.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use prep_cache::{Digest, LedgerEntry, Offer, Store, Tier};
use tokio::sync::mpsc::Sender;

use crate::error::RemoteError;
use crate::link::{Link, lock};
use crate::queue::Job;
use crate::remote::Remote;

/// Chunks of an object that are buffered between network and disk.
const MAX_QUEUED_CHUNKS: usize = 8;

/// Maximum number of remembered lengths, about 60 MB. Objects whose length was dropped are treated like those of
/// entries without lengths.
const MAX_LENGTHS: usize = 1 << 20;

/// A link as the tier of a store.
struct LinkTier {
    link: Link,
    /// The store without the tier.
    store: Store,
    /// Lengths of objects that are not on this machine, from trusted entries.
    expected: Mutex<HashMap<Digest, u64>>,
}

impl LinkTier {
    fn limit(&self, object: &Digest) -> LengthLimit {
        match lock(&self.expected).get(object) {
            Some(length) => LengthLimit::Exactly(*length),
            None => LengthLimit::Room(self.store.free_space()),
        }
    }
}

impl fmt::Debug for LinkTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.link.fmt(f)
    }
}

impl Link {
    /// Returns the store with the remote as its second level: it fetches results that it does not have, and offers new
    /// ones.
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
        let mut expected = lock(&self.expected);
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
            // A dropped receiver does not need the rest.
            let _ = sender
                .send(receive(&remote, &digest, limit, &sender).await)
                .await;
        });
        loop {
            // Works on threads of any runtime, unlike the channel's own blocking call.
            match futures::executor::block_on(receiver.recv()) {
                Some(Chunk::Bytes(bytes)) => to.write_all(&bytes)?,
                Some(Chunk::End) => return Ok(true),
                Some(Chunk::Failed(error)) => {
                    inner.report_error(&error, false);
                    inner.mark_absent(*object);
                    return Ok(false);
                }
                Some(Chunk::OtherLength) => {
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

/// Messages while an object is being fetched.
enum Chunk {
    Bytes(bytes::Bytes),
    End,
    Absent,
    /// The length of the object differs from that in its entry.
    OtherLength,
    /// The object is longer than the free disk space.
    NoRoom(u64),
    Failed(RemoteError),
}

/// Limit on the bytes that are fetched of an object.
#[derive(Clone, Copy)]
enum LengthLimit {
    /// The exact length, from a trusted entry.
    Exactly(u64),
    /// The entry has no lengths. The announced length must fit into the free space, if known.
    Room(Option<u64>),
}

/// Fetches an object, at most `limit` bytes. Returns how that ended.
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
        LengthLimit::Exactly(expected) if expected != length => return Chunk::OtherLength,
        LengthLimit::Room(Some(free)) if length > free => return Chunk::NoRoom(length),
        LengthLimit::Exactly(_) | LengthLimit::Room(_) => {}
    }
    let mut left = length;
    while let Some(piece) = pieces.next().await {
        let bytes = match piece {
            Ok(bytes) => bytes,
            Err(error) => return Chunk::Failed(error),
        };
        // The server may send more than it announced.
        let Some(rest) = left.checked_sub(bytes.len() as u64) else {
            return Chunk::OtherLength;
        };
        left = rest;
        if sender.send(Chunk::Bytes(bytes)).await.is_err() {
            return Chunk::End;
        }
    }
    Chunk::End
}
