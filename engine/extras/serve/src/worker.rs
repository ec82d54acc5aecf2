//! A single thread that grades all large submissions.
//!
//! The allocator keeps freed memory for the thread that freed it. If large submissions were graded on several threads,
//! each thread would eventually keep as much memory as the largest submission needs. Therefore all large submissions
//! are graded on the same thread.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};

use tokio::sync::oneshot;

type Work = Box<dyn FnOnce() + Send>;

/// A thread that runs jobs one after the other. It ends when this value is dropped.
pub(crate) struct Worker(Sender<Work>);

impl Worker {
    pub(crate) fn start() -> io::Result<Worker> {
        let (sender, receiver) = channel::<Work>();
        let thread = std::thread::Builder::new().name("large".to_owned());
        thread.spawn(move || receiver.into_iter().for_each(|work| work()))?;
        Ok(Worker(sender))
    }

    /// Runs a job after all earlier jobs.
    ///
    /// # Errors
    /// Same as [`catch_panic`].
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, String> {
        let (sender, receiver) = oneshot::channel();
        let work = move || {
            // Errors are ignored: if the caller does not wait any longer, the result is dropped.
            let _ = sender.send(catch_panic(work));
        };
        let ended = || "the thread for large submissions has ended".to_owned();
        self.0.send(Box::new(work)).map_err(|_| ended())?;
        receiver.await.unwrap_or_else(|_| Err(ended()))
    }
}

/// Runs a job and catches its panic.
///
/// # Errors
/// Returns the message of the panic if the job panicked.
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        text.unwrap_or("unknown panic").to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_fails_only_its_own_job_and_is_reported() {
        let worker = Worker::start().unwrap();
        let wait =
            |work: Box<dyn FnOnce() -> usize + Send>| futures::executor::block_on(worker.run(work));
        assert_eq!(wait(Box::new(|| 1)), Ok(1));
        assert_eq!(
            wait(Box::new(|| panic!("as it happens"))),
            Err("as it happens".to_owned())
        );
        assert_eq!(
            wait(Box::new(|| panic!("row {}", 7))),
            Err("row 7".to_owned())
        );
        assert_eq!(wait(Box::new(|| 2)), Ok(2));
    }
}
