//! The queue of results and bundles to send to the remote.
//!
//! Callers never wait: a result that does not fit into the queue is not sent, which is reported. The queue contains
//! names instead of objects, which stay in the cache until they are sent. A result may name a million files, so the
//! limit of the queue is a number of bytes instead of a number of results.

use std::fs::File;
use std::sync::OnceLock;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use prep_cache::{Content, Digest, Offer, Store};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

/// Maximum memory of waiting jobs in bytes. A single job that is larger is accepted if the queue is empty.
const MAX_QUEUED_BYTES: u64 = 128 << 20;
/// Estimated memory in bytes of a name, a number or a short text, including the allocator's overhead.
const ENTRY_BYTES: u64 = 64;
/// Interval at which a thread that waits for the queue checks whether it should stop.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) sender: OnceLock<UnboundedSender<(Job, u64)>>,
    pending: Mutex<Pending>,
    released: Condvar,
}

/// The jobs in the queue, including the job that is being sent.
#[derive(Default)]
struct Pending {
    jobs: usize,
    /// Memory of all jobs in bytes.
    bytes: u64,
}

impl Queue {
    /// Reserves `bytes` bytes. Returns `false` if the queue is full.
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

    /// Waits until there are no jobs, or until `stop` returns true.
    pub(crate) fn wait(&self, stop: impl Fn() -> bool) {
        let mut pending = self.pending.lock();
        while pending.jobs > 0 && !stop() {
            self.released.wait_for(&mut pending, STOP_CHECK_INTERVAL);
        }
    }
}

/// A job of the queue.
pub(crate) enum Job {
    Result {
        offer: Box<Offer>,
        store: Store,
    },
    /// A bundle for the mirror. The file is open, so it may be deleted before it is sent.
    Bundle {
        content: Content,
        file: File,
    },
    /// The content of a source from which results were computed.
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

/// Estimates the memory of a record in bytes.
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
    use super::*;
    use prep_cache::LedgerEntry;
    use std::collections::BTreeMap;

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
            // Jobs that were sent free their space in the queue.
            queue.release(bytes);
            assert!(queue.reserve(bytes), "{files}");
        }
    }
}
