//! A thread that calls a function at regular intervals.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// A running ticker. Dropping it stops the thread.
pub struct Ticker {
    /// The thread ends when this is dropped.
    running: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts a thread that calls `tick` after each interval. If the thread cannot be started, `tick` is never called.
    pub fn start(interval: Duration, mut tick: impl FnMut() + Send + 'static) -> Ticker {
        let (running, stopped) = channel();
        let work = move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                tick();
            }
        };
        Ticker {
            running: Some(running),
            thread: std::thread::Builder::new().spawn(work).ok(),
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.running.take());
        if let Some(thread) = self.thread.take() {
            // The panic hook has already reported a panic of the thread.
            let _ = thread.join();
        }
    }
}
