//! Processes long tables in two threads.
//!
//! Most work of grading consists of two equal parts, one for the answers and one for the submission. For a short table, one
//! thread does all the work, because starting a second thread would take longer.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// A table with more rows than this number is long.
pub(crate) const MANY_ROWS: usize = 1_000_000;

/// Calls both functions. For more than [`MANY_ROWS`] rows, calls `second` in another thread, if the system can start one.
pub(crate) fn both<A, B: Send>(
    rows: usize,
    first: impl FnOnce() -> A,
    second: impl FnOnce() -> B + Send,
) -> (A, B) {
    if rows <= MANY_ROWS {
        return (first(), second());
    }
    // Either the new thread or the current thread takes the function.
    let second = Mutex::new(Some(second));
    let run = || {
        let taken = second.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.map(|second| second())
    };
    thread::scope(|scope| {
        let started = thread::Builder::new().spawn_scoped(scope, run);
        let one = first();
        let other = match started.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(other)) => other,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => run(),
        };
        match other {
            Some(other) => (one, other),
            None => unreachable!(),
        }
    })
}
