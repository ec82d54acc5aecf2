//! Tracks open connections, and which of them are idle.
//!
//! The number of connections is limited. Clients that open connections and send nothing must not block other clients.
//! Therefore, if the limit is reached, a new connection replaces the one that has been idle for the longest time.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// A connection is idle after this time without a request. Before that, a response may still be on its way.
const IDLE_AFTER: Duration = Duration::from_secs(1);

/// Interval at which idle connections are searched while a new connection waits.
const RETRY: Duration = Duration::from_millis(50);

/// All open connections.
#[derive(Default)]
pub(crate) struct Connections(Mutex<Vec<Weak<Connection>>>);

/// An open connection.
pub(crate) struct Connection {
    state: Mutex<State>,
    evicted: Notify,
}

struct State {
    /// Number of requests that are not answered yet.
    requests: usize,
    /// The time at which `requests` last changed.
    since: Instant,
}

/// Marks a connection as busy while it exists.
pub(crate) struct Busy(Arc<Connection>);

impl Connections {
    /// Waits for a permit for a new connection, and closes idle connections if no permit is free. Returns `None` if the
    /// semaphore is closed.
    pub(crate) async fn acquire(&self, free: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
        loop {
            let waiting = timeout(RETRY, Arc::clone(free).acquire_owned());
            match waiting.await {
                Ok(permit) => return permit.ok(),
                Err(_) => self.evict(),
            }
        }
    }

    /// Registers a new connection.
    pub(crate) fn open(&self) -> Arc<Connection> {
        let connection = Arc::new(Connection {
            state: Mutex::new(State {
                requests: 0,
                since: Instant::now(),
            }),
            evicted: Notify::new(),
        });
        let mut open = self.0.lock();
        open.retain(|one| one.strong_count() > 0);
        open.push(Arc::downgrade(&connection));
        connection
    }

    /// Closes the connection that has been idle for the longest time, if there is an idle one.
    fn evict(&self) {
        let open = self.0.lock();
        let idle = open.iter().filter_map(Weak::upgrade).filter_map(|one| {
            let since = one.idle_since()?;
            Some((since, one))
        });
        if let Some((_, oldest)) = idle.min_by_key(|(since, _)| *since) {
            oldest.evicted.notify_one();
        }
    }
}

impl Connection {
    /// Completes when another connection replaces this one.
    pub(crate) async fn evicted(&self) {
        self.evicted.notified().await;
    }

    /// Marks the connection as busy until the result is dropped.
    pub(crate) fn begin_request(self: &Arc<Self>) -> Busy {
        self.change(1);
        Busy(Arc::clone(self))
    }

    fn change(&self, by: isize) {
        let mut state = self.state.lock();
        state.requests = state.requests.saturating_add_signed(by);
        state.since = Instant::now();
    }

    fn idle_since(&self) -> Option<Instant> {
        let state = self.state.lock();
        let is_idle = state.requests == 0 && state.since.elapsed() >= IDLE_AFTER;
        is_idle.then_some(state.since)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.change(-1);
    }
}
