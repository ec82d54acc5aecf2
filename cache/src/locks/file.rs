//! Locks between processes and between threads.
//!
//! The operating system assigns a lock to an open file, not to a process. Therefore two guards in one process also exclude
//! each other. The lock ends with its process.
//!
//! Some file systems do not support locks. If several machines share a file system, a lock may apply to one machine only.
//! In both cases, the guard holds a [lease](crate::locks::lease), which excludes guards on all machines.
//!
//! A process can lock every file that it can open, even if it may only read the file. So a program that may only read the
//! store or published files, for example an agent, could stop runs and gradings. To prevent this, only users who may write
//! a lock file can read it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{major, minor};

use crate::layout::Bucket;
use crate::locks::lease::{Lease, Mode};
use crate::system::machine::is_shared;
use crate::system::permissions::user_name;
use crate::{Digest, Store, StoreError};

/// Pause between two attempts to take a lock, if the file system offers no way to wait for it.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Pause between two attempts to take a lock that processes hold for milliseconds.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The leases of the lock file `NAME` are in the directory `NAME.holders`.
pub(crate) const HOLDERS_SUFFIX: &str = ".holders";

/// A held lock. Dropping the guard releases the lock.
#[derive(Debug)]
#[must_use = "the lock is released when the guard is dropped"]
pub struct LockGuard {
    path: PathBuf,
    /// `None` if the file system does not support locks, or if a read-only store has no lock file.
    file: Option<File>,
    /// `Some` if processes on other machines may request the lock as well.
    lease: Option<Lease>,
    /// Whether the file is removed when the lock is released.
    removes: bool,
}

impl LockGuard {
    /// Checks that this process still holds the lock. Call this cheap check before each change that the lock protects.
    ///
    /// If the machine was suspended or offline, another process may take over the lock after half a minute.
    ///
    /// # Errors
    /// [`StoreError::LockLost`] if another process took over the lock.
    pub fn check(&self) -> Result<(), StoreError> {
        match &self.lease {
            Some(lease) if lease.is_lost() => Err(StoreError::LockLost {
                path: self.path.clone(),
            }),
            _ => Ok(()),
        }
    }
}

impl Drop for LockGuard {
    /// Unlocks the file explicitly, because closing the file may not be enough. While another thread starts a child
    /// process, the child shares the open file until it executes its own program.
    fn drop(&mut self) {
        // The lease is released first, so that the next holder of the file lock finds no lease.
        self.lease = None;
        if let Some(file) = &self.file {
            if self.removes && is_file_at(file, &self.path).unwrap_or(false) {
                // If the removal fails, the next holder uses the remaining file.
                let _ = std::fs::remove_file(&self.path);
            }
            // After an error, the lock ends when the last process that shares the file closes it.
            let _ = file.unlock();
        }
    }
}

/// Takes the exclusive lock on the data file `path`. Creates the file if it is missing. Returns `None` if another guard
/// holds the lock.
///
/// # Errors
/// If the file cannot be created or locked.
pub fn try_lock_data(path: &Path) -> Result<Option<LockGuard>, StoreError> {
    let opened = open(path, 0o666).map_err(|source| StoreError::io("lock", path, source));
    opened.and_then(|file| acquire_open(file, path, Mode::Exclusive, false, Lease::try_take))
}

/// Takes the exclusive lock of the lock file `path`. Returns `None` if another guard holds the lock.
///
/// The lock file exists only while the lock is held. A remaining lock file would prevent other users from copying its
/// directory, because they cannot read the file. On a file system that several machines share, the file remains.
///
/// # Errors
/// If the file cannot be created or locked.
pub fn try_lock_at(path: &Path) -> Result<Option<LockGuard>, StoreError> {
    let guard = acquire(path, Mode::Exclusive, false)?;
    Ok(guard.map(|mut guard| {
        guard.removes = guard.lease.is_none();
        guard
    }))
}

