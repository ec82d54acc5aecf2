//! The services that a running step may use: cache, memory, threads, cancellation.

pub(crate) mod cancel;
pub(crate) mod memory;
pub(crate) mod objects;
pub(crate) mod parallel;

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use prep_cache::{Digest, LedgerEntry, LockGuard, Store, Threads};

use crate::context::memory::{Memory, StepClaim};
use crate::context::objects::OpenObjects;
use crate::{Cancel, Claim, Progress, StepError};
use objects::OutsideContent;

/// Limits for all steps of a run together.
#[derive(Debug, Clone, Copy)]
pub struct RunLimits {
    /// Maximum number of steps that run concurrently, and of threads that work on one step. The total number of threads
    /// is only slightly larger.
    pub jobs: usize,
    /// Total memory of all running steps in bytes. A single step that needs more runs alone.
    pub memory: u64,
}

/// Number of threads in addition to one per step. They do work that mostly waits, such as writing while another thread
/// reads.
const HELPER_THREADS: usize = 4;

/// Opened objects that no step uses may occupy the memory limit divided by this number.
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
    /// The budget of all threads, including those of steps. See also [`Context::map_parallel`].
    pub threads: Threads,
    pub(crate) memory: Memory,
    pub(crate) claim: StepClaim,
    /// Locks that the steps rely on: one prevents garbage collection, and one locks the target of a sink.
    locks: Vec<Arc<LockGuard>>,
    /// If true, steps do not run, and a missing result is an error.
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

    /// Returns the same context, but steps may keep up to `bytes` bytes of results in memory instead of writing them to
    /// the cache.
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

    /// Claims `bytes` more memory without waiting. Returns `None` if they are not free. The step then continues with
    /// its initial claim.
    pub fn try_claim(&self, bytes: u64) -> Option<Claim> {
        self.memory.try_claim(bytes)
    }

    /// Returns the length of an object that is in memory or in the cache.
    pub(crate) fn len_of(&self, object: &Digest) -> Option<u64> {
        self.objects
            .len_of(object)
            .or_else(|| self.store.len_of(object))
    }

    /// Returns the objects of an entry that are not available. An object in memory is available only if the entry lists
    /// it as unstored. Otherwise the object may have been passed to code that reads only the cache on disk. An object that
    /// could not be fetched once is not available until the end of the run, even if the tier may have it.
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

    /// Returns the same context with an additional lock. If the lock is lost, steps end with an error.
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
