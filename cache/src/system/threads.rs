//! A thread budget with usage counters, and a worker thread for chunks of bytes.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The number of additional threads that concurrent tasks together may still start. Clones share this number.
///
/// Taking a thread never waits, so nested uses cannot deadlock. If no thread is free, the caller does the work itself.
#[derive(Clone, Debug)]
pub struct Threads {
    free: Arc<AtomicUsize>,
    used: Arc<UsageCounters>,
}

#[derive(Debug, Default)]
struct UsageCounters {
    cpu: AtomicU64,
    read: AtomicU64,
    written: AtomicU64,
}

/// Resources that threads used. Zero if the system does not report them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time.
    pub cpu: Duration,
    /// Bytes read from files and connections. Reads through memory-mapped files are not counted.
    pub read: u64,
    /// Bytes written to files and connections.
    pub written: u64,
}

/// Permission to run one thread of the budget. Dropping it returns the thread.
#[derive(Debug)]
#[must_use = "the thread is returned to the budget when the permit is dropped"]
pub struct Permit(Threads);

impl Threads {
    /// Creates a budget of `number` threads.
    pub fn new(number: usize) -> Threads {
        Threads {
            free: Arc::new(AtomicUsize::new(number)),
            used: Arc::default(),
        }
    }

    /// Returns another handle to the same budget. The new handle has a separate usage counter.
    pub fn with_own_counter(&self) -> Threads {
        Threads {
            free: Arc::clone(&self.free),
            used: Arc::default(),
        }
    }

    /// Takes one thread if one is free.
    pub fn try_take(&self) -> Option<Permit> {
        let taken = self
            .free
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |free| {
                free.checked_sub(1)
            });
        taken.is_ok().then(|| Permit(self.clone()))
    }

    /// Returns the usage of all finished work that was counted for this handle.
    pub fn usage(&self) -> Usage {
        Usage {
            cpu: Duration::from_nanos(self.used.cpu.load(Ordering::Relaxed)),
            read: self.used.read.load(Ordering::Relaxed),
            written: self.used.written.load(Ordering::Relaxed),
        }
    }
}

impl Permit {
    /// Runs `work` on the current thread and counts its usage.
    pub fn work<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = Usage::of_this_thread();
        let done = work();
        let usage = Usage::of_this_thread().since(before);
        let used = &self.0.used;
        let nanos = u64::try_from(usage.cpu.as_nanos()).unwrap_or(u64::MAX);
        used.cpu.fetch_add(nanos, Ordering::Relaxed);
        used.read.fetch_add(usage.read, Ordering::Relaxed);
        used.written.fetch_add(usage.written, Ordering::Relaxed);
        done
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.free.fetch_add(1, Ordering::AcqRel);
    }
}

/// Checks that the system can start `count` more threads. Call this before using a library that panics or hangs if it
/// cannot start a thread.
///
/// # Errors
/// The I/O error if a thread cannot be started.
pub fn check_threads(count: usize) -> std::io::Result<()> {
    std::thread::scope(|scope| {
        let mut alive = Vec::new();
        for _ in 0..count {
            // The thread ends when `end` is dropped, after all threads were started.
            let (end, ended) = channel::<()>();
            let wait = move || ended.recv().is_ok();
            Builder::new().spawn_scoped(scope, wait)?;
            alive.push(end);
        }
        Ok(())
    })
}

/// Starts a thread that runs `work(value)`. The thread wraps the result of `work` in `Some`.
///
/// # Errors
/// Returns `value` if the system cannot start another thread. Limits on processes (`ulimit -u`, a container's limit)
/// include threads.
pub fn try_spawn<V: Send + 'static, T: Send + 'static>(
    value: V,
    work: impl FnOnce(V) -> T + Send + 'static,
) -> Result<JoinHandle<Option<T>>, V> {
    let (sender, receiver) = channel();
    match Builder::new().spawn(move || receiver.recv().ok().map(work)) {
        Ok(thread) => sender
            .send(value)
            .map(|()| thread)
            .map_err(|unsent| unsent.0),
        Err(_) => Err(value),
    }
}

/// Same as [`try_spawn`], within a scope.
///
/// # Errors
/// Same as for [`try_spawn`].
pub fn try_spawn_scoped<'scope, V: Send + 'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    builder: Builder,
    value: V,
    work: impl FnOnce(V) -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, Option<T>>, V> {
    let (sender, receiver) = channel();
    match builder.spawn_scoped(scope, move || receiver.recv().ok().map(work)) {
        Ok(thread) => sender
            .send(value)
            .map(|()| thread)
            .map_err(|unsent| unsent.0),
        Err(_) => Err(value),
    }
}

