//! What a running step may use.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock, Weak};

use prep_cache::{Digest, Store};

use crate::{Cancel, StepError};

/// Limits for everything that runs at the same time.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Steps that run side by side.
    pub jobs: usize,
    /// Threads that one step may use.
    pub threads: usize,
    /// Memory that all running steps may hold together, in bytes. A single step that needs more runs alone.
    pub memory: u64,
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

/// The surroundings of a step. Cheap to clone; each running step has its own progress.
#[derive(Clone)]
pub struct Context {
    pub store: Store,
    pub cancel: Cancel,
    pub limits: Limits,
    pub progress: Arc<Progress>,
    locations: Arc<RwLock<HashMap<Digest, PathBuf>>>,
    lost: Arc<RwLock<HashSet<Digest>>>,
    shared: Arc<Mutex<HashMap<Digest, Weak<dyn Any + Send + Sync>>>>,
}

impl Context {
    pub fn new(store: Store, limits: Limits, cancel: Cancel) -> Context {
        Context {
            store,
            cancel,
            limits,
            progress: Arc::default(),
            locations: Arc::default(),
            lost: Arc::default(),
            shared: Arc::default(),
        }
    }

    /// The same surroundings with counters of its own.
    pub fn with_progress(&self, progress: Arc<Progress>) -> Context {
        Context {
            progress,
            ..self.clone()
        }
    }

    /// Remembers where content lies that is not in the store (a bundle).
    pub fn set_location(&self, content: Digest, path: PathBuf) {
        if let Ok(mut locations) = self.locations.write() {
            locations.insert(content, path);
        }
    }

    /// Where content lies that is not in the store.
    pub fn location(&self, content: &Digest) -> Option<PathBuf> {
        self.locations.read().ok()?.get(content).cloned()
    }

    /// Notes that this content was needed and is not there.
    pub(crate) fn set_lost(&self, content: Digest) {
        if let Ok(mut lost) = self.lost.write() {
            lost.insert(content);
        }
    }

    /// Whether a step needed this content and did not find it. A source that knew its content without having it has to
    /// bring it then.
    pub fn is_lost(&self, content: &Digest) -> bool {
        self.lost.read().is_ok_and(|lost| lost.contains(content))
    }

    /// What `open` makes of a stored object, shared by the steps that use it at the same time: opening a large table means
    /// going through all of it.
    pub fn shared<T: Any + Send + Sync>(
        &self,
        object: &Digest,
        open: impl FnOnce() -> Result<T, StepError>,
    ) -> Result<Arc<T>, StepError> {
        // Held while opening, so that nobody opens the same object a second time meanwhile.
        let mut shared = self
            .shared
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let known = shared
            .get(object)
            .and_then(Weak::upgrade)
            .and_then(|any| any.downcast::<T>().ok());
        if let Some(known) = known {
            return Ok(known);
        }
        let opened: Arc<T> = Arc::new(open()?);
        shared.retain(|_, weak| weak.strong_count() > 0);
        let any: Arc<dyn Any + Send + Sync> = opened.clone();
        shared.insert(*object, Arc::downgrade(&any));
        Ok(opened)
    }

    /// An error as soon as the run is cancelled.
    pub fn check(&self) -> Result<(), StepError> {
        self.cancel.check()
    }

    /// A folder for temporary files on the store's file system.
    pub fn temp_dir(&self) -> PathBuf {
        self.store.temp_dir()
    }
}
