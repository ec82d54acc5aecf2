//! Sends files to a remote, and defines the queue of uploads.
//!
//! A full queue rejects a job instead of blocking the caller, and the caller reports the rejection. A job contains the
//! names of objects, not their bytes. But the job of a single result may contain a million names. Therefore the memory of
//! the queue is limited, and not the number of jobs.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::TryFutureExt;
use object_store::{ObjectStoreExt, WriteMultipart};
use parking_lot::{Condvar, Mutex};
use prep_cache::{Content, Digest, Offer, Store};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;

use crate::error::RemoteError;
use crate::hashes::{Hashing, list_bytes, regions};
use crate::layout;
use crate::remote::Remote;

/// A file with more bytes than this is sent in parts. Each part has at least this number of bytes.
const PART_BYTES: u64 = 8 << 20;
/// A file is sent in at most this number of parts. Object stores allow slightly more.
const MAX_PARTS: u64 = 9_000;
const PARTS_IN_FLIGHT: usize = 4;
const MAX_ABORT_TIME: Duration = Duration::from_secs(1);

impl Remote {
    /// Sends the list of a bundle's hashes, and then the bundle. If `replace` is false, skips a file that the remote has.
    pub async fn put_bundle(
        &self,
        digest: &Digest,
        file: Arc<File>,
        replace: bool,
    ) -> Result<(), RemoteError> {
        self.put_hashes(digest, &file, replace).await?;
        let name = layout::bundle(digest);
        self.put_file(&name, digest, file, replace).await
    }

    async fn put_hashes(
        &self,
        digest: &Digest,
        file: &Arc<File>,
        replace: bool,
    ) -> Result<(), RemoteError> {
        let bytes = self.length_of(digest, file)?;
        let name = layout::hashes(digest);
        let length = list_bytes(bytes);
        if !replace && self.length(&name).await? == Some(length) {
            return Ok(());
        }
        let mut upload = self.start(&name, length).await?;
        let made = self.write_hashes(&mut upload, digest, file, bytes);
        let made = self.unless_stopped(made).await;
        self.end(upload, made).await
    }

    async fn write_hashes(
        &self,
        upload: &mut WriteMultipart,
        digest: &Digest,
        file: &Arc<File>,
        bytes: u64,
    ) -> Result<(), RemoteError> {
        let mut hashing = Hashing::new(file.clone(), bytes);
        for _ in 0..regions(bytes) {
            let work = tokio::task::spawn_blocking(move || {
                let list = hashing.next();
                list.map(|list| (hashing, list))
            });
            let Ok(Ok((rest, list))) = work.await else {
                return Err(self.unreadable(digest));
            };
            hashing = rest;
            let room = upload.wait_for_capacity(PARTS_IN_FLIGHT).await;
            room.map_err(|error| self.write_error(&error))?;
            upload.write(&list);
        }
        let (list, root) = hashing.finish();
        upload.write(&list);
        match root == *digest {
            true => Ok(()),
            false => Err(self.unreadable(digest)),
        }
    }

    /// Sends a file, and computes its digest at the same time. If the digest differs from `digest`, returns an error, and the
    /// file in the remote never gets its final name.
    ///
    /// If `replace` is false and the remote has a file with this name and length, nothing is sent.
    pub async fn put_file(
        &self,
        name: &str,
        digest: &Digest,
        file: Arc<File>,
        replace: bool,
    ) -> Result<(), RemoteError> {
        if self.read_only {
            let remote = self.context.remote.clone();
            return Err(RemoteError::ReadOnly { remote });
        }
        let bytes = self.length_of(digest, &file)?;
        if !replace && self.length(name).await? == Some(bytes) {
            self.skip(bytes);
            return Ok(());
        }
        if bytes <= PART_BYTES {
            let content = self.read(&file, digest, 0..bytes).await?;
            if Digest::of_bytes(&content) != *digest {
                return Err(self.unreadable(digest));
            }
            let path = self.path(name);
            let put = self.store.put(&path, content.into());
            let put = put.map_err(|error| self.write_error(&error));
            self.unless_stopped(put).await?;
            self.sent.fetch_add(bytes, Ordering::Relaxed);
        } else {
            let mut upload = self.start(name, bytes).await?;
            let mut counted = 0;
            let sent = self.write_parts(&mut upload, digest, &file, bytes, &mut counted);
            let sent = self.unless_stopped(sent).await;
            self.end(upload, sent).await?;
            self.sent.fetch_add(bytes - counted, Ordering::Relaxed);
        }
        Ok(())
    }

