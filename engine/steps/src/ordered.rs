//! Processes batches on two threads, and returns the results in the order of the batches.
//!
//! If the helper thread is busy, the thread that produces the batches processes a batch itself. Errors are returned in
//! order, too, so they do not depend on the number of threads.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, channel, sync_channel};
use std::thread::{self, Builder, Scope, ScopedJoinHandle};

use prep_core::{Context, StepError};

/// At most this number of batches is in progress, including batches whose results wait for an earlier one. More would
/// not be faster.
const MAX_WAITING: usize = 4;

type BatchFn<'w, I, O> = &'w (dyn Fn(I) -> O + Sync);

pub(crate) struct OrderedBatches<'scope, 'env, I, O> {
    scope: &'scope Scope<'scope, 'env>,
    context: &'env Context,
    work: BatchFn<'env, I, O>,
    helper: Option<Helper<'scope, I, O>>,
    /// Results in order. `None` for a batch that the helper is processing.
    waiting: VecDeque<Option<O>>,
}

struct Helper<'scope, I, O> {
    batches: SyncSender<I>,
    results: Receiver<O>,
    thread: ScopedJoinHandle<'scope, ()>,
}

/// Calls `run` with a queue of batches, each of which `work` processes.
pub(crate) fn process_in_order<'env, I: Send + 'env, O: Send + 'env, T>(
    context: &'env Context,
    work: BatchFn<'env, I, O>,
    run: impl FnOnce(&mut OrderedBatches<'_, 'env, I, O>) -> T,
) -> T {
    thread::scope(|scope| {
        let mut batches = OrderedBatches {
            scope,
            context,
            work,
            helper: None,
            waiting: VecDeque::new(),
        };
        let done = run(&mut batches);
        if let Some(helper) = batches.helper.take() {
            drop((helper.batches, helper.results));
            // If the helper panicked, `run` got an error.
            let _ = helper.thread.join();
        }
        done
    })
}

impl<'env, I: Send + 'env, O: Send + 'env> OrderedBatches<'_, 'env, I, O> {
    /// Processes a batch on one of the threads, and passes finished results to `act`.
    pub(crate) fn push(
        &mut self,
        batch: I,
        act: &mut dyn FnMut(O) -> Result<(), StepError>,
    ) -> Result<(), StepError> {
        self.start_helper();
        // `Err` contains the batch if the helper does not take it. This thread then processes the batch.
        let rest = match &self.helper {
            Some(helper) => helper.batches.try_send(batch).map_err(|error| match error {
                TrySendError::Full(batch) | TrySendError::Disconnected(batch) => batch,
            }),
            None => Err(batch),
        };
        let done = rest.err().map(self.work);
        self.waiting.push_back(done);
        self.pass_results(MAX_WAITING, act)
    }

    /// Finishes all batches in progress, and processes `batch` on this thread. Callers use this for the last batch, and for
    /// large batches.
    pub(crate) fn push_alone(
        &mut self,
        batch: I,
        act: &mut dyn FnMut(O) -> Result<(), StepError>,
    ) -> Result<(), StepError> {
        self.finish(act)?;
        act((self.work)(batch))
    }

    /// Waits for all batches in progress, and passes their results to `act`.
    pub(crate) fn finish(
        &mut self,
        act: &mut dyn FnMut(O) -> Result<(), StepError>,
    ) -> Result<(), StepError> {
        self.pass_results(0, act)
    }

    /// Starts the helper thread, if it is not running yet and a thread is free.
    fn start_helper(&mut self) {
        if self.helper.is_some() {
            return;
        }
        let Some(permit) = self.context.threads.try_take() else {
            return;
        };
        let (batches, received) = sync_channel(1);
        let (done, results) = channel();
        let work = self.work;
        let thread = Builder::new().spawn_scoped(self.scope, move || {
            permit.work(|| {
                for batch in received {
                    if done.send(work(batch)).is_err() {
                        break;
                    }
                }
            });
        });
        // If no thread can be started, this thread processes all batches.
        self.helper = thread.ok().map(|thread| Helper {
            batches,
            results,
            thread,
        });
    }

    /// Passes finished results to `act` in order. Waits while more than `max_in_progress` batches are in progress.
    fn pass_results(
        &mut self,
        max_in_progress: usize,
        act: &mut dyn FnMut(O) -> Result<(), StepError>,
    ) -> Result<(), StepError> {
        while let Some(first) = self.waiting.front_mut() {
            let done = match (first.take(), &self.helper) {
                (Some(done), _) => done,
                (None, Some(helper)) => {
                    let result = match self.waiting.len() > max_in_progress {
                        true => helper.results.recv().map_err(TryRecvError::from),
                        false => helper.results.try_recv(),
                    };
                    match result {
                        Ok(done) => done,
                        Err(TryRecvError::Empty) => return Ok(()),
                        Err(TryRecvError::Disconnected) => {
                            return Err(StepError::internal("the helper thread panicked"));
                        }
                    }
                }
                (None, None) => return Err(StepError::internal("a batch was lost")),
            };
            self.waiting.pop_front();
            act(done)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prep_cache::Store;
    use prep_core::{Cancel, RunLimits};

    use super::*;

    fn context() -> (tempfile::TempDir, Context) {
        let directory = tempfile::tempdir().unwrap();
        let limits = RunLimits {
            jobs: 2,
            memory: 1 << 30,
        };
        let store = Store::open(directory.path()).unwrap();
        (directory, Context::new(store, limits, Cancel::default()))
    }

    #[test]
    fn results_are_in_batch_order() {
        let (_directory, context) = context();
        // Every `slow`-th batch takes longer. If all permits are taken before, no helper thread can be started.
        for (slow, permits) in [(3, 0), (7, 0), (1, 0), (3, 100)] {
            let taken: Vec<_> = (0..permits)
                .map_while(|_| context.threads.try_take())
                .collect();
            let work = |number: u64| {
                if number.is_multiple_of(slow) {
                    thread::sleep(Duration::from_millis(2));
                }
                number * number
            };
            let mut found = Vec::new();
            let mut act = |square| {
                found.push(square);
                Ok(())
            };
            let done = process_in_order(&context, &work, |batches| {
                (0..60).try_for_each(|number| match number {
                    40 | 59 => batches.push_alone(number, &mut act),
                    number => batches.push(number, &mut act),
                })
            });
            assert!(done.is_ok());
            assert!(found.into_iter().eq((0..60).map(|number| number * number)));
            drop(taken);
        }
    }

    #[test]
    fn first_error_in_batch_order_is_reported_and_stops_processing() {
        let (_directory, context) = context();
        let work = |number: u64| {
            thread::sleep(Duration::from_millis(number % 3));
            match number {
                20.. => Err(StepError::pipeline(format!("number {number}"))),
                number => Ok(number),
            }
        };
        let mut found = Vec::new();
        let mut act = |result: Result<u64, StepError>| {
            found.push(result?);
            Ok(())
        };
        let done = process_in_order(&context, &work, |batches| {
            (0..60).try_for_each(|number| batches.push(number, &mut act))
        });
        assert!(done.is_err_and(|error| error.to_string().contains("number 20")));
        assert!(found.into_iter().eq(0..20));
    }

    #[test]
    fn panic_of_the_helper_thread_is_an_error() {
        let (_directory, context) = context();
        let this_thread = thread::current().id();
        let work = |_: u64| assert!(thread::current().id() == this_thread, "intended panic");
        let done = process_in_order(&context, &work, |batches| {
            (0..60).try_for_each(|number| batches.push(number, &mut |()| Ok(())))
        });
        assert!(done.is_err());
    }
}
