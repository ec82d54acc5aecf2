//! The thread that hashes and writes a long object.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use crate::StoreError;
use crate::writer::Unfinished;

/// Pieces on their way. More would only hold memory.
const PIECES: usize = 4;

/// A running thread. It ends when this is finished or dropped, or when a write fails.
#[derive(Debug)]
pub(crate) struct Behind {
    full: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    thread: JoinHandle<Result<Unfinished, StoreError>>,
}

impl Behind {
    pub(crate) fn start(mut unfinished: Unfinished) -> Behind {
        let (full, pieces) = sync_channel::<Vec<u8>>(PIECES);
        let (spent, empty) = channel();
        let thread = thread::spawn(move || {
            for piece in pieces {
                unfinished.append(&piece)?;
                // After the last piece nobody waits for spent ones.
                let _ = spent.send(piece);
            }
            Ok(unfinished)
        });
        Behind {
            full,
            empty,
            thread,
        }
    }

    /// Hands a piece over; waits while too many are on their way. `false`: an earlier one could not be written.
    pub(crate) fn send(&mut self, piece: Vec<u8>) -> bool {
        self.full.send(piece).is_ok()
    }

    /// A buffer whose bytes are written; they are still in it.
    pub(crate) fn spent(&self) -> Option<Vec<u8>> {
        self.empty.try_recv().ok()
    }

    /// Waits until all is written.
    pub(crate) fn finish(self) -> Result<Unfinished, StoreError> {
        drop(self.full);
        self.thread.join().unwrap_or_else(|_| {
            let source = io::Error::other("the writing thread panicked");
            Err(StoreError::io("write", "an object".as_ref(), source))
        })
    }
}
