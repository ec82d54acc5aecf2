//! Removes files that killed processes left behind.

use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::StoreError;
use crate::layout::Bucket;
use crate::locks::file::{HOLDERS_SUFFIX, remove_unlocked};
use crate::locks::lease::{Lease, Mode};
use crate::upkeep::walk;

/// Minimum age of garbage. A new file is briefly not locked yet, and some network file systems do not support locks.
pub(crate) const MIN_GARBAGE_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Removes temporary files that are older than a day and not locked. With `dry_run`, only counts the old ones. Files
/// that cannot be removed, for example files of another user, stay. Returns the number of files.
pub(crate) fn sweep(root: &Path, dry_run: bool) -> Result<usize, StoreError> {
    let now = SystemTime::now();
    let mut swept = 0;
    for (_, path) in walk::entries(&Bucket::Tmp.dir(root))? {
        let is_old = path
            .symlink_metadata()
            .and_then(|metadata| metadata.modified())
            .is_ok_and(|modified| age(now, modified) >= MIN_GARBAGE_AGE);
        if is_old && (dry_run || remove_unlocked(&path).unwrap_or(false)) {
            swept += 1;
        }
    }
    Ok(swept)
}

/// Removes lock files that no process holds, and leases of processes that are known to have ended. A process that takes
/// a lock checks afterwards that the lock file still has its name. Therefore it is safe to remove a file here.
pub(crate) fn sweep_locks(root: &Path) -> Result<(), StoreError> {
    let is_name = |name: &str| name.parse::<crate::Digest>().is_ok();
    for (name, path) in walk::entries(&Bucket::Locks.dir(root))? {
        // The garbage collector itself has locked `use`, so only files that are named by a digest are removed.
        if is_name(&name) {
            let _ = remove_unlocked(&path);
        } else if name.strip_suffix(HOLDERS_SUFFIX).is_some_and(is_name) {
            // Dropping the lease removes its directory if no other process uses it.
            drop(Lease::try_take(&path, Mode::Exclusive));
        }
    }
    Ok(())
}

/// Returns the time since `then`, zero if it is in the future.
pub(crate) fn age(now: SystemTime, then: SystemTime) -> Duration {
    now.duration_since(then).unwrap_or_default()
}
