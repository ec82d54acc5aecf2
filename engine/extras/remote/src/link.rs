//! The remote as a run uses it: ordinary threads can call it, and its errors do not fail the run.
//!
//! - A read error is treated as a cache miss. After a write error, the result is not sent.
//! - Each kind of error is reported once.
//! - After an error that may be temporary, the remote is skipped for a minute.
//! - After any other error, the remote is skipped for the rest of the run.

use std::collections::HashSet;
use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::mem::Discriminant;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use prep_cache::{Content, Digest, Store, unix_seconds};
use prep_core::{Cancel, Remedy};
use tokio::runtime::{Builder, Runtime};

use crate::error::RemoteError;
use crate::layout::Area;
use crate::remote::{Remote, RemoteSource};
use crate::send::Queue;
use crate::trust::Rejection;

/// A message for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkWarning {
    /// The cause, and its consequence for the run.
    pub message: String,
    /// Actions that may solve the problem.
    pub remedies: Vec<Remedy>,
}

/// Receives messages for the user. It is called from several threads.
pub type WarningSink = Arc<dyn Fn(&LinkWarning) + Send + Sync>;

/// Time for which a remote is skipped after an error that may be temporary.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(60);
/// When a set of objects in [`Inner`] has this length, the set is cleared. At this length, it needs about 60 MB.
const MAX_SEEN: usize = 1 << 20;

const RUNTIME_THREADS: usize = 2;
/// Keep-alive of the thread for blocking work: ten years, so that the thread never ends.
const THREAD_KEEP_ALIVE: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Availability {
    Usable,
    PausedUntil(Instant),
    Unusable,
}

/// The connection of a run to a remote. Clones share the connection.
#[derive(Clone)]
pub struct Link(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) remote: Arc<Remote>,
    /// `None` after shutdown.
    runtime: Option<Runtime>,
    sink: WarningSink,
    reported: Mutex<HashSet<Topic>>,
    reads: Mutex<Availability>,
    writes: Mutex<Availability>,
    /// Objects that are missing or damaged in the remote.
    absent: Mutex<HashSet<Digest>>,
    /// Objects that are damaged in the remote. If this machine has such an object, it is sent again.
    damaged: Mutex<HashSet<Digest>>,
    /// Whether all objects are treated as damaged in the remote until they are sent.
    replaces_all: AtomicBool,
    /// Objects that are known to be in the remote, and the area of each object.
    pub(crate) present: Mutex<HashSet<(Area, Digest)>>,
    pub(crate) queue: Queue,
    pub(crate) mirror: bool,
    /// Whether a job of the queue was stopped.
    pub(crate) was_stopped: AtomicBool,
    /// The cache that stores the highest serial number of each source.
    memory: OnceLock<Store>,
}

/// Adds an object to a set. If the set is full, first clears it. The remote is then queried again about the removed
/// objects.
fn insert<T: Eq + Hash>(set: &Mutex<HashSet<T>>, object: T) {
    let mut set = set.lock();
    if set.len() >= MAX_SEEN {
        *set = HashSet::new();
    }
    set.insert(object);
}

/// Identifies messages that are reported only once. Errors of the same kind have the same topic, even if their texts differ.
#[derive(PartialEq, Eq, Hash)]
enum Topic {
    Error(Discriminant<RemoteError>),
    Rejected(Discriminant<Rejection>),
    Damaged,
    Message(String),
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // The link may be dropped on a thread of a different runtime, which must not block.
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Link").field(&self.0.remote.name()).finish()
    }
}

impl Link {
    /// Sends objects and bundles even if the remote has them, in order to repair damaged copies. Also replaces records that
    /// are signed with keys that are not trusted.
    pub fn replace_all(&self) {
        self.inner().replaces_all.store(true, Ordering::Relaxed);
    }

    /// Creates a link, without sending a request. If `mirror` is true, downloaded bundles are also sent to the remote.
    pub fn with_remote(
        remote: Remote,
        mirror: bool,
        sink: WarningSink,
    ) -> Result<Link, RemoteError> {
        let started = prep_cache::check_threads(RUNTIME_THREADS + 1).and_then(|()| {
            Builder::new_multi_thread()
                .worker_threads(RUNTIME_THREADS)
                .thread_name("remote")
                .thread_keep_alive(THREAD_KEEP_ALIVE)
                .enable_all()
                .build()
        });
        let runtime = started.map_err(|error| {
            let cause = format!("no threads can be started: {}", error.kind());
            RemoteError::failed(remote.name(), cause)
        })?;
        // Start the thread for blocking work now, because the system may have no free thread later.
        drop(runtime.spawn_blocking(|| ()));
        let inner = Inner {
            remote: Arc::new(remote),
            runtime: Some(runtime),
            sink,
            reported: Mutex::default(),
            reads: Mutex::new(Availability::Usable),
            writes: Mutex::new(Availability::Usable),
            absent: Mutex::default(),
            damaged: Mutex::default(),
            replaces_all: AtomicBool::new(false),
            present: Mutex::default(),
            queue: Queue::default(),
            mirror,
            was_stopped: AtomicBool::new(false),
            memory: OnceLock::new(),
        };
        Ok(Link(Arc::new(inner)))
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.0
    }