    async fn start(&self, name: &str, bytes: u64) -> Result<WriteMultipart, RemoteError> {
        let path = self.path(name);
        let upload = self.store.put_multipart(&path);
        let upload = upload.map_err(|error| self.write_error(&error));
        let upload = self.unless_stopped(upload).await?;
        Ok(WriteMultipart::new_with_chunk_size(upload, part_of(bytes)))
    }

    async fn write_parts(
        &self,
        upload: &mut WriteMultipart,
        digest: &Digest,
        file: &Arc<File>,
        bytes: u64,
        counted: &mut u64,
    ) -> Result<(), RemoteError> {
        let part = part_of(bytes) as u64;
        let mut hasher = blake3::Hasher::new();
        let mut at = 0;
        while at < bytes {
            let range = at..(at + part).min(bytes);
            at = range.end;
            let begin = range.start;
            let content = self.read(file, digest, range).await?;
            hasher.update(&content);
            let room = upload.wait_for_capacity(PARTS_IN_FLIGHT).await;
            room.map_err(|error| self.write_error(&error))?;
            // The other parts are still in flight.
            let arrived = begin.saturating_sub((PARTS_IN_FLIGHT as u64 - 1) * part);
            self.sent.fetch_add(arrived - *counted, Ordering::Relaxed);
            *counted = arrived;
            upload.put(content.into());
        }
        match Digest::from(hasher.finalize()) == *digest {
            true => Ok(()),
            false => Err(self.unreadable(digest)),
        }
    }

    async fn end(
        &self,
        upload: WriteMultipart,
        sent: Result<(), RemoteError>,
    ) -> Result<(), RemoteError> {
        match sent {
            Ok(()) => {
                let finished = upload.finish();
                let finished = finished.map_err(|error| self.write_error(&error));
                self.unless_stopped(finished).await.map(drop)
            }
            Err(error) => {
                // Parts of an incomplete upload are not visible. If they cannot be removed, the store removes them eventually.
                let _ = timeout(MAX_ABORT_TIME, upload.abort()).await;
                Err(error)
            }
        }
    }

    fn length_of(&self, digest: &Digest, file: &File) -> Result<u64, RemoteError> {
        let found = file.metadata().map_err(|_| self.unreadable(digest))?;
        Ok(found.len())
    }

    async fn read(
        &self,
        file: &Arc<File>,
        digest: &Digest,
        range: std::ops::Range<u64>,
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
        let object = digest.short();
        let cause = format!(
            "the object {object} on this machine cannot be read or has changed, so it was not sent"
        );
        RemoteError::failed(&self.context.remote, cause)
    }
}

/// Returns the size in bytes of each part of a file with `bytes` bytes.
fn part_of(bytes: u64) -> usize {
    let part = PART_BYTES.max(bytes.div_ceil(MAX_PARTS).next_multiple_of(1 << 20));
    usize::try_from(part).unwrap_or(usize::MAX)
}

/// Waiting jobs may need at most this number of bytes of memory. An empty queue accepts even a larger job.
const MAX_QUEUED_BYTES: u64 = 128 << 20;
/// Estimated memory in bytes of a name, a number or a short text, including the allocator's overhead.
const ENTRY_BYTES: u64 = 64;
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) sender: OnceLock<UnboundedSender<(Job, u64)>>,
    pending: Mutex<Pending>,
    released: Condvar,
}

