//! Parallel loops that use the threads that are free.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, Scope};

use parking_lot::Mutex;
use prep_cache::Permit;

use crate::context::Context;
use crate::{Claim, StepError};

/// Number of items between two checks for cancellation.
const ITEMS_BETWEEN_CHECKS: usize = 16;

struct ParallelLoop<'a, S, T, Start, Each> {
    context: &'a Context,
    count: usize,
    /// Memory that each further thread claims, in bytes.
    bytes: u64,
    start: Start,
    each: Each,
    next: AtomicUsize,
    threads: AtomicUsize,
    failed: Mutex<Option<StepError>>,
    done: Mutex<Vec<T>>,
    state: std::marker::PhantomData<fn() -> S>,
}

impl Context {
    /// Calls `each` for every number below `count`, and returns the results. Neither the calls nor the results are in a
    /// particular order. The work begins on this thread. Further threads join while threads and `bytes` bytes of memory
    /// per thread are free. `start` creates the state that a thread keeps between its calls. The first failure ends the
    /// loop.
    ///
    /// # Errors
    /// The first failure, or the cancellation of the run.
    pub fn map_parallel<S, T: Send>(
        &self,
        count: usize,
        bytes: u64,
        start: impl Fn() -> S + Sync,
        each: impl Fn(&mut S, usize) -> Result<T, StepError> + Sync,
    ) -> Result<Vec<T>, StepError> {
        let shared = ParallelLoop {
            context: self,
            count,
            bytes,
            start,
            each,
            next: AtomicUsize::new(0),
            threads: AtomicUsize::new(1),
            failed: Mutex::default(),
            done: Mutex::default(),
            state: std::marker::PhantomData,
        };
        std::thread::scope(|scope| work(scope, &shared, true));
        match shared.failed.lock().take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut *shared.done.lock())),
        }
    }
}

fn work<'scope, S, T: Send, Start, Each>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope ParallelLoop<'_, S, T, Start, Each>,
    is_first: bool,
) where
    Start: Fn() -> S + Sync,
    Each: Fn(&mut S, usize) -> Result<T, StepError> + Sync,
{
    let mut state = (shared.start)();
    let mut results = Vec::new();
    for iteration in 0.. {
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        if number >= shared.count {
            break;
        }
        if is_first
            && number + 1 < shared.count
            && let Some((permit, claim)) = shared.claim_thread()
        {
            // If the system cannot start another thread, this thread does all the work.
            let helper = Builder::new().spawn_scoped(scope, move || {
                permit.work(|| work(scope, shared, false));
                drop(claim);
            });
            drop(helper);
        }
        let checked = match iteration % ITEMS_BETWEEN_CHECKS {
            0 => shared.context.check(),
            _ => Ok(()),
        };
        match checked.and_then(|()| (shared.each)(&mut state, number)) {
            Ok(result) => results.push(result),
            Err(error) => {
                shared.next.store(shared.count, Ordering::Relaxed);
                shared.failed.lock().get_or_insert(error);
                break;
            }
        }
    }
    shared.done.lock().append(&mut results);
}

impl<S, T, Start, Each> ParallelLoop<'_, S, T, Start, Each> {
    /// Takes one more thread and its memory, if both are free.
    fn claim_thread(&self) -> Option<(Permit, Claim)> {
        if self.threads.load(Ordering::Relaxed) >= self.context.limits.jobs {
            return None;
        }
        let permit = self.context.threads.try_take()?;
        let claim = self.context.try_claim(self.bytes)?;
        self.threads.fetch_add(1, Ordering::Relaxed);
        Some((permit, claim))
    }
}