    /// Returns the remote.
    pub fn remote(&self) -> &Arc<Remote> {
        &self.0.remote
    }

    /// Returns whether bundles are sent to the mirror.
    pub fn mirrors(&self) -> bool {
        self.0.mirror
    }

    /// Returns the remote's record of a source, if the record is trusted.
    pub fn source(&self, name: &str) -> Result<Option<RemoteSource>, RemoteError> {
        let (inner, name) = (self.0.clone(), name.to_owned());
        self.0.wait(async move { inner.source(&name).await })
    }

    /// Asks the remote whether its mirror has a bundle. The record of a source may be out of date.
    pub fn has_bundle(&self, content: &Content) -> Result<bool, RemoteError> {
        let (remote, content) = (self.0.remote.clone(), content.clone());
        self.0
            .wait(async move { remote.has_bundle(&content).await })
    }

    /// Sets the cache that stores the highest serial number of each source. The link rejects source records with lower
    /// numbers, because they are outdated.
    pub fn remember_in(&self, store: &Store) {
        // Only the first call has an effect, because a process uses a single cache.
        let _ = self.0.memory.set(store.clone());
    }

    /// Requests to the remote fail soon after `cancel` is set, also those that are under way.
    pub fn stop_with(&self, cancel: &Cancel) {
        *self.0.remote.cancel.lock() = cancel.clone();
    }

    /// Returns the names of all sources. Fails if the remote cannot be listed.
    pub fn sources(&self) -> Result<Vec<String>, RemoteError> {
        let remote = self.0.remote.clone();
        self.0.wait(async move { remote.sources().await })
    }
}

