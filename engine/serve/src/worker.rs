//! One thread for large submissions.
//!
//! What a thread frees the allocator keeps for that thread: a submission graded on one thread after another takes its memory
//! anew each time, until every thread holds as much as the largest. So the large ones all go to the same one.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};

use tokio::sync::oneshot;

type Work = Box<dyn FnOnce() + Send>;

/// A thread that does one thing after the other. It ends when this is dropped.
pub(crate) struct Worker(Sender<Work>);

impl Worker {
    pub(crate) fn start() -> io::Result<Worker> {
        let (sender, receiver) = channel::<Work>();
        let thread = std::thread::Builder::new().name("large".to_owned());
        thread.spawn(move || {
            for work in receiver {
                // Whoever waits is told by its channel, which is closed.
                let _ = catch_unwind(AssertUnwindSafe(work));
            }
        })?;
        Ok(Worker(sender))
    }

    /// None: the work panicked.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (sender, receiver) = oneshot::channel();
        let work = move || {
            // Nobody waits any more: then nobody wants it.
            let _ = sender.send(work());
        };
        self.0.send(Box::new(work)).ok()?;
        receiver.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_its_own_work_only() {
        let worker = Worker::start().unwrap();
        let wait =
            |work: Box<dyn FnOnce() -> usize + Send>| futures::executor::block_on(worker.run(work));
        assert_eq!(wait(Box::new(|| 1)), Some(1));
        assert_eq!(wait(Box::new(|| panic!("as it happens"))), None);
        assert_eq!(wait(Box::new(|| 2)), Some(2));
    }
}
