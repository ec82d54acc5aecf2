//! The services that a running step may use: store, memory, threads, cancellation.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use prep_cache::{Digest, LedgerEntry, LockGuard, Store, Stored, Threads};

use crate::memory::Memory;
use crate::objects::{MemoryResult, ObjectCache};
use crate::{Cancel, Claim, StepError};

/// Limits on everything that runs at the same time.
#[derive(Debug, Clone, Copy)]
pub struct RunLimits {
    /// Number of steps that run concurrently, and of threads that work on one step. The total number of threads is
    /// hardly larger.
    pub jobs: usize,
    /// Total memory of all running steps in bytes. A single step that needs more runs alone.
    pub memory: u64,
}

/// Location of content that is not in the store.
#[derive(Clone)]
pub enum Location {
    /// A file. It may not exist any more.
    Path(PathBuf),
    /// Another machine.
    Ranges(Arc<dyn Ranges>),
}

/// Content on another machine, read in place. Its bytes are verified.
pub trait Ranges: Send + Sync {
    /// Returns the length in bytes.
    fn bytes(&self) -> u64;

    /// Reads up to `buffer.len()` bytes at `offset`. Returns 0 at the end.
    ///
    /// # Errors
    /// With [`StoreError::Missing`](prep_cache::StoreError::Missing) inside if the content is not available.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize>;

    /// Announces ranges that will be read, in any order, so that adjacent ones can be fetched together.
    fn expect(&self, ranges: Vec<std::ops::Range<u64>>);
}

/// Counters that a step increases while it works and that a reporter reads when it draws.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes processed so far.
    pub bytes: AtomicU64,
    /// Files processed so far.
    pub files: AtomicU64,
    /// Total number of bytes, 0 while unknown.
    pub total_bytes: AtomicU64,
}

impl Progress {
    /// Adds processed bytes.
    pub fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Adds one processed file.
    pub fn add_file(&self) {
        self.files.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets the total number of bytes.
    pub fn set_total_bytes(&self, bytes: u64) {
        self.total_bytes.store(bytes, Ordering::Relaxed);
    }
}

/// Threads in addition to one per step, for work that mostly waits, for example writing while another thread reads.
const HELPER_THREADS: usize = 4;

/// Divisor of the memory limit: unused opened objects may take this fraction of the memory.
const KEPT_MEMORY_DIVISOR: u64 = 64;

/// The services that a step uses. Cheap to clone; each running step has counters of its own.
#[derive(Clone)]
pub struct Context {
    /// The store of objects and results.
    pub store: Store,
    /// The cancellation flag of the run.
    pub cancel: Cancel,
    /// Limits on everything that runs at the same time.
    pub limits: RunLimits,
    /// Progress counters of this step.
    pub progress: Arc<Progress>,
    /// The budget of all threads, including those of steps. See also [`Context::map_parallel`].
    pub threads: Threads,
    pub(crate) memory: Memory,
    /// Locks that steps rely on: one prevents garbage collection, and a sink has one on its target.
    locks: Vec<Arc<LockGuard>>,
    /// Steps do not run. If a result is not found, the run fails.
    pub no_execute: bool,
    locations: Arc<RwLock<HashMap<Digest, Location>>>,
    lost: Arc<RwLock<HashSet<Digest>>>,
    objects: Arc<ObjectCache>,
    /// Results that this step keeps in memory.
    memory_results: Arc<Mutex<Vec<Arc<MemoryResult>>>>,
}

impl Context {
    /// Creates the context of a run.
    pub fn new(store: Store, limits: RunLimits, cancel: Cancel) -> Context {
        let threads = Threads::new(limits.jobs.max(1) + HELPER_THREADS);
        Context {
            store: store.with_threads(threads.clone()),
            cancel,
            limits,
            progress: Arc::default(),
            threads,
            memory: Memory::new(limits.memory),
            locks: Vec::new(),
            no_execute: false,
            locations: Arc::default(),
            lost: Arc::default(),
            objects: Arc::new(ObjectCache::new(limits.memory / KEPT_MEMORY_DIVISOR, None)),
            memory_results: Arc::default(),
        }
    }

    /// Returns the same context, but steps may keep up to `bytes` bytes of results in memory instead of storing them.
    #[must_use]
    pub fn with_memory_results(self, bytes: u64) -> Context {
        let room_to_keep = self.limits.memory / KEPT_MEMORY_DIVISOR;
        Context {
            objects: Arc::new(ObjectCache::new(room_to_keep, Some(bytes))),
            ..self
        }
    }

    /// Returns the context of one step, with counters of its own.
    pub(crate) fn for_step(
        &self,
        progress: Arc<Progress>,
        memory: Memory,
        lock: Option<Arc<LockGuard>>,
    ) -> Context {
        let threads = self.threads.with_own_counter();
        let locks = self.locks.iter().cloned().chain(lock);
        Context {
            store: self.store.with_threads(threads.clone()),
            progress,
            threads,
            memory,
            locks: locks.collect(),
            memory_results: Arc::default(),
            ..self.clone()
        }
    }