impl Inner {
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            runtime.spawn(work);
        }
    }

    /// Runs `work` on the link's own threads, and waits for it. Any thread may call this function.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, RemoteError>> + Send + 'static,
    ) -> Result<T, RemoteError> {
        let (sender, receiver) = sync_channel(1);
        self.spawn(async move {
            // If the receiver was dropped, the result is no longer needed.
            let _ = sender.send(work.await);
        });
        receiver.recv().unwrap_or_else(|_| {
            let cause = "the link to the remote is closed";
            Err(RemoteError::failed(self.remote.name(), cause))
        })
    }

    /// Runs a query and waits for its value. Returns `None` if the remote is being skipped, or if the query fails. Reports
    /// the failure.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, RemoteError>> + Send + 'static,
    ) -> Option<T> {
        if !self.accepts_reads() {
            return None;
        }
        match self.wait(work) {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.report_error(&error, false);
                None
            }
        }
    }

    /// Returns false while reads from the remote are skipped because of an earlier error.
    pub(crate) fn accepts_reads(&self) -> bool {
        is_usable(&mut self.reads.lock())
    }

    /// Returns false while writes to the remote are skipped because of an earlier error.
    pub(crate) fn accepts_writes(&self) -> bool {
        is_usable(&mut self.writes.lock())
    }

    /// Reports an error, once for each kind, and then skips the remote. If the error is temporary, skips the remote for a
    /// minute, otherwise for the rest of the run. `writing` states whether the error occurred while writing.
    pub(crate) fn report_error(&self, error: &RemoteError, writing: bool) {
        if matches!(error, RemoteError::Stopped) {
            return;
        }
        let next = match error.is_temporary() {
            true => Availability::PausedUntil(Instant::now() + PAUSE_AFTER_ERROR),
            false => Availability::Unusable,
        };
        if writing || !error.is_about_writing() {
            *self.writes.lock() = next;
        }
        if !error.is_about_writing() {
            *self.reads.lock() = next;
        }
        let (consequence, later) = match (writing, error.is_temporary()) {
            (true, _) => ("results stay on this machine", Some(Remedy::SendLater)),
            (false, true) => (
                "the run continues without the remote, and tries to use it again in a minute",
                None,
            ),
            (false, false) => ("the run continues without the remote", None),
        };
        let remedies = error.remedy().into_iter().chain(later);
        let topic = Topic::Error(std::mem::discriminant(error));
        self.report_once(topic, format!("{error}; {consequence}"), remedies);
    }

    pub(crate) fn report_rejection(&self, what: &str, rejected: &Rejection) {
        let message = format!(
            "{what} in the remote {} is ignored: {rejected} (further records that are ignored for the same reason are not reported)",
            self.remote.name()
        );
        let topic = Topic::Rejected(std::mem::discriminant(rejected));
        self.report_once(topic, message, rejected.remedy());
    }

    pub(crate) fn report_dropped(&self) {
        let remote = self.remote.name();
        let message = format!(
            "the run produces results faster than the remote {remote} accepts them; some results are not sent"
        );
        self.report(message, Some(Remedy::SendLater));
    }

    pub(crate) fn report_no_key(&self) {
        let error = self.remote.no_key();
        self.report(error.to_string(), error.remedy());
    }

    /// Reports a message, unless the same message was reported before.
    pub(crate) fn report(&self, message: String, remedy: Option<Remedy>) {
        self.report_once(Topic::Message(message.clone()), message, remedy);
    }

    fn report_once(
        &self,
        topic: Topic,
        message: String,
        remedies: impl IntoIterator<Item = Remedy>,
    ) {
        if self.reported.lock().insert(topic) {
            let remedies = remedies.into_iter().collect();
            (self.sink)(&LinkWarning { message, remedies });
        }
    }

    /// Returns the remote's record of a source. If the record is not trusted, reports the reason and returns `None`.
    pub(crate) async fn source(&self, name: &str) -> Result<Option<RemoteSource>, RemoteError> {
        Ok(self.checked_source(name).await?.and_then(Result::ok))
    }

    /// Same as [`source`](Self::source), but returns the reason why the record is not trusted.
    pub(crate) async fn checked_source(
        &self,
        name: &str,
    ) -> Result<Option<Result<RemoteSource, Rejection>>, RemoteError> {
        let found = self.remote.source(name).await?;
        let fresh = found.map(|known| self.check_serial(name, known?));
        if let Some(Err(rejected)) = &fresh {
            self.report_rejection(&format!("the record of the source `{name}`"), rejected);
        }
        Ok(fresh)
    }

    /// Returns `known`, or an error if this machine has read a newer record of the source before.
    fn check_serial(&self, name: &str, known: RemoteSource) -> Result<RemoteSource, Rejection> {
        let highest = self.highest_serial(name);
        if known.serial < highest {
            let found = known.serial;
            return Err(Rejection::Outdated { found, highest });
        }
        self.set_serial(name, &known.content, known.serial);
        Ok(known)
    }

    fn highest_serial(&self, name: &str) -> u64 {
        let store = self.memory.get();
        let serial = store.and_then(|store| store.remote_serial(self.remote.name(), name).ok());
        serial.unwrap_or(0)
    }

    fn set_serial(&self, name: &str, content: &Content, serial: u64) {
        let Some(store) = self.memory.get().filter(|store| !store.is_read_only()) else {
            return;
        };
        if serial > self.highest_serial(name) {
            // If the number cannot be stored, a later run may accept an outdated record.
            let _ = store.set_remote_serial(self.remote.name(), name, content, serial);
        }
    }

    /// Writes a source record that replaces `before`. The new serial number is higher than the serial number of `before`.
    /// It is also higher than the serial numbers of all records of the source that this machine has read.
    pub(crate) async fn put_source(
        &self,
        name: &str,
        content: &Content,
        mirrored: bool,
        before: Option<&RemoteSource>,
    ) -> Result<(), RemoteError> {
        // This machine may not know the replaced record. Serial numbers are usually times in seconds, so the current time is
        // probably higher.
        let before = before.map_or(0, |known| known.serial);
        let next = before.max(self.highest_serial(name)).saturating_add(1);
        let known = RemoteSource {
            content: content.clone(),
            mirrored,
            serial: next.max(unix_seconds()),
            remote: String::new(),
        };
        self.remote.put_source(name, &known).await?;
        self.set_serial(name, content, known.serial);
        Ok(())
    }

    /// Returns whether the remote may have an object, as far as this machine knows.
    pub(crate) fn may_have(&self, object: &Digest) -> bool {
        !self.absent.lock().contains(object) && self.accepts_reads()
    }

    /// Records that the remote does not have an object. The object may be in the private area. If the credentials
    /// cannot read this area, also reports that.
    pub(crate) fn record_absent(&self, object: Digest) {
        if self.remote.denies_private_reads() {
            let message = format!(
                "the credentials do not permit reading `private/` in the remote {}; objects in it are treated as missing",
                self.remote.name()
            );
            self.report(message, None);
        }
        self.mark_absent(object);
    }

    pub(crate) fn mark_absent(&self, object: Digest) {
        for area in Area::ALL {
            self.present.lock().remove(&(area, object));
        }
        insert(&self.absent, object);
    }

    /// Records and reports that an object or bundle in the remote is damaged. `kind` is `object` or `bundle`.
    pub(crate) fn mark_damaged(&self, kind: &str, object: Digest) {
        self.mark_absent(object);
        self.damaged.lock().insert(object);
        let message = format!(
            "the {kind} {} in the remote {} is damaged, so it is not used (further damage is not reported)",
            object.short(),
            self.remote.name()
        );
        self.report_once(Topic::Damaged, message, Some(Remedy::RepairRemote));
    }

    pub(crate) fn is_damaged(&self, object: &Digest) -> bool {
        let present = self.present.lock();
        let is_sent = || {
            Area::ALL
                .into_iter()
                .any(|area| present.contains(&(area, *object)))
        };
        self.replaces_all() && !is_sent() || self.damaged.lock().contains(object)
    }

    pub(crate) fn replaces_all(&self) -> bool {
        self.replaces_all.load(Ordering::Relaxed)
    }

    pub(crate) fn mark_present(&self, area: Area, object: Digest) {
        insert(&self.present, (area, object));
    }

    /// Records that an object or bundle was sent, which replaces a damaged copy.
    pub(crate) fn mark_sent(&self, object: Digest) {
        self.absent.lock().remove(&object);
        self.damaged.lock().remove(&object);
    }
}

