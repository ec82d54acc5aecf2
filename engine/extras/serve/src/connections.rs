//! Tracks open connections, and closes some of them if there are too many.
//!
//! A connection needs only a socket and a small buffer. So there may be more connections than uploads ([`Slots`]), and
//! `GET /health` is answered even if all uploads are slow.
//!
//! At the limit, a new connection replaces an old one:
//!
//! 1. The server closes the connection that has been idle for the longest time.
//! 2. If no connection is idle and none ended for some seconds, the server selects the address with the most connections.
//!    It closes the connection of this address that has waited longest for its turn to upload.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// At most this number of connections is open at the same time. Each connection needs up to two open files: a socket
/// and the file of its upload. A process can usually open 1,024 files.
const MAX_CONNECTIONS: usize = 480;

/// A connection is closed at the earliest after this time without a request. Before that, the client may still be
/// receiving a response.
const IDLE_AFTER: Duration = Duration::from_secs(1);

/// If no connection ended by itself for this time, a connection that waits for its turn to upload may be closed.
const PATIENCE: Duration = Duration::from_secs(3);

const RETRY: Duration = Duration::from_millis(50);

pub(crate) struct Connections {
    free: Arc<Semaphore>,
    open: Mutex<Vec<Weak<Connection>>>,
    /// Time at which a connection last ended by itself.
    ended: Arc<Mutex<Instant>>,
}

pub(crate) struct Connection {
    /// The client's address, without the bits of an IPv6 address that the client can choose.
    pub peer: IpAddr,
    state: Mutex<State>,
    evicted: Notify,
    ended: Arc<Mutex<Instant>>,
    _permit: OwnedSemaphorePermit,
}

struct State {
    activity: Activity,
    since: Instant,
    is_evicted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activity {
    /// No request, or an incomplete head of a request.
    Idle,
    /// The body is not read yet, because too many uploads are in progress.
    Waiting,
    Busy,
}

/// When this value is dropped, the connection gets the contained activity.
pub(crate) struct Active(Arc<Connection>, Activity);

impl Connections {
    pub(crate) fn new() -> Connections {
        Connections {
            free: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            open: Mutex::default(),
            ended: Arc::new(Mutex::new(Instant::now())),
        }
    }

    /// Registers a new connection, and closes another one if there are too many. Never returns `None`, because the semaphore
    /// is never closed.
    pub(crate) async fn open(&self, client: IpAddr) -> Option<Arc<Connection>> {
        let permit = loop {
            if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
                break permit;
            }
            self.evict();
            if let Ok(permit) = timeout(RETRY, Arc::clone(&self.free).acquire_owned()).await {
                break permit.ok()?;
            }
        };
        let connection = Arc::new(Connection {
            peer: network(client),
            state: Mutex::new(State {
                activity: Activity::Idle,
                since: Instant::now(),
                is_evicted: false,
            }),
            evicted: Notify::new(),
            ended: Arc::clone(&self.ended),
            _permit: permit,
        });
        let mut open = self.open.lock();
        open.retain(|one| one.strong_count() > 0);
        open.push(Arc::downgrade(&connection));
        Some(connection)
    }

    fn evict(&self) {
        let open: Vec<Arc<Connection>> =
            self.open.lock().iter().filter_map(Weak::upgrade).collect();
        let idle = oldest(&open, |_, state| {
            state.activity == Activity::Idle
                && state.since.elapsed() >= IDLE_AFTER
                && !state.is_evicted
        });
        let victim = match idle {
            Some(idle) => Some(idle),
            None if self.ended.lock().elapsed() < PATIENCE => None,
            None => {
                let mut counts: HashMap<IpAddr, usize> = HashMap::new();
                for one in &open {
                    *counts.entry(one.peer).or_default() += 1;
                }
                let most = counts.into_iter().max_by_key(|(_, count)| *count);
                let most = most.map(|(peer, _)| peer);
                oldest(&open, |one, state| {
                    state.activity == Activity::Waiting
                        && Some(one.peer) == most
                        && !state.is_evicted
                })
            }
        };
        if let Some(victim) = victim {
            victim.state.lock().is_evicted = true;
            victim.evicted.notify_one();
        }
    }
}

/// Returns the connection with the longest time in its current activity, among those for which `is_wanted` returns true.
fn oldest(
    open: &[Arc<Connection>],
    is_wanted: impl Fn(&Connection, &State) -> bool,
) -> Option<&Arc<Connection>> {
    let wanted = open.iter().filter_map(|one| {
        let state = one.state.lock();
        is_wanted(one, &state).then_some((state.since, one))
    });
    wanted.min_by_key(|(since, _)| *since).map(|(_, one)| one)
}

impl Connection {
    pub(crate) async fn evicted(&self) {
        self.evicted.notified().await;
    }

    /// Marks the connection as busy until the returned value is dropped.
    pub(crate) fn begin_request(self: &Arc<Self>) -> Active {
        self.change(Activity::Busy, Activity::Idle)
    }

    /// Marks a busy connection as waiting until the returned value is dropped.
    pub(crate) fn begin_waiting(self: &Arc<Self>) -> Active {
        self.change(Activity::Waiting, Activity::Busy)
    }

