//! The thread that hashes and writes a long object.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use crate::writer::Unfinished;
use crate::{Permit, StoreError, threads};

/// Pieces on their way. More would only hold memory.
const PIECES: usize = 2;

/// The object with all its bytes, or why they could not be written.
type Written = Result<Box<Unfinished>, StoreError>;

/// A running thread. It ends when this is finished or dropped, or when a write
/// fails; who drops this waits for it, so that nothing of the object is left.
#[derive(Debug)]
pub(crate) struct Behind {
    /// `None`: no more pieces come.
    full: Option<SyncSender<Vec<u8>>>,
    empty: Receiver<Vec<u8>>,
    /// `None`: it has ended.
    thread: Option<JoinHandle<Option<Written>>>,
}

impl Behind {
    /// Gives the object back if the system starts no further thread.
    pub(crate) fn start(
        unfinished: Box<Unfinished>,
        permit: Permit,
    ) -> Result<Behind, Box<Unfinished>> {
        let (full, pieces) = sync_channel::<Vec<u8>>(PIECES);
        let (spent, empty) = channel();
        let thread = threads::start(unfinished, move |mut unfinished: Box<Unfinished>| {
            permit.work(|| {
                for piece in pieces {
                    unfinished.append(&piece)?;
                    // After the last piece nobody waits for spent ones.
                    let _ = spent.send(piece);
                }
                Ok(unfinished)
            })
        })?;
        Ok(Behind {
            full: Some(full),
            empty,
            thread: Some(thread),
        })
    }

    /// Hands a piece over; waits while too many are on their way. `false`: an
    /// earlier one could not be written.
    pub(crate) fn send(&mut self, piece: Vec<u8>) -> bool {
        self.full
            .as_ref()
            .is_some_and(|full| full.send(piece).is_ok())
    }

    /// A buffer whose bytes are written; they are still in it.
    pub(crate) fn spent(&self) -> Option<Vec<u8>> {
        self.empty.try_recv().ok()
    }

    /// Waits until all is written.
    pub(crate) fn finish(mut self) -> Result<Box<Unfinished>, StoreError> {
        self.join().unwrap_or_else(|| {
            let source = io::Error::other("the writing thread panicked");
            Err(StoreError::io("write", "an object".as_ref(), source))
        })
    }

    fn join(&mut self) -> Option<Written> {
        self.full = None;
        self.thread.take()?.join().ok()?
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        self.join();
    }
}