impl Usage {
    /// Returns the usage of the calling thread since its start.
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

    /// Returns the difference between this measurement and the earlier measurement `before`.
    #[must_use]
    pub fn since(self, before: Usage) -> Usage {
        Usage {
            cpu: self.cpu.saturating_sub(before.cpu),
            read: self.read.saturating_sub(before.read),
            written: self.written.saturating_sub(before.written),
        }
    }

    /// Returns the sum of both usages.
    #[must_use]
    pub fn plus(self, other: Usage) -> Usage {
        Usage {
            cpu: self.cpu + other.cpu,
            read: self.read + other.read,
            written: self.written + other.written,
        }
    }
}

/// A handle to a running worker thread. Dropping it ends the thread and waits for its end.
#[derive(Debug)]
pub(crate) struct Consumer<T> {
    /// Sends chunks to the worker.
    full: Option<SyncSender<Vec<u8>>>,
    /// Receives the buffers of chunks that the worker has processed.
    empty: Receiver<Vec<u8>>,
    thread: Option<JoinHandle<Option<T>>>,
}

/// The worker's end of the queue of chunks.
pub(crate) struct Chunks {
    full: Receiver<Vec<u8>>,
    recycled: Sender<Vec<u8>>,
}

impl Chunks {
    /// Passes each chunk to `take` until the [`Consumer`] has sent its last chunk or `take` fails.
    pub(crate) fn for_each<E>(
        &self,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.full.iter().try_for_each(|chunk| {
            take(&chunk)?;
            let _ = self.recycled.send(chunk);
            Ok(())
        })
    }
}

impl<T: Send + 'static> Consumer<T> {
    /// Starts a thread that runs `work(value, chunks)`, where `chunks` yields the chunks that are sent to the thread. At
    /// most `waiting` chunks are queued. Returns `value` if the system cannot start another thread.
    pub(crate) fn start<V: Send + 'static>(
        value: V,
        permit: Permit,
        waiting: usize,
        work: impl FnOnce(V, Chunks) -> T + Send + 'static,
    ) -> Result<Consumer<T>, V> {
        let (full, chunks) = sync_channel(waiting);
        let (recycled, empty) = channel();
        let chunks = Chunks {
            full: chunks,
            recycled,
        };
        let thread = try_spawn(value, move |value| permit.work(|| work(value, chunks)))?;
        Ok(Consumer {
            full: Some(full),
            empty,
            thread: Some(thread),
        })
    }

    /// Queues a chunk. Blocks while the queue is full. Returns `false` if the worker has already ended.
    pub(crate) fn send(&mut self, chunk: Vec<u8>) -> bool {
        self.full
            .as_ref()
            .is_some_and(|full| full.send(chunk).is_ok())
    }

    /// Returns the buffer of a chunk that the worker has processed, if there is one. The buffer still contains the chunk.
    pub(crate) fn recycled(&self) -> Option<Vec<u8>> {
        self.empty.try_recv().ok()
    }

    /// Ends the queue, and waits for the result of `work`. Returns `None` if the thread panicked.
    pub(crate) fn finish(mut self) -> Option<T> {
        self.join()
    }
}

impl<T> Consumer<T> {
    fn join(&mut self) -> Option<T> {
        self.full = None;
        self.thread.take()?.join().ok()?
    }
}

impl<T> Drop for Consumer<T> {
    fn drop(&mut self) {
        self.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_do_not_exceed_the_budget() {
        let threads = Threads::new(2);
        let one = threads.try_take();
        let two = threads.with_own_counter().try_take();
        assert!(one.is_some() && two.is_some() && threads.try_take().is_none());
        drop(two);
        assert!(threads.try_take().is_some());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn usage_is_counted_by_the_handle_that_took_the_thread() -> std::io::Result<()> {
        let all = Threads::new(1);
        let counted = all.with_own_counter();
        let file = tempfile::NamedTempFile::new()?;
        if let Some(permit) = counted.try_take() {
            permit.work(|| fs::write(file.path(), vec![0; 12_345]))?;
        }
        assert!(counted.usage().written >= 12_345, "{:?}", counted.usage());
        assert_eq!(all.usage(), Usage::default());
        Ok(())
    }
}
