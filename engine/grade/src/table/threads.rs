//! Processes long tables in two threads.
//!
//! Grading processes two tables, the answers and the submission, in the same way. So most work consists of two equal
//! parts, for example sorting each table. For short tables, starting a second thread would take longer than the work.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Tables with more rows are long.
pub(crate) const MANY_ROWS: usize = 1_000_000;

/// Calls both functions, and returns their results. If `rows`, the number of rows of a table, exceeds [`MANY_ROWS`],
/// `second` runs in another thread, unless the system cannot start one.
pub(crate) fn both<A, B: Send>(
    rows: usize,
    first: impl FnOnce() -> A,
    second: impl FnOnce() -> B + Send,
) -> (A, B) {
    if rows <= MANY_ROWS {
        return (first(), second());
    }
    // The function is taken by the thread, or by this one if there is no thread.
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
