//! What a running step may use.

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
use crate::objects::{Held, Objects};
use crate::{Cancel, Claim, StepError};

/// Limits for everything that runs at the same time.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Steps that run side by side, and threads that work on one of them; all together they are hardly more.
    pub jobs: usize,
    /// Memory that all running steps may hold together, in bytes. A single step that needs more runs alone.
    pub memory: u64,
}

/// Where content lies that is not in the store.
#[derive(Clone)]
pub enum Location {
    /// A file, which may be gone by now.
    Path(PathBuf),
    /// Another machine.
    Ranges(Arc<dyn Ranges>),
}

/// Content on another machine, read where it lies. What it gives is verified.
pub trait Ranges: Send + Sync {
    /// Its length in bytes.
    fn bytes(&self) -> u64;

    /// Reads up to `buffer.len()` bytes from `offset` on; 0 at the end.
    ///
    /// # Errors
    /// With [`StoreError::Missing`](prep_cache::StoreError::Missing) inside when the content cannot be had.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize>;

    /// What is going to be read, in any order: neighbours then move together.
    fn expect(&self, ranges: Vec<std::ops::Range<u64>>);
}

/// Counters that a step raises while it works and that a reporter reads when it draws.
#[derive(Debug, Default)]
pub struct Progress {
    pub bytes: AtomicU64,
    pub files: AtomicU64,
    /// Bytes in all, 0 while unknown.
    pub total_bytes: AtomicU64,
}

impl Progress {
    pub fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn add_file(&self) {
        self.files.fetch_add(1, Ordering::Relaxed);
    }

    pub fn set_total_bytes(&self, bytes: u64) {
        self.total_bytes.store(bytes, Ordering::Relaxed);
    }
}

/// Threads beside those that steps begin on: for work that mostly waits (one writes while another one reads).
const HELPERS: usize = 4;

/// The part of the memory that opened objects may have while no step uses them.
const KEPT: u64 = 64;

/// The surroundings of a step. Cheap to clone; each running step has its own progress.
#[derive(Clone)]
pub struct Context {
    pub store: Store,
    pub cancel: Cancel,
    pub limits: Limits,
    pub progress: Arc<Progress>,
    /// All threads that may work, those of steps included. See also [`Context::spread`].
    pub threads: Threads,
    pub(crate) memory: Memory,
    /// Locks that steps rely on: the store is in use, so nothing is collected; what a sink looks after is locked.
    locks: Vec<Arc<LockGuard>>,
    /// Steps do not run: what they made is found, or the run fails.
    pub only_found: bool,
    locations: Arc<RwLock<HashMap<Digest, Location>>>,
    lost: Arc<RwLock<HashSet<Digest>>>,
    objects: Arc<Objects>,
    /// What this step holds.
    holding: Arc<Mutex<Vec<Arc<Held>>>>,
}

impl Context {
    pub fn new(store: Store, limits: Limits, cancel: Cancel) -> Context {
        let threads = Threads::new(limits.jobs.max(1) + HELPERS);
        Context {
            store: store.with_threads(threads.clone()),
            cancel,
            limits,
            progress: Arc::default(),
            threads,
            memory: Memory::new(limits.memory),
            locks: Vec::new(),
            only_found: false,
            locations: Arc::default(),
            lost: Arc::default(),
            objects: Arc::new(Objects::new(limits.memory / KEPT, None)),
            holding: Arc::default(),
        }
    }

    /// The same surroundings, where steps may hold results in memory that need not be stored, so many bytes of them.
    #[must_use]
    pub fn with_room_to_hold(self, bytes: u64) -> Context {
        let room_to_keep = self.limits.memory / KEPT;
        Context {
            objects: Arc::new(Objects::new(room_to_keep, Some(bytes))),
            ..self
        }
    }

    /// The same surroundings for one step, with counters of its own.
    pub(crate) fn of_step(
        &self,
        progress: Arc<Progress>,
        memory: Memory,
        lock: Option<Arc<LockGuard>>,
    ) -> Context {
        let threads = self.threads.counted();
        let locks = self.locks.iter().cloned().chain(lock);
        Context {
            store: self.store.with_threads(threads.clone()),
            progress,
            threads,
            memory,
            locks: locks.collect(),
            holding: Arc::default(),
            ..self.clone()
        }
    }

    /// The same surroundings for who writes what is going to be published: SHA-256 is computed meanwhile, instead of by
    /// reading the files once more.
    #[must_use]
    pub fn with_sums(&self) -> Context {
        Context {
            store: self.store.with_sums(),
            ..self.clone()
        }
    }

