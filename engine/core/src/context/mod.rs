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
use prep_cache::{Digest, LedgerEntry, LockGuard, Permit, Store, Threads};

use crate::context::memory::{Memory, StepClaim};
use crate::context::objects::OpenObjects;
use crate::{Claim, StepError};

/// Limits for all steps of a run together.
#[derive(Debug, Clone, Copy)]
pub struct RunLimits {
    /// Maximum number of steps that run concurrently. Also the maximum number of threads that work on one step. The
    /// total number of threads of all steps is at most slightly larger than this number.
    pub jobs: usize,
    /// Total memory of all running steps in bytes. A single step that needs more runs alone.
    pub memory: u64,
}

/// Number of threads in the budget in addition to [`RunLimits::jobs`]. These threads mostly wait, for example for a disk to
/// which they write while another thread reads.
const HELPER_THREADS: usize = 4;

/// The memory limit divided by this number is the maximum memory of opened objects that no step uses at the moment.
const KEPT_MEMORY_DIVISOR: u64 = 64;

/// The services that a step uses. Cheap to clone. Each running step has separate counters.
#[derive(Clone)]
pub struct Context {
    /// The cache of objects and results.
    pub store: Store,
    /// The cancellation flag of the run.
    pub cancel: Cancel,
    /// Limits for all steps of the run together.
    pub limits: RunLimits,
    /// Progress counters of this step.
    pub progress: Arc<Progress>,
    /// The budget of threads for all steps of the run. The thread on which a step runs is part of this budget. See also
    /// [`Context::map_parallel`].
    pub threads: Threads,
    pub(crate) memory: Memory,
    pub(crate) claim: StepClaim,
    /// Locks that the running step relies on, for example the lock that prevents garbage collection and the lock of a
    /// sink's target.
    locks: Vec<Arc<LockGuard>>,
    /// If true, steps whose results can come from another machine do not run. A missing result of such a step is then an
    /// error.
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

    /// Returns the same context, but steps may keep results in memory instead of writing them to the cache. All results in
    /// memory together may occupy up to `bytes` bytes.
    #[must_use]
    pub fn with_memory_results(self, bytes: u64) -> Context {
        let room_to_keep = self.limits.memory / KEPT_MEMORY_DIVISOR;
        Context {
            objects: OpenObjects::new(room_to_keep, Some(bytes)),
            ..self
        }
    }

    /// Returns the context of one step, with separate counters.
    pub(crate) fn for_step(
        &self,
        progress: Arc<Progress>,
        (memory, claim): (Memory, StepClaim),
        lock: Option<Arc<LockGuard>>,
    ) -> Context {
        let threads = self.threads.with_own_counter();
        let locks = self.locks.iter().cloned().chain(lock);
        Context {
            store: self.store.with_threads(threads.clone()),
            progress,
            threads,
            memory,
            claim,
            locks: locks.collect(),
            objects: self.objects.for_step(),
            ..self.clone()
        }
    }

    /// Returns the same context for a step that writes files to publish. Its writers also compute SHA-256, so that the
    /// files do not have to be read again.
    #[must_use]
    pub fn with_sha256(&self) -> Context {
        Context {
            store: self.store.with_sha256(),
            ..self.clone()
        }
    }

    /// Returns the memory in bytes that the step has claimed, or the limit of the run outside of a step.
    pub fn claimed_memory(&self) -> u64 {
        self.claim.bytes().unwrap_or(self.limits.memory)
    }

    /// Claims `bytes` bytes of additional memory without waiting. Returns `None` if they are not free. The step then has to
    /// work with its initial claim.
    pub fn try_claim(&self, bytes: u64) -> Option<Claim> {
        self.memory.try_claim(bytes)
    }

    /// Returns the length of an object that is in memory or in the cache.
    pub(crate) fn len_of(&self, object: &Digest) -> Option<u64> {
        self.objects
            .len_of(object)
            .or_else(|| self.store.len_of(object))
    }

    /// Returns the objects of a ledger entry that are not available.
    ///
    /// An object that is only in memory is available if the entry lists it as unstored. Otherwise, steps that use the entry
    /// would read the object from the cache on disk, where it is missing. If fetching an object from the remote has failed
    /// once, the object is not available until the end of the run.
    pub(crate) fn missing(&self, entry: &LedgerEntry) -> Vec<Digest> {
        let mut missing = self.store.missing(entry);
        if self.outside.has_lost() {
            let mut lost = self.store.missing_locally(entry);
            lost.retain(|object| self.outside.is_lost(object) && !missing.contains(object));
            missing.extend(lost);
        }
        missing.retain(|object| !(entry.unstored.contains(object) && self.objects.holds(object)));
        missing
    }

    /// Returns the same context with an additional lock. If another process takes over the lock, steps end with an error.
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

    /// Creates an unnamed file on the cache's file system. It is deleted when it is closed.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn temp_file(&self) -> io::Result<File> {
        tempfile::tempfile_in(self.temp_dir())
    }

    /// Returns the directory for temporary files on the cache's file system.
    pub fn temp_dir(&self) -> PathBuf {
        self.store.temp_dir()
    }
}

/// Pause between two attempts to take a lock.
const LOCK_RETRY_PAUSE: Duration = Duration::from_millis(50);

/// A flag that steps check often, so that they stop quickly. Clones share the flag.
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

    /// Returns a reader of `inner` that fails once the flag is set. Its I/O error contains [`StepError::Cancelled`].
    pub fn reader<R>(&self, inner: R) -> CancellableReader<R> {
        CancellableReader {
            cancel: self.clone(),
            inner,
        }
    }

    /// Prevents garbage collection of the cache while the returned guard exists. If a collection is running, waits
    /// until it ends or the flag is set.
    pub fn in_use(&self, store: &Store) -> Result<LockGuard, StepError> {
        loop {
            self.check()?;
            if let Some(guard) = store.try_in_use()? {
                return Ok(guard);
            }
            std::thread::sleep(LOCK_RETRY_PAUSE);
        }
    }

    /// Returns an error once the flag is set. Loops call it with `?`.
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

/// Counters that a step increases while it works. A reporter reads them to draw a progress bar.
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

/// Number of items between two checks for cancellation.
const ITEMS_BETWEEN_CHECKS: usize = 16;

impl Context {
    /// Calls `each` for every item, on several threads. Returns the results in the order of the items. `bytes` is the memory
    /// that each additional thread needs, as for [`map_parallel`](Self::map_parallel).
    ///
    /// # Errors
    /// The first failure, or the cancellation of the run.
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

    /// Calls `each` for every number below `count`, on several threads. Returns the results in no particular order.
    ///
    /// The work begins on the calling thread. Another thread joins whenever the budgets have a free thread and `bytes` bytes
    /// of free memory. `start` creates a state for each thread, which is passed to all calls of `each` on this thread.
    /// After the first failure, no further call begins.
    ///
    /// # Errors
    /// The first failure, or the cancellation of the run.
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
        // Works until no number is left. Calls `before` before each number.
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
                    // If the system cannot start another thread, this thread does all the work.
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

    /// Takes one more thread and `bytes` bytes of memory for it, if both are free. `threads` is the number of threads that
    /// work so far.
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