    /// Returns the same context for a step that writes files to publish. Its writers also compute SHA-256, so that the
    /// files need not be read again.
    #[must_use]
    pub fn with_sha256(&self) -> Context {
        Context {
            store: self.store.with_sha256(),
            ..self.clone()
        }
    }

    /// Claims `bytes` more memory without waiting. Returns `None` if they are not free; the step then continues with
    /// its initial claim.
    pub fn try_claim(&self, bytes: u64) -> Option<Claim> {
        self.memory.try_claim(bytes)
    }

    /// Claims `bytes` bytes for a result that stays in memory. Returns `None` if there is no room.
    pub fn try_claim_for_result(&self, bytes: u64) -> Option<Claim> {
        self.objects.try_claim_for_result(bytes)
    }

    /// Keeps a result of this step in memory, instead of storing it, for the steps that use it. [`cached_object`](Context::cached_object)
    /// returns `opened` to them. `claim` is the memory that it takes.
    pub fn hold<T: Any + Send + Sync>(&self, object: Stored, opened: Arc<T>, claim: Claim) {
        let held = self.objects.hold(object, opened, claim);
        self.memory_results.lock().push(held);
    }

    /// Returns an object that is kept in memory.
    pub fn cached_object<T: Any + Send + Sync>(&self, object: &Digest) -> Option<Arc<T>> {
        self.objects.get(object)
    }

    /// Whether an object is kept in memory instead of being stored.
    pub fn is_in_memory(&self, object: &Digest) -> bool {
        self.objects.memory_len(object).is_some()
    }

    /// Takes the results that this step keeps in memory.
    pub(crate) fn take_memory_results(&self) -> Vec<Arc<MemoryResult>> {
        std::mem::take(&mut *self.memory_results.lock())
    }

    /// Returns the length of an object that is in memory or in the store.
    pub(crate) fn len_of(&self, object: &Digest) -> Option<u64> {
        self.objects
            .memory_len(object)
            .or_else(|| self.store.len_of(object))
    }

    /// Returns the objects of an entry that are not available. An object in memory is available only if the entry lists
    /// it as unstored. A stored one may have been passed to code that reads the store only.
    pub(crate) fn missing(&self, entry: &LedgerEntry) -> Vec<Digest> {
        let mut missing = self.store.missing(entry);
        missing.retain(|object| !(entry.unstored.contains(object) && self.is_in_memory(object)));
        missing
    }

    /// Registers the location of content that is not in the store, such as a bundle.
    pub fn set_location(&self, content: Digest, path: PathBuf) {
        let location = Location::Path(path);
        self.locations.write().insert(content, location);
    }

    /// Registers how to read content that is on another machine.
    pub fn set_ranges(&self, content: Digest, ranges: Arc<dyn Ranges>) {
        let location = Location::Ranges(ranges);
        self.locations.write().insert(content, location);
    }

    /// Returns the location of content that is not in the store.
    pub fn location(&self, content: &Digest) -> Option<Location> {
        self.locations.read().get(content).cloned()
    }

    /// Records that this content was needed and does not exist.
    pub(crate) fn record_lost(&self, content: Digest) {
        self.lost.write().insert(content);
    }

    /// Whether a step needed this content and did not find it. A source that only knew the content's digest then has to
    /// fetch it.
    pub fn is_lost(&self, content: &Digest) -> bool {
        self.lost.read().contains(content)
    }

    /// Returns the result of `open` for a stored object. Steps that use it at the same time share one result.
    pub fn shared<T: Any + Send + Sync>(
        &self,
        object: &Digest,
        open: impl FnOnce() -> Result<T, StepError>,
    ) -> Result<Arc<T>, StepError> {
        self.objects.shared(object, open)
    }

    /// Like [`shared`](Self::shared), but keeps the result for later steps while there is room for its `bytes`. For
    /// objects that are expensive to open, because opening a large table reads all of it.
    pub fn shared_for_run<T: Any + Send + Sync>(
        &self,
        object: &Digest,
        open: impl FnOnce() -> Result<T, StepError>,
        bytes: impl FnOnce(&T) -> u64,
    ) -> Result<Arc<T>, StepError> {
        let opened = self.objects.shared(object, open)?;
        self.objects.keep(opened.clone(), bytes(&opened));
        Ok(opened)
    }

    /// Returns the same context, whose steps end with an error if this lock is lost.
    #[must_use]
    pub fn with_lock(mut self, lock: LockGuard) -> Context {
        self.locks.push(Arc::new(lock));
        self
    }

    /// Returns an error if the run was cancelled, or if another process took over a lock that steps rely on.
    pub fn check(&self) -> Result<(), StepError> {
        self.cancel.check()?;
        self.check_locks()
    }

    pub(crate) fn check_locks(&self) -> Result<(), StepError> {
        let mut locks = self.locks.iter();
        Ok(locks.try_for_each(|lock| lock.check())?)
    }

    /// Creates an unnamed file on the store's file system. It is deleted when it is closed.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn temp_file(&self) -> io::Result<File> {
        tempfile::tempfile_in(self.temp_dir())
    }

    /// Returns the directory for temporary files on the store's file system.
    pub fn temp_dir(&self) -> PathBuf {
        self.store.temp_dir()
    }
}