    /// Claims `bytes` more memory without waiting. Returns `None` if they are not free; the step then continues with its
    /// initial claim.
    pub fn try_claim(&self, bytes: u64) -> Option<Claim> {
        self.memory.try_claim(bytes)
    }

    /// Room for a result that is held in memory, in bytes, if there is some.
    pub fn try_claim_to_hold(&self, bytes: u64) -> Option<Claim> {
        self.objects.try_claim_to_hold(bytes)
    }

    /// Holds a result of this step, which is not in the store, for the steps that come next: `opened` is what
    /// [`held`](Context::held) gives them, and `claim` the room that it takes.
    pub fn hold<T: Any + Send + Sync>(&self, object: Stored, opened: Arc<T>, claim: Claim) {
        let held = self.objects.hold(object, opened, claim);
        self.holding.lock().push(held);
    }

    /// An object that is held in memory.
    pub fn held<T: Any + Send + Sync>(&self, object: &Digest) -> Option<Arc<T>> {
        self.objects.held(object)
    }

    pub(crate) fn is_held(&self, object: &Digest) -> bool {
        self.objects.held_len(object).is_some()
    }

    /// What this step holds.
    pub(crate) fn take_holding(&self) -> Vec<Arc<Held>> {
        std::mem::take(&mut *self.holding.lock())
    }

    /// Length of an object that is held or stored.
    pub(crate) fn len_of(&self, object: &Digest) -> Option<u64> {
        self.objects
            .held_len(object)
            .or_else(|| self.store.len_of(object))
    }

    /// The objects of an entry that are not there: in the store, or at least held where the entry calls them unstored. Who
    /// once stored one may have given it to others who look into the store alone.
    pub(crate) fn missing(&self, entry: &LedgerEntry) -> Vec<Digest> {
        let mut missing = self.store.missing(entry);
        missing.retain(|object| !(entry.unstored.contains(object) && self.is_held(object)));
        missing
    }

    /// Remembers where content lies that is not in the store (a bundle).
    pub fn set_location(&self, content: Digest, path: PathBuf) {
        let location = Location::Path(path);
        self.locations.write().insert(content, location);
    }

    /// Remembers how to read content that lies on another machine.
    pub fn set_ranges(&self, content: Digest, ranges: Arc<dyn Ranges>) {
        let location = Location::Ranges(ranges);
        self.locations.write().insert(content, location);
    }

    /// Where content lies that is not in the store.
    pub fn location(&self, content: &Digest) -> Option<Location> {
        self.locations.read().get(content).cloned()
    }

    /// Notes that this content was needed and is not there.
    pub(crate) fn set_lost(&self, content: Digest) {
        self.lost.write().insert(content);
    }

    /// Whether a step needed this content and did not find it. A source that knew its content without having it has to
    /// bring it then.
    pub fn is_lost(&self, content: &Digest) -> bool {
        self.lost.read().contains(content)
    }

    /// What `open` makes of a stored object, shared by the steps that use it at the same time.
    pub fn shared<T: Any + Send + Sync>(
        &self,
        object: &Digest,
        open: impl FnOnce() -> Result<T, StepError>,
    ) -> Result<Arc<T>, StepError> {
        self.objects.shared(object, open)
    }

    /// The same, kept for the steps that come next while there is room for the `bytes` of memory that it has: opening a
    /// large table means going through all of it.
    pub fn kept<T: Any + Send + Sync>(
        &self,
        object: &Digest,
        open: impl FnOnce() -> Result<T, StepError>,
        bytes: impl FnOnce(&T) -> u64,
    ) -> Result<Arc<T>, StepError> {
        let opened = self.objects.shared(object, open)?;
        self.objects.keep(opened.clone(), bytes(&opened));
        Ok(opened)
    }

    /// The same surroundings, whose steps end when this lock is lost.
    #[must_use]
    pub fn with_lock(mut self, lock: LockGuard) -> Context {
        self.locks.push(Arc::new(lock));
        self
    }

    /// An error as soon as the run is cancelled, or as another process took over a lock that steps rely on.
    pub fn check(&self) -> Result<(), StepError> {
        self.cancel.check()?;
        self.check_locks()
    }

    pub(crate) fn check_locks(&self) -> Result<(), StepError> {
        let mut locks = self.locks.iter();
        Ok(locks.try_for_each(|lock| lock.check())?)
    }

    /// A file without a name on the store's file system, which is gone when it is closed.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn temp_file(&self) -> io::Result<File> {
        tempfile::tempfile_in(self.temp_dir())
    }

    /// A folder for temporary files on the store's file system.
    pub fn temp_dir(&self) -> PathBuf {
        self.store.temp_dir()
    }
}
