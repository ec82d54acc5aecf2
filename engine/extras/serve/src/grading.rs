//! Reads answers, rules and leaderboards at the first request, and reuses them while the prepared data do not change.
//!
//! After a competition was prepared, also for the first time, the next request reads its new answers.
//!
//! All large submissions are graded on the same thread, because the allocator keeps freed memory for the thread that freed
//! it. With several threads, each thread would eventually keep as much memory as the largest submission needs.

use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use parking_lot::Mutex;
use prep_app::{Catalog, Error, Grading, GradingLog, Settings};
use tokio::sync::oneshot;

type GradingSlot = Arc<Mutex<Option<Arc<Grading>>>>;

pub(crate) struct Gradings {
    settings: Settings,
    catalog: Catalog,
    /// `None` if clients get no scores.
    log: Option<GradingLog>,
    open: Mutex<HashMap<String, GradingSlot>>,
}

impl Gradings {
    pub(crate) fn new(settings: Settings, catalog: Catalog, log: Option<GradingLog>) -> Gradings {
        Gradings {
            settings,
            catalog,
            log,
            open: Mutex::default(),
        }
    }

    pub(crate) fn knows(&self, id: &str) -> bool {
        self.catalog.find(id).is_some()
    }

    /// Returns the grading of a competition. The first caller reads the answers, and other callers wait.
    pub(crate) fn get(&self, id: &str) -> Result<Arc<Grading>, Error> {
        // Check the id first. Otherwise clients could fill the memory with slots for arbitrary ids.
        self.catalog.get(id)?;
        let slot = {
            let mut open = self.open.lock();
            Arc::clone(open.entry(id.to_owned()).or_default())
        };
        let mut slot = slot.lock();
        if let Some(grading) = slot.as_ref().filter(|grading| grading.is_current()) {
            return Ok(Arc::clone(grading));
        }
        *slot = None;
        let grading = Grading::of_any_origin(&self.catalog, &self.settings, id)?;
        let grading = Arc::new(match &self.log {
            Some(log) => grading.logged(&self.settings, log),
            None => grading,
        });
        *slot = Some(Arc::clone(&grading));
        Ok(grading)
    }
}

type Work = Box<dyn FnOnce() + Send>;

/// A thread that runs jobs one after the other, until this value is dropped.
pub(crate) struct Worker(Sender<Work>);

impl Worker {
    pub(crate) fn start() -> io::Result<Worker> {
        let (sender, receiver) = channel::<Work>();
        let thread = std::thread::Builder::new().name("large".to_owned());
        thread.spawn(move || receiver.into_iter().for_each(|work| work()))?;
        Ok(Worker(sender))
    }

    /// Runs a job after all earlier jobs. Returns an error if this job panicked.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, String> {
        let (sender, receiver) = oneshot::channel();
        let work = move || {
            // If sending fails, the caller no longer waits.
            let _ = sender.send(catch_panic(work));
        };
        let ended = || "the thread for large submissions has ended".to_owned();
        self.0.send(Box::new(work)).map_err(|_| ended())?;
        receiver.await.unwrap_or_else(|_| Err(ended()))
    }
}

/// Runs a job. If it panics, returns the message of the panic as an error.
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        text.unwrap_or("unknown panic").to_owned()
    })
}
