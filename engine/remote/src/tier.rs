//! What the local store asks the remote, and hands to it.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use futures::StreamExt;
use prep_cache::{Digest, LedgerEntry, Offer, Store, Tier};

use crate::error::RemoteError;
use crate::link::Link;
use crate::queue::Job;

/// Pieces of an object between the network and the disk.
const PIECES: usize = 8;

/// A link as a tier of a store.
struct Below {
    link: Link,
    /// Without the tier.
    store: Store,
}

impl fmt::Debug for Below {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.link.fmt(f)
    }
}

impl Link {
    /// The store, which looks into the remote for what it does not have, and offers what is made.
    pub fn below(&self, store: &Store) -> Store {
        store.with_tier(Arc::new(Below {
            link: self.clone(),
            store: store.clone(),
        }))
    }
}

impl Tier for Below {
    fn entry(&self, key: &Digest) -> Option<LedgerEntry> {
        let inner = self.link.inner();
        let (remote, key) = (inner.remote.clone(), *key);
        match inner.ask(async move { remote.entry(&key).await })?? {
            Ok(entry) => Some(LedgerEntry {
                elsewhere: true,
                ..entry
            }),
            Err(rejected) => {
                inner.rejected("a result", &rejected);
                None
            }
        }
    }

    fn may_have(&self, object: &Digest) -> bool {
        self.link.inner().may_have(object)
    }

    fn fetch(&self, object: &Digest, to: &mut dyn Write) -> io::Result<bool> {
        let inner = self.link.inner();
        if !inner.is_read() {
            return Ok(false);
        }
        let (sender, mut receiver) = tokio::sync::mpsc::channel(PIECES);
        let (remote, digest) = (inner.remote.clone(), *object);
        inner.spawn(async move {
            let mut pieces = match remote.object(&digest).await {
                Ok(Some(pieces)) => pieces,
                Ok(None) => {
                    let _ = sender.send(Piece::Absent).await;
                    return;
                }
                Err(error) => {
                    let _ = sender.send(Piece::Failed(error)).await;
                    return;
                }
            };
            while let Some(piece) = pieces.next().await {
                let piece = piece.map_or_else(Piece::Failed, Piece::Bytes);
                let failed = matches!(piece, Piece::Failed(_));
                // A receiver that is gone wants no more.
                if sender.send(piece).await.is_err() || failed {
                    return;
                }
            }
            let _ = sender.send(Piece::End).await;
        });
        loop {
            // Works on threads of any runtime, as the channel's own blocking call does not.
            match futures::executor::block_on(receiver.recv()) {
                Some(Piece::Bytes(bytes)) => to.write_all(&bytes)?,
                Some(Piece::End) => return Ok(true),
                Some(Piece::Failed(error)) => {
                    inner.trouble(&error, false);
                    inner.set_absent(*object);
                    return Ok(false);
                }
                Some(Piece::Absent) | None => {
                    inner.not_there(*object);
                    return Ok(false);
                }
            }
        }
    }

    fn was_wrong(&self, object: &Digest) {
        self.link.inner().set_wrong(*object);
    }

    fn offer(&self, offer: Offer) {
        let store = self.store.clone();
        let offer = Box::new(offer);
        self.link.enqueue(Job::Result { offer, store });
    }
}

enum Piece {
    Bytes(bytes::Bytes),
    End,
    Absent,
    Failed(RemoteError),
}
