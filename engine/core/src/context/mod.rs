//! The services that a running step may use: cache, memory, threads, cancellation.

pub(crate) mod memory;
pub(crate) mod objects;

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::Builder;
use std::time::Duration;

use objects::OutsideContent;
use parking_lot::Mutex;
use prep_cache::{Digest, LockGuard, Permit, StepResult, Store, Threads};

use crate::context::memory::{Memory, StepClaim};
use crate::context::objects::OpenObjects;
use crate::{Claim, StepError};

/// Limits of a run, for all its steps together.
#[derive(Debug, Clone, Copy)]
pub struct RunLimits {
    /// Maximum number of concurrent steps, and of threads per step. All steps together use at most four threads more than
    /// this number.
    pub jobs: usize,
    /// Memory of all running steps in bytes. A step that needs more runs alone.
    pub memory: u64,
}

/// Number of threads in the budget in addition to [`RunLimits::jobs`]. These additional threads mostly wait, for example
/// for a disk.
const HELPER_THREADS: usize = 4;

/// Open objects that no step uses may take at most the memory limit divided by this number.
const KEPT_MEMORY_DIVISOR: u64 = 64;

/// The services that a step uses. Each running step has separate counters.
#[derive(Clone)]
pub struct Context {
    /// The cache of objects and results.
    pub store: Store,
    /// The cancellation flag of the run.
    pub cancel: Cancel,
    /// Limits of the run.
    pub limits: RunLimits,
    /// Progress counters of this step.
    pub progress: Arc<Progress>,
    /// The budget of threads of all steps, including the thread on which each step runs.
    pub threads: Threads,
    pub(crate) memory: Memory,
    pub(crate) claim: StepClaim,
    /// Locks that the running step needs, for example the lock of a sink's target.
    locks: Vec<Arc<LockGuard>>,
    /// If true, steps whose results can come from another machine do not run. If such a result is missing, the run fails.
    pub no_execute: bool,
    /// Locations of content that is not in the cache.
    pub outside: OutsideContent,
    /// Objects that are open in memory.
    pub objects: OpenObjects,
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
            claim: StepClaim::default(),
            locks: Vec::new(),
            no_execute: false,
            outside: OutsideContent::default(),
            objects: OpenObjects::new(limits.memory / KEPT_MEMORY_DIVISOR, None),
        }
    }

    /// Allows steps to keep results in memory instead of the cache, up to `bytes` bytes for all steps together.
    #[must_use]
    pub fn with_memory_results(self, bytes: u64) -> Context {
        let room_to_keep = self.limits.memory / KEPT_MEMORY_DIVISOR;
        Context {
            objects: OpenObjects::new(room_to_keep, Some(bytes)),
            ..self
        }
    }

    pub(crate) fn for_step(
        &self,
        progress: Arc<Progress>,
        (memory, claim): (Memory, StepClaim),
        lock: Option<Arc<LockGuard>>,
    ) -> Context {
        let threads = self.threads.with_own_counter();
        let locks = self.locks.iter().cloned().chain(lock);
        Context {
            store: self
                .store
                .with_threads(threads.clone())
                .with_arriving(progress.arriving.clone()),
            progress,
            threads,
            memory,
            claim,
            locks: locks.collect(),
            objects: self.objects.for_step(),
            ..self.clone()
        }
    }

    /// Returns the same context, whose writers also compute SHA-256. Otherwise, published files would have to be read
    /// again to compute their SHA-256.
    #[must_use]
    pub fn with_sha256(&self) -> Context {
        Context {
            store: self.store.with_sha256(),
            ..self.clone()
        }
    }

    /// Returns the memory that the step has claimed, in bytes. Outside of a step, returns the limit of the run.
    pub fn claimed_memory(&self) -> u64 {
        self.claim.bytes().unwrap_or(self.limits.memory)
    }

    /// Claims `bytes` bytes of additional memory without waiting. Returns `None` if they are not free.
    pub fn try_claim(&self, bytes: u64) -> Option<Claim> {
        self.memory.try_claim(bytes)
    }

    pub(crate) fn len_of(&self, object: &Digest) -> Option<u64> {
        self.objects
            .len_of(object)
            .or_else(|| self.store.len_of(object))
    }

    /// Returns the objects of a ledger entry that are not available.
    ///
    /// Steps look in memory only for objects that the entry lists as unstored. Therefore an object that is only in memory
    /// and not listed as unstored is not available.
    ///
    /// If an object could not be fetched from the remote, it is not available until the end of the run.
    pub(crate) fn missing(&self, entry: &StepResult) -> Vec<Digest> {
        let mut missing = self.store.missing(entry);
        if self.outside.has_lost() {
            let mut lost = self.store.missing_locally(entry);
            lost.retain(|object| self.outside.is_lost(object) && !missing.contains(object));
            missing.extend(lost);
        }
        missing.retain(|object| !(entry.unstored.contains(object) && self.objects.holds(object)));
        missing
    }

    /// Adds a lock. If another process takes over the lock, steps end with an error.
    #[must_use]
    pub fn with_lock(mut self, lock: LockGuard) -> Context {
        self.locks.push(Arc::new(lock));
        self
    }

    /// Fails if the run was cancelled, or if another process took over a lock that steps rely on.
    pub fn check(&self) -> Result<(), StepError> {
        self.cancel.check()?;
        self.check_locks()
    }

    pub(crate) fn check_locks(&self) -> Result<(), StepError> {
        let mut locks = self.locks.iter();
        Ok(locks.try_for_each(|lock| lock.check())?)
    }

    /// Creates an unnamed file on the cache's file system. Closing the file deletes it.
    pub fn temp_file(&self) -> io::Result<File> {
        tempfile::tempfile_in(self.temp_dir())
    }

    /// Returns the directory for temporary files on the cache's file system.
    pub fn temp_dir(&self) -> PathBuf {
        self.store.temp_dir()
    }
}

