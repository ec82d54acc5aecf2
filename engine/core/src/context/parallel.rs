//! Parallel loops that use the threads that are free.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

use parking_lot::Mutex;
use prep_cache::Permit;

use crate::context::Context;
use crate::{Claim, StepError};

/// Number of items between two checks for cancellation.
const ITEMS_BETWEEN_CHECKS: usize = 16;

impl Context {
    /// Calls `each` for every item, and returns the results in the order of the items. See
    /// [`map_parallel`](Self::map_parallel) for the threads and their memory.
    ///
    /// # Errors
    /// The first failure, or the cancellation of the run.
    pub fn map_in_order<'i, I: Sync, T: Send>(
        &self,
        items: &'i [I],
        bytes: u64,
        each: impl Fn(&'i I) -> Result<T, StepError> + Sync,
    ) -> Result<Vec<T>, StepError> {
        let each = |(): &mut (), place: usize| {
            let result = items.get(place).map(&each).transpose()?;
            Ok((place, result))
        };
        let mut results = self.map_parallel(items.len(), bytes, || (), each)?;
        results.sort_unstable_by_key(|(place, _)| *place);
        Ok(results
            .into_iter()
            .filter_map(|(_, result)| result)
            .collect())
    }

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
        let next = AtomicUsize::new(0);
        let failed: Mutex<Option<StepError>> = Mutex::default();
        let done: Mutex<Vec<T>> = Mutex::default();
        // Works until no number is left. Calls `before` before each number.
        let work = |before: &dyn Fn(usize)| {
            let mut state = start();
            let mut results = Vec::new();
            for iteration in 0.. {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    break;
                }
                before(number);
                let checked = match iteration % ITEMS_BETWEEN_CHECKS {
                    0 => self.check(),
                    _ => Ok(()),
                };
                match checked.and_then(|()| each(&mut state, number)) {
                    Ok(result) => results.push(result),
                    Err(error) => {
                        next.store(count, Ordering::Relaxed);
                        failed.lock().get_or_insert(error);
                        break;
                    }
                }
            }
            done.lock().append(&mut results);
        };
        let (work, threads) = (&work, Cell::new(1));
        std::thread::scope(|scope| {
            work(&|number| {
                if number + 1 < count
                    && let Some((permit, claim)) = self.claim_thread(&threads, bytes)
                {
                    // If the system cannot start another thread, this thread does all the work.
                    let helper = Builder::new().spawn_scoped(scope, move || {
                        permit.work(|| work(&|_| ()));
                        drop(claim);
                    });
                    drop(helper);
                }
            });
        });
        match failed.into_inner() {
            Some(error) => Err(error),
            None => Ok(done.into_inner()),
        }
    }

    /// Takes one more thread and its memory, if both are free. `threads` is the number of threads so far.
    fn claim_thread(&self, threads: &Cell<usize>, bytes: u64) -> Option<(Permit, Claim)> {
        if threads.get() >= self.limits.jobs {
            return None;
        }
        let permit = self.threads.try_take()?;
        let claim = self.try_claim(bytes)?;
        threads.update(|threads| threads + 1);
        Some((permit, claim))
    }
}
