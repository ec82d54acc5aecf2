//! A thread that takes pieces of bytes in order, and gives their buffers back.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use crate::{Permit, threads};

/// A running thread. It ends when this is finished or dropped, or when its work ends early. Whoever drops this waits for it,
/// so that nothing of its work is left.
#[derive(Debug)]
pub(crate) struct Consumer<T> {
    /// `None`: no more pieces come.
    full: Option<SyncSender<Vec<u8>>>,
    empty: Receiver<Vec<u8>>,
    /// `None`: it has ended.
    thread: Option<JoinHandle<Option<T>>>,
}

/// The pieces that a thread takes.
pub(crate) struct Pieces {
    full: Receiver<Vec<u8>>,
    spent: Sender<Vec<u8>>,
}

impl Pieces {
    /// Hands over each piece, until none comes any more or one fails.
    pub(crate) fn each<E>(&self, mut take: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        self.full.iter().try_for_each(|piece| {
            take(&piece)?;
            // After the last piece nobody waits for buffers.
            let _ = self.spent.send(piece);
            Ok(())
        })
    }
}

impl<T: Send + 'static> Consumer<T> {
    /// Starts a thread that does `work` with `value`. At most `waiting` pieces wait for it.
    ///
    /// # Errors
    /// Gives the value back if the system starts no further thread.
    pub(crate) fn start<V: Send + 'static>(
        value: V,
        permit: Permit,
        waiting: usize,
        work: impl FnOnce(V, Pieces) -> T + Send + 'static,
    ) -> Result<Consumer<T>, V> {
        let (full, pieces) = sync_channel(waiting);
        let (spent, empty) = channel();
        let pieces = Pieces {
            full: pieces,
            spent,
        };
        let thread = threads::start(value, move |value| permit.work(|| work(value, pieces)))?;
        Ok(Consumer {
            full: Some(full),
            empty,
            thread: Some(thread),
        })
    }

    /// Hands a piece over; waits while too many wait already. `false`: the work has ended early.
    pub(crate) fn send(&mut self, piece: Vec<u8>) -> bool {
        self.full
            .as_ref()
            .is_some_and(|full| full.send(piece).is_ok())
    }

    /// A buffer that was used; its bytes are still in it.
    pub(crate) fn spent(&self) -> Option<Vec<u8>> {
        self.empty.try_recv().ok()
    }

    /// Waits until all pieces are taken. `None`: the thread panicked.
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