    fn change(self: &Arc<Self>, now: Activity, then: Activity) -> Active {
        self.set(now);
        Active(Arc::clone(self), then)
    }

    fn set(&self, activity: Activity) {
        let mut state = self.state.lock();
        state.activity = activity;
        state.since = Instant::now();
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.0.set(self.1);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.state.lock().is_evicted {
            *self.ended.lock() = Instant::now();
        }
    }
}

/// Returns a client's address, but only the first 64 bits of an IPv6 address, because clients can choose the last 64.
fn network(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V6(address) => {
            let bits = address.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(bits.into())
        }
        address => address,
    }
}

const MAX_UPLOADS: usize = 256;

const MAX_UPLOADS_OF_PEER: usize = MAX_UPLOADS / 2;

pub(crate) struct Slots {
    all: Arc<Semaphore>,
    peers: Mutex<HashMap<IpAddr, Arc<Semaphore>>>,
    waiting: AtomicUsize,
}

pub(crate) struct Slot {
    _all: OwnedSemaphorePermit,
    _of_peer: OwnedSemaphorePermit,
}

impl Slots {
    pub(crate) fn new() -> Slots {
        Slots {
            all: Arc::new(Semaphore::new(MAX_UPLOADS)),
            peers: Mutex::default(),
            waiting: AtomicUsize::new(0),
        }
    }

    pub(crate) fn try_acquire(&self, peer: IpAddr) -> Option<Slot> {
        let of_peer = self.of_peer(peer).try_acquire_owned().ok()?;
        let all = Arc::clone(&self.all).try_acquire_owned().ok()?;
        Some(Slot {
            _all: all,
            _of_peer: of_peer,
        })
    }

    /// Waits for a slot. Never returns `None`, because the semaphores are never closed.
    pub(crate) async fn acquire(&self, peer: IpAddr) -> Option<Slot> {
        let _waiting = Waiting::begin(&self.waiting);
        let of_peer = self.of_peer(peer).acquire_owned().await.ok()?;
        let all = Arc::clone(&self.all).acquire_owned().await.ok()?;
        Some(Slot {
            _all: all,
            _of_peer: of_peer,
        })
    }

    pub(crate) fn are_scarce(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    fn of_peer(&self, peer: IpAddr) -> Arc<Semaphore> {
        let mut peers = self.peers.lock();
        // Remove addresses without a slot and without a waiting request. A slot or waiting request holds a second
        // reference to the semaphore.
        peers.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
        let semaphore = peers.entry(peer);
        let semaphore = semaphore.or_insert_with(|| Arc::new(Semaphore::new(MAX_UPLOADS_OF_PEER)));
        Arc::clone(semaphore)
    }
}

struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn begin(count: &'a AtomicUsize) -> Waiting<'a> {
        count.fetch_add(1, Ordering::Relaxed);
        Waiting(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Debug)]
pub(crate) struct Space {
    used: AtomicU64,
    max: u64,
}

/// The disk space of one upload, which is released when this value is dropped.
#[derive(Debug)]
pub(crate) struct Reserved {
    space: Arc<Space>,
    bytes: u64,
}

impl Space {
    pub(crate) fn new(max: u64) -> Arc<Space> {
        Arc::new(Space {
            used: AtomicU64::new(0),
            max,
        })
    }

    pub(crate) fn begin(self: &Arc<Self>) -> Reserved {
        Reserved {
            space: Arc::clone(self),
            bytes: 0,
        }
    }
}

impl Reserved {
    /// Takes more space. Returns `false` if all uploads together exceed the limit.
    pub(crate) fn grow(&mut self, bytes: u64) -> bool {
        let used = self.space.used.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
        used.saturating_add(bytes) <= self.space.max
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.space.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_one_network_are_one_peer() {
        for (client, expected) in [
            ("10.0.0.1", "10.0.0.1"),
            ("::ffff:10.0.0.1", "10.0.0.1"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("::1", "::"),
        ] {
            let found = network(client.parse().unwrap());
            assert_eq!(found.to_string(), expected, "{client}");
        }
    }
}

#[cfg(test)]
mod slots_tests {
    use super::*;

    #[test]
    fn one_address_does_not_take_all_slots() {
        let slots = Slots::new();
        let [one, two, three]: [IpAddr; 3] =
            ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(|a| a.parse().unwrap());
        let mut held: Vec<Slot> = std::iter::from_fn(|| slots.try_acquire(one)).collect();
        assert_eq!(held.len(), MAX_UPLOADS_OF_PEER);
        held.extend(std::iter::from_fn(|| slots.try_acquire(two)));
        assert_eq!(held.len(), MAX_UPLOADS);
        assert!(slots.try_acquire(three).is_none());
        held.clear();
        assert!(slots.try_acquire(three).is_some());
        assert_eq!(slots.peers.lock().len(), 1);
    }

    #[test]
    fn space_is_free_again_after_an_upload() {
        let space = Space::new(10);
        let mut one = space.begin();
        assert!(one.grow(6) && one.grow(4));
        let mut two = space.begin();
        assert!(!two.grow(1));
        drop(two);
        drop(one);
        assert!(space.begin().grow(10));
    }
}