/// Pause between two checks whether a garbage collection of the cache still runs.
const LOCK_RETRY_PAUSE: Duration = Duration::from_millis(50);

/// A cancellation flag. Clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Sets the flag.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether the flag is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns a reader of `inner` that fails with [`StepError::Cancelled`] once the flag is set.
    pub fn reader<R>(&self, inner: R) -> CancellableReader<R> {
        CancellableReader {
            cancel: self.clone(),
            inner,
        }
    }

    /// Waits until no garbage collection of the cache runs. Prevents collections while the returned guard exists.
    pub fn in_use(&self, store: &Store) -> Result<LockGuard, StepError> {
        loop {
            self.check()?;
            if let Some(guard) = store.try_in_use()? {
                return Ok(guard);
            }
            std::thread::sleep(LOCK_RETRY_PAUSE);
        }
    }

    /// Fails if the flag is set.
    pub fn check(&self) -> Result<(), StepError> {
        if self.is_cancelled() {
            Err(StepError::Cancelled)
        } else {
            Ok(())
        }
    }
}

/// A reader that fails once the run is cancelled. See [`Cancel::reader`].
#[derive(Debug)]
pub struct CancellableReader<R> {
    cancel: Cancel,
    inner: R,
}

impl<R: Read> Read for CancellableReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.cancel.check()?;
        self.inner.read(buffer)
    }
}

impl<R: Seek> Seek for CancellableReader<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

/// Counters of a running step, for progress bars.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes processed so far.
    pub bytes: AtomicU64,
    /// Bytes that have arrived of the objects that the step is fetching from another cache.
    pub arriving: Arc<AtomicU64>,
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

    /// Returns the bytes processed so far, including those of objects that are being fetched.
    pub fn done_bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed) + self.arriving.load(Ordering::Relaxed)
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

impl Context {
    /// Counts bytes that were read from a source. Fails if the run is cancelled, so that the caller stops reading.
    pub fn count_read(&self, bytes: u64) -> io::Result<()> {
        self.progress.add_bytes(bytes);
        Ok(self.check()?)
    }
}

/// Number of items between two checks for cancellation.
const ITEMS_BETWEEN_CHECKS: usize = 16;

impl Context {
    /// Same as [`map_parallel`](Self::map_parallel) with one call per item. Returns the results in the order of the items.
    pub fn map_in_order<'i, I: Sync, T: Send>(
        &self,
        items: &'i [I],
        bytes: u64,
        each: impl Fn(&'i I) -> Result<T, StepError> + Sync,
    ) -> Result<Vec<T>, StepError> {
        let each = |(): &mut (), place: usize| {
            let result = items.get(place).map(&each).transpose()?;
            Ok((place, result))
        };
        let mut results = self.map_parallel(items.len(), bytes, || (), each)?;
        results.sort_unstable_by_key(|(place, _)| *place);
        Ok(results
            .into_iter()
            .filter_map(|(_, result)| result)
            .collect())
    }

    /// Calls `each` for every index below `count`, on several threads. Returns the results in no particular order.
    ///
    /// The work begins on the calling thread. Another thread joins whenever a thread and `bytes` bytes of memory are free.
    /// Each thread passes its own state, made by `start`, to its calls of `each`.
    ///
    /// Fails with the first failure of `each`, or if the run is cancelled. No call begins after that.
    pub fn map_parallel<S, T: Send>(
        &self,
        count: usize,
        bytes: u64,
        start: impl Fn() -> S + Sync,
        each: impl Fn(&mut S, usize) -> Result<T, StepError> + Sync,
    ) -> Result<Vec<T>, StepError> {
        let next = AtomicUsize::new(0);
        let failed: Mutex<Option<StepError>> = Mutex::default();
        let done: Mutex<Vec<T>> = Mutex::default();
        // Processes indices until none is left. Calls `before` with each index before processing it.
        let work = |before: &dyn Fn(usize)| {
            let mut state = start();
            let mut results = Vec::new();
            for iteration in 0.. {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    break;
                }
                before(number);
                let checked = match iteration % ITEMS_BETWEEN_CHECKS {
                    0 => self.check(),
                    _ => Ok(()),
                };
                match checked.and_then(|()| each(&mut state, number)) {
                    Ok(result) => results.push(result),
                    Err(error) => {
                        next.store(count, Ordering::Relaxed);
                        failed.lock().get_or_insert(error);
                        break;
                    }
                }
            }
            done.lock().append(&mut results);
        };
        let (work, threads) = (&work, Cell::new(1));
        std::thread::scope(|scope| {
            work(&|number| {
                if number + 1 < count
                    && let Some((permit, claim)) = self.claim_thread(&threads, bytes)
                {
                    // If the system cannot start a thread, the calling thread does all the work.
                    let helper = Builder::new().spawn_scoped(scope, move || {
                        permit.work(|| work(&|_| ()));
                        drop(claim);
                    });
                    drop(helper);
                }
            });
        });
        match failed.into_inner() {
            Some(error) => Err(error),
            None => Ok(done.into_inner()),
        }
    }

    /// Takes a thread and `bytes` bytes of memory, if both are free. `threads` is the number of threads that this call of
    /// `map_parallel` uses so far.
    fn claim_thread(&self, threads: &Cell<usize>, bytes: u64) -> Option<(Permit, Claim)> {
        if threads.get() >= self.limits.jobs {
            return None;
        }
        let permit = self.threads.try_take()?;
        let claim = self.try_claim(bytes)?;
        threads.update(|threads| threads + 1);
        Some((permit, claim))
    }
}