/// Same as [`try_lock_at`], but waits up to `limit` while another guard holds the lock.
///
/// # Errors
/// If the file cannot be created or locked.
pub fn lock_at_within(path: &Path, limit: Duration) -> Result<Option<LockGuard>, StoreError> {
    let began = Instant::now();
    loop {
        let guard = try_lock_at(path)?;
        if guard.is_some() || began.elapsed() > limit {
            return Ok(guard);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Mode of a new lock file, before the umask removes permissions. Other users cannot read the file. If the umask takes
/// the permission to write from the group, [`close_to_readers`] also takes the permission to read from the group.
const NEW_MODE: u32 = 0o662;

/// Removes the permission to read a file from all users who may not write it.
fn close_to_readers(file: &File) {
    const WRITE: u32 = 0o222;
    let Ok(found) = file.metadata() else {
        return;
    };
    // The permission to read is the bit to the left of the permission to write.
    let writable = found.mode() & WRITE;
    let mode = writable << 1 | writable;
    if found.mode() & 0o777 != mode {
        // Only the owner can change the mode, so the call fails for other users. The error is ignored, because the owner
        // made this call when creating the file.
        let _ = file.set_permissions(PermissionsExt::from_mode(mode));
    }
}

/// Returns the directory of the lock's leases.
fn holders(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(HOLDERS_SUFFIX);
    name.into()
}

/// Locks the file `path`. If `wait` is true and the file system supports it, blocks until the lock is free.
///
/// Returns `None` if another guard holds the lock, or if the garbage collector removed the opened file. A caller that must
/// have the lock calls this function again.
pub(crate) fn acquire(
    path: &Path,
    mode: Mode,
    wait: bool,
) -> Result<Option<LockGuard>, StoreError> {
    acquire_with(path, mode, wait, Lease::try_take)
}

/// Same as [`acquire`]. If the lock needs a lease, takes it with `take`.
pub(crate) fn acquire_with(
    path: &Path,
    mode: Mode,
    wait: bool,
    take: impl FnOnce(&Path, Mode) -> io::Result<Option<Lease>>,
) -> Result<Option<LockGuard>, StoreError> {
    let file = open(path, NEW_MODE).map_err(|source| StoreError::io("lock", path, source))?;
    close_to_readers(&file);
    acquire_open(file, path, mode, wait, take)
}

/// Opens the file `path`. If it does not exist, creates it with the permissions `mode`.
fn open(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.mode(mode).open(path)
}

/// Same as [`acquire_with`], for the open file `file` at `path`.
fn acquire_open(
    file: File,
    path: &Path,
    mode: Mode,
    wait: bool,
    take: impl FnOnce(&Path, Mode) -> io::Result<Option<Lease>>,
) -> Result<Option<LockGuard>, StoreError> {
    let error = |source| StoreError::io("lock", path, source);
    let Some(locked) = lock_open_file(&file, mode, wait).map_err(error)? else {
        return Ok(None);
    };
    // A lock on a removed file is useless, because other processes lock the new file at this path.
    if locked && !is_file_at(&file, path).map_err(error)? {
        return Ok(None);
    }
    let mut guard = LockGuard {
        path: path.to_owned(),
        file: locked.then_some(file),
        lease: None,
        removes: false,
    };
    if locked && !is_shared(path) {
        return Ok(Some(guard));
    }
    guard.lease = take(&holders(path), mode).map_err(error)?;
    if guard.lease.is_some() {
        return Ok(Some(guard));
    }
    if wait {
        drop(guard);
        std::thread::sleep(RETRY_PAUSE);
    }
    Ok(None)
}

/// Locks the file `path` in shared mode if the user can read it. Otherwise returns a guard without a lock. Returns `None` if
/// another guard holds the lock exclusively.
pub(crate) fn share_existing(path: &Path, wait: bool) -> Result<Option<LockGuard>, StoreError> {
    let mut guard = LockGuard {
        path: path.to_owned(),
        file: None,
        lease: None,
        removes: false,
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) => match error.kind() {
            ErrorKind::NotFound | ErrorKind::PermissionDenied => return Ok(Some(guard)),
            _ => return Err(StoreError::io("open the lock", path, error)),
        },
    };
    let locked = lock_open_file(&file, Mode::Shared, wait);
    let locked = locked.map_err(|error| StoreError::io("lock", path, error))?;
    guard.file = (locked == Some(true)).then_some(file);
    Ok(locked.map(|_| guard))
}

/// Locks an open file. Returns `Some(true)` if this succeeds, `Some(false)` if the file system does not support locks, and
/// `None` if another guard holds the lock, or if a signal interrupted the call.
fn lock_open_file(file: &File, mode: Mode, wait: bool) -> io::Result<Option<bool>> {
    let tried = match (mode, wait) {
        (Mode::Shared, true) => file.lock_shared().map_err(TryLockError::Error),
        (Mode::Exclusive, true) => file.lock().map_err(TryLockError::Error),
        (Mode::Shared, false) => file.try_lock_shared(),
        (Mode::Exclusive, false) => file.try_lock(),
    };
    match tried {
        Ok(()) => Ok(Some(true)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Interrupted => Ok(None),
        Err(TryLockError::Error(error)) if is_unsupported(&error) => Ok(Some(false)),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    let no_locks = rustix::io::Errno::NOLCK.raw_os_error();
    error.kind() == ErrorKind::Unsupported || error.raw_os_error() == Some(no_locks)
}

/// Describes a process that has locked the file `path`, for example `process 4711 of user ann`. Returns `None` if the system
/// does not provide this information.
pub fn describe_holder(path: &Path) -> Option<String> {
    let found = path.metadata().ok()?;
    let (major, minor) = (major(found.dev()), minor(found.dev()));
    let file = format!("{major:02x}:{minor:02x}:{}", found.ino());
    // A line is for example `1: FLOCK  ADVISORY  READ 4711 08:01:1234567 0 EOF`.
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let process = locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(4);
        let process = words.next()?;
        (words.next()? == file).then_some(process)
    })?;
    let user = std::fs::metadata(format!("/proc/{process}")).ok()?.uid();
    Some(format!("process {process} of user {}", user_name(user)))
}

/// Returns whether `path` still names the open file `file`.
///
/// # Errors
/// If the file or the path cannot be examined.
pub fn is_file_at(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match path.symlink_metadata() {
        Ok(named) => Ok((named.dev(), named.ino()) == (open.dev(), open.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the file or directory `path`, unless another process has locked it. Returns whether it removed the path.
pub(crate) fn remove_unlocked(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    // A shared lock fails if another process has the exclusive lock. An exclusive lock would fail on NFS, because `file` is
    // open for reading only. If the file system does not support locks, this check always succeeds.
    if lock_open_file(&file, Mode::Shared, false)?.is_none() {
        return Ok(false);
    }
    let removed = match file.metadata()?.is_dir() {
        true => std::fs::remove_dir_all(path),
        false => std::fs::remove_file(path),
    };
    match removed {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
impl LockGuard {
    /// Returns a guard that has lost its lock, because another process took over the lock.
    pub(crate) fn lost(path: &Path) -> io::Result<LockGuard> {
        let lease = Lease::try_take(&holders(path), Mode::Exclusive)?;
        let lease = lease.ok_or(ErrorKind::WouldBlock)?;
        std::fs::remove_dir_all(holders(path))?;
        lease.beat();
        Ok(LockGuard {
            path: path.to_owned(),
            file: None,
            lease: Some(lease),
            removes: false,
        })
    }
}

impl Store {
    /// Takes the lock `name`. Waits while another guard holds it.
    ///
    /// # Errors
    /// If the lock file cannot be created.
    pub fn lock(&self, name: &str) -> Result<LockGuard, StoreError> {
        self.must_be_writable()?;
        loop {
            if let Some(guard) = acquire(&self.lock_path(name), Mode::Exclusive, true)? {
                return Ok(guard);
            }
        }
    }

    /// Takes the lock `name` if it is free.
    ///
    /// # Errors
    /// Same as for [`lock`](Self::lock).
    pub fn try_lock(&self, name: &str) -> Result<Option<LockGuard>, StoreError> {
        self.must_be_writable()?;
        acquire(&self.lock_path(name), Mode::Exclusive, false)
    }

    /// Describes the process that holds the lock `name`, see [`describe_holder`].
    pub fn holder(&self, name: &str) -> Option<String> {
        describe_holder(&self.lock_path(name))
    }

    /// Prevents garbage collection by all processes until the guard is dropped. Waits while a collection is running.
    ///
    /// A run holds the guard from its first lookup of an entry until it has recorded its last entry.
    ///
    /// # Errors
    /// Same as for [`lock`](Self::lock).
    pub fn in_use(&self) -> Result<LockGuard, StoreError> {
        loop {
            if let Some(guard) = self.announce_use(true)? {
                return Ok(guard);
            }
        }
    }

    /// Same as [`in_use`](Self::in_use), but returns `None` while a collection is running.
    ///
    /// # Errors
    /// Same as for [`lock`](Self::lock).
    pub fn try_in_use(&self) -> Result<Option<LockGuard>, StoreError> {
        self.announce_use(false)
    }

    fn announce_use(&self, wait: bool) -> Result<Option<LockGuard>, StoreError> {
        let path = self.use_lock();
        match self.is_read_only() {
            true => share_existing(&path, wait),
            false => acquire(&path, Mode::Shared, wait),
        }
    }

    /// Locks the store for garbage collection. Returns `None` while a run or another collection uses the store.
    pub(crate) fn try_exclusive(&self) -> Result<Option<LockGuard>, StoreError> {
        let path = self.use_lock();
        // Waits until it is certain whether the holder is alive, because a dead machine may have left its lease file.
        acquire_with(&path, Mode::Exclusive, false, Lease::take_unless_alive)
    }

    pub(crate) fn use_lock(&self) -> PathBuf {
        Bucket::Locks.dir(self.root()).join("use")
    }

    fn lock_path(&self, name: &str) -> PathBuf {
        Bucket::Locks
            .dir(self.root())
            .join(Digest::of_bytes(name.as_bytes()).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_holder_of_a_lock_is_described() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let guard = try_lock_at(&path).unwrap().unwrap();
        // Some file systems, such as Btrfs, report other device numbers than `/proc/locks`.
        if let Some(holder) = describe_holder(&path) {
            let process = format!("process {} of user ", std::process::id());
            assert!(holder.starts_with(&process), "{holder}");
        }
        drop(guard);
        assert_eq!(describe_holder(&path), None);
    }

    /// A user who may only read the file cannot open it, so this user cannot lock it.
    #[test]
    fn lock_files_are_closed_to_users_who_may_only_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let mode = || path.metadata().unwrap().mode() & 0o777;
        let guard = try_lock_at(&path).unwrap().unwrap();
        assert_eq!(mode() >> 1 & 0o222, mode() & 0o222, "{:o}", mode());
        drop(guard);
        assert!(!path.exists());
        for (before, after) in [(0o644, 0o600), (0o664, 0o660), (0o666, 0o666)] {
            File::create(&path).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(before)).unwrap();
            let _guard = try_lock_at(&path).unwrap().unwrap();
            assert_eq!(mode(), after, "{before:o}");
        }
    }

    #[test]
    fn a_locked_data_file_keeps_its_mode_and_content() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        std::fs::write(&path, "content").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        drop(try_lock_data(&path).unwrap().unwrap());
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o644);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "content");
    }

    #[test]
    fn the_wait_for_a_lock_is_limited() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let held = try_lock_at(&path).unwrap();
        let limit = Duration::from_millis(30);
        assert!(lock_at_within(&path, limit).unwrap().is_none());
        drop(held);
        assert!(lock_at_within(&path, limit).unwrap().is_some());
    }

    #[test]
    fn check_reports_a_lock_that_another_process_took_over()
    -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("lock");
        let lock = try_lock_at(&path)?.ok_or("not locked")?;
        lock.check()?;
        let lost = LockGuard::lost(&directory.path().join("another"))?.check();
        let error = lost.expect_err("the lock is lost");
        assert!(error.to_string().contains("lost the lock"), "{error}");
        assert!(matches!(error, StoreError::LockLost { .. }));
        Ok(())
    }
}
