//! A thread that calls a function at regular intervals.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A running ticker. Dropping it stops the thread.
pub struct Ticker {
    stopped: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts a thread that calls `tick` after each interval. If the thread cannot be started, `tick` is never called.
    pub fn start(interval: Duration, mut tick: impl FnMut() + Send + 'static) -> Ticker {
        let stopped: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        let shared = stopped.clone();
        let work = move || {
            let (stopped, wake) = &*shared;
            let mut now = stopped.lock().unwrap_or_else(PoisonError::into_inner);
            while !*now {
                let woken = wake.wait_timeout(now, interval);
                now = woken.unwrap_or_else(PoisonError::into_inner).0;
                if !*now {
                    tick();
                }
            }
        };
        let thread = std::thread::Builder::new().spawn(work).ok();
        Ticker { stopped, thread }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        let (stopped, wake) = &*self.stopped;
        *stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        wake.notify_all();
        if let Some(thread) = self.thread.take() {
            // The panic hook has already reported a panic of the thread.
            let _ = thread.join();
        }
    }
}
