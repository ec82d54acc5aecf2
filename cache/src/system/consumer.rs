//! A worker thread that processes chunks of bytes in order and returns their buffers for reuse.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use crate::Permit;
use crate::system::threads;

/// A handle to a running worker thread. The thread ends when the handle is finished or dropped, or when its work fails.
/// Dropping the handle waits for the thread.
#[derive(Debug)]
pub(crate) struct Consumer<T> {
    /// `None` after the last chunk was sent.
    full: Option<SyncSender<Vec<u8>>>,
    empty: Receiver<Vec<u8>>,
    /// `None` after the thread was joined.
    thread: Option<JoinHandle<Option<T>>>,
}

/// The receiving end of the chunks, on the worker thread.
pub(crate) struct Chunks {
    full: Receiver<Vec<u8>>,
    recycled: Sender<Vec<u8>>,
}

impl Chunks {
    /// Passes each chunk to `take` until the sender is finished or `take` fails.
    pub(crate) fn for_each<E>(
        &self,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.full.iter().try_for_each(|chunk| {
            take(&chunk)?;
            // After its last chunk, the sender no longer receives buffers.
            let _ = self.recycled.send(chunk);
            Ok(())
        })
    }
}

impl<T: Send + 'static> Consumer<T> {
    /// Starts a thread that runs `work(value, chunks)`. At most `waiting` chunks are queued.
    ///
    /// # Errors
    /// Returns `value` if the system cannot start another thread.
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
        let thread = threads::try_spawn(value, move |value| permit.work(|| work(value, chunks)))?;
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

    /// Returns a buffer that the worker has finished with, if there is one. It still contains the old bytes.
    pub(crate) fn recycled(&self) -> Option<Vec<u8>> {
        self.empty.try_recv().ok()
    }

    /// Waits until all chunks are processed. Returns `None` if the thread panicked.
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