/// Returns whether the remote may be used now. Ends a pause whose time is over.
fn is_usable(state: &mut Availability) -> bool {
    if matches!(state, Availability::PausedUntil(then) if *then <= Instant::now()) {
        *state = Availability::Usable;
    }
    *state == Availability::Usable
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Address;
    use crate::key::SigningKey;
    use object_store::memory::InMemory;
    use object_store::{ObjectStore, ObjectStoreExt};

    /// Old versions of `prep` wrote records without serial numbers. Such a record is accepted until the machine has read a
    /// record with a serial number.
    #[test]
    fn records_without_a_serial_number_are_accepted_until_a_newer_one() {
        let key = SigningKey::generate("a").unwrap();
        let public = key.public();
        let dir = tempfile::tempdir().unwrap();
        let cache = Store::open(&dir.path().join("store")).unwrap();
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let content = Content {
            digest: Digest::of_bytes(b"x"),
            bytes: 1,
            md5: None,
            sha256: None,
        };
        let old = serde_json::json!({ "digest": content.digest, "bytes": 1, "mirrored": false });
        let place = crate::layout::source("c");
        let sealed = crate::trust::seal(&key, &place, &old).unwrap();
        let path = object_store::path::Path::from(place);
        let put = || futures::executor::block_on(store.put(&path, sealed.clone().into())).unwrap();
        put();
        let reported: Arc<Mutex<Vec<String>>> = Arc::default();
        let link = |key| {
            let reported = reported.clone();
            let sink: WarningSink = Arc::new(move |warning: &LinkWarning| {
                reported.lock().push(warning.message.clone())
            });
            let link = Link::with_remote(
                Remote::with_store(store.clone(), "r", key, &[public]),
                false,
                sink,
            );
            let link = link.unwrap();
            link.remember_in(&cache);
            link
        };
        let reader = link(None);
        let known = reader.source("c").unwrap().unwrap();
        assert_eq!(
            (known.serial, known.mirrored, known.remote),
            (0, false, String::new())
        );
        // The same content is not written again. A different content is written, with a serial number.
        let writer = link(Some(key));
        writer.send_source("c", &content, None).unwrap();
        assert_eq!(reader.source("c").unwrap().unwrap().serial, 0);
        let digest = Digest::of_bytes(b"y");
        writer
            .send_source("c", &Content { digest, ..content }, None)
            .unwrap();
        let known = reader.source("c").unwrap().unwrap();
        assert!(known.serial >= unix_seconds() - 60, "{known:?}");
        assert_eq!(known.remote, "r");
        put();
        assert!(reader.source("c").unwrap().is_none());
        let reported = reported.lock().join(" ");
        assert!(reported.contains("it has serial number 0"), "{reported}");
    }

    /// A remote can have several addresses. One machine writes to the first address, and another reads from the second.
    #[test]
    fn records_for_further_addresses_of_a_remote_are_accepted() {
        let addresses = ["https://host/team/"].map(|text| Address::parse(text).unwrap());
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let key = SigningKey::generate("a").unwrap();
        let public = key.public();
        let sink: WarningSink = Arc::new(|_: &LinkWarning| {});
        let writer = Link::with_remote(
            Remote::with_store(store.clone(), "https://host/team", Some(key), &[]),
            false,
            sink.clone(),
        );
        let content = Content {
            digest: Digest::of_bytes(b"x"),
            bytes: 1,
            md5: None,
            sha256: None,
        };
        writer.unwrap().send_source("c", &content, None).unwrap();
        let remote = || Remote::with_store(store.clone(), "s3://bucket/team", None, &[public]);
        let reader = Link::with_remote(remote(), false, sink.clone()).unwrap();
        assert!(reader.source("c").unwrap().is_none());
        let reader = Link::with_remote(remote().same_as(&addresses), false, sink).unwrap();
        assert!(reader.source("c").unwrap().is_some());
    }
}