#[derive(Default)]
struct Pending {
    jobs: usize,
    bytes: u64,
}

impl Queue {
    /// Reserves memory for a job. Returns `false` if the queue is full.
    pub(crate) fn reserve(&self, bytes: u64) -> bool {
        let mut pending = self.pending.lock();
        let sum = pending.bytes.saturating_add(bytes);
        if pending.bytes > 0 && sum > MAX_QUEUED_BYTES {
            return false;
        }
        pending.bytes = sum;
        pending.jobs += 1;
        true
    }

    pub(crate) fn release(&self, bytes: u64) {
        let mut pending = self.pending.lock();
        pending.bytes -= bytes;
        pending.jobs -= 1;
        self.released.notify_all();
    }

    /// Waits until there are no jobs, or until `stop` returns true. Returns whether there are no jobs.
    pub(crate) fn wait(&self, stop: impl Fn() -> bool) -> bool {
        let mut pending = self.pending.lock();
        while pending.jobs > 0 && !stop() {
            self.released.wait_for(&mut pending, STOP_CHECK_INTERVAL);
        }
        pending.jobs == 0
    }
}

pub(crate) enum Job {
    Result {
        offer: Box<Offer>,
        store: Store,
    },
    /// A bundle for the mirror. `file` is open, so other processes may delete the bundle before it is sent.
    Bundle {
        content: Content,
        file: File,
    },
    Source {
        name: String,
        content: Content,
    },
}

impl Job {
    /// Estimates the job's memory in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Job::Result { offer, .. } => {
                let digests = offer.entry.references.len() + offer.given.len();
                let names = offer.entry.outputs.keys();
                let names: u64 = names.map(|name| ENTRY_BYTES + name.len() as u64).sum();
                ENTRY_BYTES
                    + digests as u64 * size_of::<Digest>() as u64
                    + names
                    + weight(&offer.entry.record)
            }
            Job::Bundle { .. } => ENTRY_BYTES,
            Job::Source { name, .. } => ENTRY_BYTES + name.len() as u64,
        }
    }
}

fn weight(value: &Value) -> u64 {
    ENTRY_BYTES
        + match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => text.len() as u64,
            Value::Array(values) => values.iter().map(weight).sum(),
            Value::Object(values) => {
                let each = values
                    .iter()
                    .map(|(key, value)| key.len() as u64 + weight(value));
                each.sum()
            }
        }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use prep_cache::LedgerEntry;

    use super::*;

    fn job(files: usize, record: Value, store: &Store) -> Job {
        let digest = Digest::of_bytes(b"a");
        let entry = LedgerEntry {
            record,
            outputs: BTreeMap::from([("tree".to_owned(), digest)]),
            references: vec![digest; files],
            ..LedgerEntry::default()
        };
        let offer = Offer {
            key: digest,
            entry,
            competition: String::new(),
            step: String::new(),
            given: Vec::new(),
        };
        let store = store.clone();
        Job::Result {
            offer: Box::new(offer),
            store,
        }
    }

    #[test]
    fn the_queue_is_limited_by_the_size_of_its_jobs() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("store")).unwrap();
        for (files, record, at_least, at_most) in [
            (0, Value::Null, 200_000, 2_000_000),
            (0, Value::from("x".repeat(1_000_000)), 100, 140),
            (0, Value::from(vec![1; 10_000]), 100, 1_000),
            (1_000_000, Value::Null, 3, 5),
            // This job exceeds the limit of the queue, so it is accepted only if the queue is empty.
            (10_000_000, Value::Null, 1, 1),
        ] {
            let bytes = job(files, record, &store).bytes();
            let queue = Queue::default();
            let mut count = 0;
            while count <= at_most && queue.reserve(bytes) {
                count += 1;
            }
            assert!((at_least..=at_most).contains(&count), "{files}: {count}");
            assert_eq!(queue.pending.lock().jobs, count);
            queue.release(bytes);
            assert!(queue.reserve(bytes), "{files}");
        }
    }
}
