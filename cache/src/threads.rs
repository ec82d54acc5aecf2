//! How many threads may work, and what they used.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A number of threads that all who work side by side share. Cheap to clone.
///
/// Nobody waits for a thread: who gets none does the work on its own. So the
/// number holds whatever is nested in what.
#[derive(Clone, Debug)]
pub struct Threads {
    free: Arc<AtomicUsize>,
    used: Arc<Used>,
}

/// What helping threads used up to their end.
#[derive(Debug, Default)]
struct Used {
    cpu: AtomicU64,
    read: AtomicU64,
    written: AtomicU64,
}

/// What threads used. Where the system does not tell, nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Time on a processor.
    pub cpu: Duration,
    /// Bytes read from and written to files and connections; those of mapped
    /// files are not counted.
    pub read: u64,
    pub written: u64,
}

/// One thread of the number. Dropping it gives it back.
#[derive(Debug)]
#[must_use = "the thread is given back when this is dropped"]
pub struct Permit(Threads);

impl Threads {
    /// So many threads.
    pub fn new(number: usize) -> Threads {
        Threads {
            free: Arc::new(AtomicUsize::new(number)),
            used: Arc::default(),
        }
    }

    /// The same threads, counting for itself what they use.
    pub fn counted(&self) -> Threads {
        Threads {
            free: Arc::clone(&self.free),
            used: Arc::default(),
        }
    }

    /// One more thread, if one is free.
    pub fn try_take(&self) -> Option<Permit> {
        let taken = self
            .free
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |free| {
                free.checked_sub(1)
            });
        taken.is_ok().then(|| Permit(self.clone()))
    }

    /// What threads used that are at their end.
    pub fn usage(&self) -> Usage {
        Usage {
            cpu: Duration::from_nanos(self.used.cpu.load(Ordering::Relaxed)),
            read: self.used.read.load(Ordering::Relaxed),
            written: self.used.written.load(Ordering::Relaxed),
        }
    }
}

impl Permit {
    /// Does `work` on this thread, and counts what it uses.
    pub fn work<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = Usage::of_this_thread();
        let done = work();
        let spent = Usage::of_this_thread().since(before);
        let used = &self.0.used;
        let nanos = u64::try_from(spent.cpu.as_nanos()).unwrap_or(u64::MAX);
        used.cpu.fetch_add(nanos, Ordering::Relaxed);
        used.read.fetch_add(spent.read, Ordering::Relaxed);
        used.written.fetch_add(spent.written, Ordering::Relaxed);
        done
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.free.fetch_add(1, Ordering::AcqRel);
    }
}

/// Whether the system starts `count` further threads. Libraries that start
/// theirs without asking panic otherwise, or wait for ever.
///
/// # Errors
/// The system's, when it does not.
pub fn probe(count: usize) -> std::io::Result<()> {
    std::thread::scope(|scope| {
        let mut alive = Vec::new();
        for _ in 0..count {
            let (end, ended) = channel::<()>();
            // Ends when `alive` does.
            let wait = move || ended.recv().is_ok();
            Builder::new().spawn_scoped(scope, wait)?;
            alive.push(end);
        }
        Ok(())
    })
}

/// Starts a thread that does `work` with `value`. Its result is never `None`.
///
/// # Errors
/// Gives the value back if the system starts no further thread: limits of
/// processes (`ulimit -u`, a container's) count threads, too.
pub fn start<V: Send + 'static, T: Send + 'static>(
    value: V,
    work: impl FnOnce(V) -> T + Send + 'static,
) -> Result<JoinHandle<Option<T>>, V> {
    let (give, given) = channel();
    match Builder::new().spawn(move || given.recv().ok().map(work)) {
        Ok(thread) => give.send(value).map(|()| thread).map_err(|unsent| unsent.0),
        Err(_) => Err(value),
    }
}

/// As [`start`], within a scope.
///
/// # Errors
/// As [`start`].
pub fn start_scoped<'scope, V: Send + 'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    builder: Builder,
    value: V,
    work: impl FnOnce(V) -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, Option<T>>, V> {
    let (give, given) = channel();
    match builder.spawn_scoped(scope, move || given.recv().ok().map(work)) {
        Ok(thread) => give.send(value).map(|()| thread).map_err(|unsent| unsent.0),
        Err(_) => Err(value),
    }
}

impl Usage {
    /// What the calling thread used since it began.
    pub fn of_this_thread() -> Usage {
        let cpu = clock_gettime(ClockId::ThreadCPUTime);
        let mut usage = Usage {
            cpu: cpu.try_into().unwrap_or_default(),
            ..Usage::default()
        };
        let bytes = fs::read_to_string("/proc/thread-self/io").unwrap_or_default();
        for line in bytes.lines() {
            match line.split_once(": ") {
                Some(("rchar", number)) => usage.read = number.parse().unwrap_or(0),
                Some(("wchar", number)) => usage.written = number.parse().unwrap_or(0),
                _ => {}
            }
        }
        usage
    }

    /// What was used after `before`.
    #[must_use]
    pub fn since(self, before: Usage) -> Usage {
        Usage {
            cpu: self.cpu.saturating_sub(before.cpu),
            read: self.read.saturating_sub(before.read),
            written: self.written.saturating_sub(before.written),
        }
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Usage) -> Usage {
        Usage {
            cpu: self.cpu + other.cpu,
            read: self.read + other.read,
            written: self.written + other.written,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_threads_are_given_than_there_are() {
        let threads = Threads::new(2);
        let one = threads.try_take();
        let two = threads.counted().try_take();
        assert!(one.is_some() && two.is_some() && threads.try_take().is_none());
        drop(two);
        assert!(threads.try_take().is_some());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_a_helper_uses_counts_where_it_was_taken() -> std::io::Result<()> {
        let all = Threads::new(1);
        let mine = all.counted();
        let file = tempfile::NamedTempFile::new()?;
        if let Some(permit) = mine.try_take() {
            permit.work(|| fs::write(file.path(), vec![0; 12_345]))?;
        }
        assert!(mine.usage().written >= 12_345, "{:?}", mine.usage());
        assert_eq!(all.usage(), Usage::default());
        Ok(())
    }
}
